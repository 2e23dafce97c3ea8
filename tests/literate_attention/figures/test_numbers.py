"""A drawing holds the numbers that it is handed, and those that the library makes of them."""

import math
import re
from itertools import pairwise

import numpy as np
import pytest
import torch
from harness.drawings import as_tensor, lengths, meshes, written
from matplotlib.collections import QuadMesh
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch
from matplotlib.text import Text
from torch.testing import assert_close

import literate_attention as la
from literate_attention import TOY_TOKENS, figures
from literate_attention.figures.models import WAITS

X = la.toy_embeddings()
SCORES_OF_ALL = la.score_all_queries(X)
WEIGHTS = la.softmax(SCORES_OF_ALL)
MASK = la.causal_mask(6)
MASKED = la.softmax(la.mask_scores(SCORES_OF_ALL, MASK))


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


W = random(3, 2)
PLACES = torch.arange(18.0).view(6, 3)
QUERY, KEYS, VALUES = random(3), random(5, 3, seed=1), random(5, 2, seed=2)
SCORES = KEYS @ QUERY
ATTENDS = la.softmax(0.5 * SCORES)
TEXTS = random(2, 5, 6)
SHARES, ONES = torch.tensor([0.25, 1.0]), torch.tensor([0.5, 0.75])
HIDDEN_FROM = "16/0", [False, True]

# Each drawing, and what it is made of: matrices by their names, and the lengths of bars
CASES = {
    "input embeddings": (
        figures.draw_input_embeddings(X, PLACES, TOY_TOKENS),
        {"token embeddings": X, "position embeddings": PLACES, "input embeddings": X + PLACES},
        {},
    ),
    "a product": (
        figures.draw_matrix_product(X, W, row=1, column=1),
        {"left": X, "right": W, "product": X @ W},
        {},
    ),
    "projections": (
        figures.draw_projections(X, {"query": W, "key": 2 * W, "value": -W}, TOY_TOKENS),
        {"W_query": W, "W_key": 2 * W, "query": X @ W, "key": 2 * X @ W, "value": -X @ W},
        {},
    ),
    "a context vector": (
        figures.draw_context_vector(X, WEIGHTS[4], TOY_TOKENS, query=4),
        {"x3": X[3, :, None], "context": la.context_vector(WEIGHTS[4], X)[None]},
        {},
    ),
    "a query in steps": (
        figures.draw_query_steps(QUERY, KEYS, VALUES, list("abcde"), asks=2, scale=0.5),
        {
            "value2": VALUES,
            "value3": ATTENDS[:, None] * VALUES,
            "context": (ATTENDS @ VALUES)[None],
        },
        {"score3.*": SCORES, "weight3.*": ATTENDS},
    ),
    "heads": (
        figures.draw_weight_split(TEXTS, list("abcde"), num_heads=3),
        {f"head{h}": one for h, one in enumerate(la.split_heads(TEXTS, 3)[0])}
        | {f"view{i},{h}": TEXTS[0, i].view(3, 2)[h : h + 1] for i in range(5) for h in range(3)},
        {},
    ),
    "wires": (
        figures.draw_wires(
            ["a key", "the rest"],
            ["random", "words"],
            {"cut": (*HIDDEN_FROM, SHARES), "whole": (*HIDDEN_FROM, ONES)},
        ),
        {},
        {"cut.": SHARES, "whole.": ONES},
    ),
    **{
        f"the masked row of query {i}": (
            figures.draw_masked_row(SCORES_OF_ALL[i], TOY_TOKENS, query=i),
            {"masked": SCORES_OF_ALL[i].where(MASK[i], torch.nan)[:, None]},
            {"÷ sum.": MASKED[i]},
        )
        for i in range(6)
    },
    **{
        f"shadows in {width} dimensions": (
            figures.draw_shadows(query := random(width, seed=1), keys := random(5, width), list("abcde")),
            {},
            {"shadow.*": keys @ query / query.norm()},
        )
        for width in (1, 2, 3, 7)
    },
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_drawing_holds_its_numbers(name) -> None:
    drawing, matrices, bars = CASES[name]
    found = meshes(drawing)
    for title, matrix in matrices.items():
        assert_close(as_tensor(found[title]), matrix, equal_nan=True)
    for bar, numbers in bars.items():
        assert_close(lengths(drawing, bar), numbers)


# Heat maps, and the frames of their cells

TOKEN_IDS = torch.tensor([0, 1, 2, 0, 1, 2, 0])
MAPS = torch.softmax(torch.arange(98.0).reshape(2, 7, 7) % 11, dim=-1)


def corners_of_frames(drawing):
    boxes = drawing.figure.findobj(FancyBboxPatch)
    return [(box.get_x(), box.get_y()) for box in boxes if box.get_zorder() == 4]


def test_every_cell_is_annotated_with_its_own_number() -> None:
    drawing = figures.draw_attention_matrix(SCORES_OF_ALL, TOY_TOKENS, decimals=4)
    numbers = [text for text in written(drawing) if re.fullmatch(r"[\d.]+", text)]
    assert numbers == [f"{value:.4f}" for value in SCORES_OF_ALL.flatten().tolist()]


def test_zero_has_no_sign() -> None:
    drawing = figures.draw_attention_matrix(torch.tensor([[-0.001, -1.0]]), ["a"], keys=["b", "c"])
    assert {"0.00", "\N{MINUS SIGN}1.00"} <= set(written(drawing))


def test_what_a_mask_hides_is_not_drawn() -> None:
    after = la.mask_weights(WEIGHTS, MASK)
    drawing = figures.draw_attention_matrix(after, TOY_TOKENS, attn_mask=MASK)
    shown = as_tensor(meshes(drawing)["Attention weights"])
    assert_close(shown, after.where(MASK, torch.nan), equal_nan=True)


def test_a_weight_has_one_colour_however_large_the_others_are() -> None:
    even = figures.draw_attention_matrix(torch.full((1, 6), 1 / 6), ["a"], keys=TOY_TOKENS)
    uneven = figures.draw_attention_matrix(torch.tensor([[1 / 6, 5 / 6]]), ["a"], keys=["b", "c"])
    (first,), (second,) = (drawing.figure.findobj(QuadMesh) for drawing in (even, uneven))
    assert first.norm(1 / 6) == second.norm(1 / 6)


def test_frames_stand_where_the_targets_are() -> None:
    targets = la.induction_targets(TOKEN_IDS)
    drawing = figures.draw_attention_matrix(MAPS[0], list("abcabca"), targets=targets)
    (mesh,) = drawing.figure.findobj(QuadMesh)
    corners = [mesh.get_coordinates()[i, j] for i, j in targets.nonzero().tolist()]
    np.testing.assert_allclose(corners_of_frames(drawing), corners)


def test_the_best_head_is_framed() -> None:
    scores = torch.rand(5, 3)
    drawing = figures.draw_head_scores({"Induction": scores})
    (cells,) = (m for m in drawing.figure.findobj(QuadMesh) if m.get_label() == "Induction")
    layer, head = divmod(int(scores.argmax()), 3)
    np.testing.assert_allclose(corners_of_frames(drawing), [cells.get_coordinates()[head, layer]])


def test_the_words_tell_the_scores_that_the_library_computes() -> None:
    targets = {"one": la.previous_token_targets(7), "two": la.induction_targets(TOKEN_IDS)}
    maps = dict(zip(targets, MAPS, strict=True))
    alt = figures.draw_attention_matrix(maps, list("abcabca"), targets=targets).alt
    expected = [
        f"{la.head_scores(maps[name][None, None], table).item():.2f}"
        for name, table in targets.items()
    ]
    assert re.findall(r"on average ([\d.]+) of a row's weight", alt) == expected


@pytest.mark.parametrize("row", [[-torch.inf, -torch.inf], [0.0, 0.0]])
def test_a_row_without_weights_attends_to_nothing(row) -> None:
    drawing = figures.draw_attention_matrix(torch.tensor([row]), ["a"], keys=["b", "c"])
    assert drawing.alt.endswith("Row 1, 'a', attends to nothing.")


@pytest.mark.parametrize("query", [0, 2])
def test_no_word_is_said_to_attend_most_to_a_hidden_one(query) -> None:
    """Also where numbers stand beyond the mask, as they do in scores before it is applied."""
    scores, abc = MASK.logical_not() * 9.0 + torch.eye(6), list("abcdef")
    alt = figures.draw_attention_matrix(scores, abc, attn_mask=MASK).alt
    how = "only" if query == 0 else "most"
    assert f"'{abc[query]}', attends {how} to '{abc[query]}', 1.00." in alt
    assert "Numbers of 15 pairs stand beyond the mask." in alt


# Lines, lengths and places


def test_lines_go_through_their_numbers() -> None:
    y = torch.tensor([3.0, math.nan, 5.0], requires_grad=True)
    drawing = figures.draw_lines([1, 10, 100], {"y": y}, x_label="n", y_label="ms")
    (line,) = drawing.figure.axes[1].lines
    assert line.get_xdata().tolist() == [1, 10, 100]
    assert_close(torch.from_numpy(line.get_ydata()), y.detach().double(), equal_nan=True)


def test_each_draw_is_a_dot_and_the_interval_lies_on_the_same_ruler() -> None:
    values = torch.tensor([0.0, 0.25, 1.0, 0.75])
    drawing = figures.draw_claim(
        {"effect": (values, 0.5, 0.25, 0.75), "control": (values, 0.5, 0.0, 1.0)}, "share"
    )
    dots = [circle.center[0] for circle in drawing.figure.findobj(Circle)]
    intervals = {line.get_label(): line.get_xdata() for line in drawing.figure.axes[0].lines}
    assert len(dots) == 8
    zero, quarter, one, three_quarters = dots[:4]
    np.testing.assert_allclose((one - zero) / 4, quarter - zero)
    np.testing.assert_allclose(intervals["effect"], [quarter, three_quarters])
    np.testing.assert_allclose(intervals["control"], [zero, one])


def test_the_lengths_of_residual_streams_are_those_of_the_vectors() -> None:
    stream = torch.arange(5 * 3 * 4.0).view(5, 3, 4)
    drawing = figures.draw_residual_streams(TOY_TOKENS[:3], stream)
    found = [text for text in written(drawing) if text.startswith("length")]
    assert found == [f"length {length:.2f}" for length in stream.norm(dim=-1).flatten().tolist()]


@pytest.mark.parametrize("zigzag", [False, True])
def test_who_waits_in_a_ring_is_drawn_for_as_long_as_it_waits(zigzag) -> None:
    shards = la.ring_shards(8, 4, zigzag=zigzag)
    drawing = figures.draw_ring_work({"order": shards})
    held, expected = shards.flatten(1), []
    for step in range(4):
        scores = (held.roll(step, dims=0)[:, None] <= held[:, :, None]).sum(dim=(1, 2))
        expected += [wait for wait in (scores.max() - scores).tolist() if wait]
    boxes = drawing.figure.findobj(FancyBboxPatch)
    widths = sorted(box.get_width() for box in boxes if box.get_hatch() == WAITS)
    legend = 1
    assert len(widths) == len(expected) + legend
    assert bool(expected) != zigzag
    if expected:
        assert widths[-1] / widths[-2] == pytest.approx(max(expected) / sorted(expected)[-2])


COUNTED = torch.arange(30).view(3, 10)
SPLIT = COUNTED.view(3, 2, 5)
VIEWS = {
    "as it is": COUNTED.clone(),
    "view": SPLIT.clone(),
    "transpose": SPLIT.clone().transpose(0, 1),
    "contiguous": SPLIT.transpose(0, 1).contiguous(),
    "all turned": SPLIT.clone().permute(2, 1, 0),
}


def turns_below(drawing, memory):
    """Return for each place in memory when it is read, or 0."""
    texts = [t for t in drawing.figure.findobj(Text) if t.get_text().isdigit()]
    places = [text.get_position()[0] for text in texts[: len(memory)]]
    turns = {text.get_position()[0]: int(text.get_text()) for text in texts[len(memory) :]}
    return [turns.get(place, 0) for place in places]


@pytest.mark.parametrize("name", VIEWS)
def test_reading_leaps_where_the_numbers_do_not_lie_side_by_side(name) -> None:
    tensor = VIEWS[name]
    drawing = figures.draw_reading_order({name: tensor}, embed_dim=10, num_heads=2)
    memory = torch.empty(0, dtype=torch.long).set_(tensor.untyped_storage()).tolist()
    read = tensor.flatten().tolist()
    leaps = sum(memory.index(b) != memory.index(a) + 1 for a, b in pairwise(read))
    numbers = [int(text) for text in written(drawing) if text.isdigit()]
    assert numbers[: len(memory)] == memory
    assert turns_below(drawing, memory) == [1 + read.index(number) for number in memory]
    assert len(drawing.figure.findobj(FancyArrowPatch)) == leaps
    assert ("without a leap" in drawing.alt) == tensor.is_contiguous()
