"""A figure shows what it is handed, says it in words, and can be read: by numbers, by pixels, by bytes."""

import gzip
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from unittest.mock import patch

import matplotlib
import numpy as np
import pytest
import torch
from harness import forks
from harness.drawings import as_tensor, lengths, meshes
from harness.paths import DOCS
from IPython.core.formatters import DisplayFormatter
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_rgb
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.text import Text
from torch import Tensor
from torch.testing import assert_close

import literate_attention as la
from literate_attention import TOY_TOKENS, figures
from literate_attention.figures import Drawing
from literate_attention.figures._card import (
    BLUE,
    COLOURS,
    HEAT,
    INK,
    ORANGE,
    PAPER,
    Colour,
    ink_on,
    products,
)

MINUS = "\N{MINUS SIGN}"
X = la.toy_embeddings()
SCORES = la.score_all_queries(X)
WEIGHTS = la.softmax(SCORES)
MASK = la.causal_mask(6)
LONG = ("antidisestablishmentarianism", "of", "$5$", "and\n", "internationalisation", "$6")


def module(build: Callable[[], torch.nn.Module]) -> Any:
    torch.manual_seed(123)
    return build()


V1 = module(lambda: la.SelfAttention_v1(3, 2))
WRAPPER = module(lambda: la.MultiHeadAttentionWrapper(3, 2, 6, 0.0, 2))
CONTEXT, HEAD_WEIGHTS = WRAPPER(X, need_weights=True)
HEAD_CONTEXTS = la.split_heads(CONTEXT, 2)
PROJECTIONS = {"query": V1.W_query, "key": V1.W_key, "value": V1.W_value}
COUNTED = torch.arange(12).view(3, 4)
VIEWED = COUNTED.view(3, 2, 2)


def masks() -> dict[str, Tensor]:
    def draw(stream: str) -> Tensor:
        torch.manual_seed(123)
        return la.dropout_mask(6, 6, p=0.5, stream=stream)

    return {"Intel processors": draw("mkl"), "all other processors": draw("torch")}


DRAWINGS: dict[str, Callable[[], Drawing]] = {
    "roadmap": lambda: figures.draw_roadmap(),
    "roadmap, first": lambda: figures.draw_roadmap("simple_attention"),
    "roadmap, last": lambda: figures.draw_roadmap("multi_head_attention"),
    "gpt": lambda: figures.draw_gpt(TOY_TOKENS[:-1], TOY_TOKENS[-1]),
    "gpt, small": lambda: figures.draw_gpt(["one"], "step", num_layers=1, highlight="block"),
    "gpt, long words": lambda: figures.draw_gpt(LONG, LONG[0], highlight=None),
    "colours": figures.draw_colours,
    "windows": lambda: figures.draw_windows(
        ["I", " H", "AD", " always", " thought", " Jack", " G"], length=4, stride=2
    ),
    "windows, long words": lambda: figures.draw_windows(LONG, length=2, stride=1),
    "input_embeddings": lambda: figures.draw_input_embeddings(X - 0.5, X.flip(0) - 1, TOY_TOKENS),
    "embedding_points": lambda: figures.draw_embedding_points(X, TOY_TOKENS),
    "context_vector": lambda: figures.draw_context_vector(X, WEIGHTS[1], TOY_TOKENS, query=1),
    "context_vector, wide": lambda: figures.draw_context_vector(
        torch.eye(12), torch.arange(12.0), [f"token {i}" for i in range(12)], query=11
    ),
    "normalising": lambda: figures.draw_normalising(SCORES[1], TOY_TOKENS),
    "normalising, mixed": lambda: figures.draw_normalising(
        torch.tensor([-2.0, 1.0, 3.0]), list("abc")
    ),
    "attention_matrix": lambda: figures.draw_attention_matrix(WEIGHTS, TOY_TOKENS),
    "attention_matrix, 4 decimals": lambda: figures.draw_attention_matrix(
        SCORES, TOY_TOKENS, decimals=4, highlight=1
    ),
    "attention_matrix, signed": lambda: figures.draw_attention_matrix(
        torch.linspace(-1, 1, 60).reshape(10, 6), list("abcdefghij"), keys=TOY_TOKENS
    ),
    "attention_matrix, long words": lambda: figures.draw_attention_matrix(WEIGHTS, LONG),
    "attention_matrix, one": lambda: figures.draw_attention_matrix(torch.ones(1, 1), ["one"]),
    "attention_matrix, many tokens": lambda: figures.draw_attention_matrix(
        la.softmax(torch.arange(529.0).reshape(23, 23) % 7), [f"token {i}" for i in range(23)]
    ),
    "mask on scores": lambda: figures.draw_attention_matrices(
        {"Before": SCORES, "After": la.mask_scores(SCORES, MASK)}, TOY_TOKENS, attn_mask=MASK
    ),
    "mask on weights": lambda: figures.draw_attention_matrices(
        {"All tokens": WEIGHTS, "Past and present only": la.mask_weights(WEIGHTS, MASK)},
        TOY_TOKENS,
        attn_mask=MASK,
    ),
    "matrices side by side": lambda: figures.draw_attention_matrices(
        {f"The head number {h + 1}": w for h, w in enumerate(HEAD_WEIGHTS)},
        TOY_TOKENS,
        attn_mask=MASK,
        columns=2,
    ),
    "four matrices": lambda: figures.draw_attention_matrices(
        {str(i): torch.eye(10) for i in range(4)}, [f"token {i}" for i in range(10)], columns=2
    ),
    "dropout_masks": lambda: figures.draw_dropout_masks(masks()),
    "induction": lambda: figures.draw_induction(list("journeyjou")),
    "induction, two copies": lambda: figures.draw_induction(list("abcdeafghijkla")),
    "growing_maps": lambda: figures.draw_growing_maps(
        {f"step {step}": HEAD_WEIGHTS[:2] for step in (0, 150)}, list("abcabc")
    ),
    "growing_maps, long words": lambda: figures.draw_growing_maps({"": HEAD_WEIGHTS[:1]}, LONG),
    "matrix_product": lambda: figures.draw_matrix_product(X, X.T, row=1, column=2),
    "projections": lambda: figures.draw_projections(X, PROJECTIONS, TOY_TOKENS),
    "projections, one token": lambda: figures.draw_projections(
        X[1:2], PROJECTIONS, TOY_TOKENS[1:2]
    ),
    "shadows": lambda: figures.draw_shadows(X[1], X, TOY_TOKENS),
    "shadows, backwards": lambda: figures.draw_shadows(
        torch.tensor([-1.1729, -0.0048]), X[:, :2] - 0.5, TOY_TOKENS
    ),
    "pulls": lambda: figures.draw_pulls(X[:, :2], WEIGHTS[1], TOY_TOKENS, query=1),
    "pulls, from the average": lambda: figures.draw_pulls(X[:, 1:], WEIGHTS[4], TOY_TOKENS),
    "query_steps": lambda: figures.draw_query_steps(X[1], X, X, TOY_TOKENS, asks=1),
    "query_steps, projected": lambda: figures.draw_query_steps(
        X[1] @ V1.W_query, X @ V1.W_key, -X @ V1.W_value, TOY_TOKENS, asks=1, scale=2**-0.5
    ),
    "products": lambda: figures.draw_products(
        [
            {"inputs": X, "W_query": V1.W_query, "queries": X @ V1.W_query},
            {"weights": WEIGHTS, "inputs": X, "context": WEIGHTS @ X},
        ]
    ),
    "products, large": lambda: figures.draw_products(
        [{"x": torch.ones(40, 40), "W": torch.ones(40, 80), "y": 40 * torch.ones(40, 80)}]
    ),
    "heads": lambda: figures.draw_heads(HEAD_WEIGHTS, TOY_TOKENS),
    "heads, many": lambda: figures.draw_heads(
        la.softmax(torch.ones(5, 13, 13)),
        [f"token {i}" for i in range(13)],
        contexts=torch.ones(5, 13, 7),
    ),
    "heads, with contexts": lambda: figures.draw_heads(
        HEAD_WEIGHTS, TOY_TOKENS, contexts=HEAD_CONTEXTS, attn_mask=MASK
    ),
    "weight_split": lambda: figures.draw_weight_split(
        CONTEXT.expand(2, 6, 4), TOY_TOKENS, num_heads=2
    ),
    "weight_split, counting": lambda: figures.draw_weight_split(
        torch.arange(64).view(2, 4, 8), list("abcd"), num_heads=2
    ),
    "exercises": lambda: figures.draw_exercises(TOY_TOKENS),
    "exercises, long words": lambda: figures.draw_exercises(LONG),
    "exercises, one": lambda: figures.draw_exercises(["one"]),
    "masked_row": lambda: figures.draw_masked_row(SCORES[2], TOY_TOKENS, query=2),
    "masked_row, first": lambda: figures.draw_masked_row(-SCORES[0], TOY_TOKENS, query=0),
    "masked_row, last": lambda: figures.draw_masked_row(3 * SCORES[5], TOY_TOKENS, query=5),
    "head_arcs": lambda: figures.draw_head_arcs(
        {f"head {h + 1}": row for h, row in enumerate(HEAD_WEIGHTS[:, 5])}, TOY_TOKENS, query=5
    ),
    "head_arcs, many": lambda: figures.draw_head_arcs(
        {f"head {h + 1}": torch.eye(12)[h] for h in range(4)},
        [f"token {i}" for i in range(12)],
        query=3,
        together=torch.full((12,), 1 / 12),
    ),
    "reading_order": lambda: figures.draw_reading_order(
        {"x": COUNTED, "view": VIEWED, "transpose(0, 1)": VIEWED.transpose(0, 1)},
        embed_dim=4,
        num_heads=2,
    ),
    "shapes": lambda: figures.draw_shapes(
        [
            ("x", torch.ones(2, 6, 3), "b n d_in", "input"),
            ("W_key(x)", torch.ones(2, 6, 8), "b n d_out", "key"),
            ("view", torch.ones(2, 6, 2, 4), "b n h d_k", "heads"),
            ("transpose(1, 2)", torch.ones(2, 2, 6, 4), "b h n d_k", "heads"),
            ("scores and weights", torch.ones(2, 2, 6, 6), "b h n n", "heads"),
            ("merge", torch.ones(2, 6, 8), "b n d_out", "heads"),
        ]
    ),
    "shared_heads": lambda: figures.draw_shared_heads(6, [6, 3, 2, 1]),
    "turned_arrows": lambda: figures.draw_turned_arrows(
        {
            "one": torch.tensor([[1.0, 0.5], [-0.5, 2.0]]),
            "two": torch.tensor([[0.5, -1.0], [2.0, 0.5]]),
        }
    ),
    "residual_streams": lambda: figures.draw_residual_streams(
        TOY_TOKENS[:3], torch.arange(108.0).view(3, 3, 12)
    ),
    "residual_streams, long words": lambda: figures.draw_residual_streams(
        LONG[:2], torch.ones(5, 2, 4)
    ),
    "mask_parts": lambda: figures.draw_mask_parts(
        {
            "window": la.window_mask(6, 6, 3),
            "sink": la.sink_mask(6, 6, 3, 1) & ~la.window_mask(6, 6, 3),
        },
        TOY_TOKENS,
    ),
    "mask_parts, many tokens": lambda: figures.draw_mask_parts(
        {"the past": la.causal_mask(12)}, [str(i) for i in range(12)]
    ),
    "mask_parts, long words": lambda: figures.draw_mask_parts({"the past": MASK}, LONG),
    "ring": lambda: figures.draw_ring(TOY_TOKENS, la.ring_shards(6, 3, zigzag=False)),
    "ring of one": lambda: figures.draw_ring(list("ab"), la.ring_shards(2, 1)),
    "ring_work": lambda: figures.draw_ring_work(
        {"in order": la.ring_shards(8, 4, zigzag=False), "zig-zag": la.ring_shards(8, 4)}
    ),
    "ring_work, many tokens": lambda: figures.draw_ring_work({"zig-zag": la.ring_shards(48, 3)}),
    "head_map": lambda: figures.draw_head_map(
        WEIGHTS.tril(), TOY_TOKENS, targets=la.previous_token_targets(6)
    ),
    "head_map, many tokens": lambda: figures.draw_head_map(
        torch.eye(23), ["antidisestablish"] * 23
    ),
    "head_scores": lambda: figures.draw_head_scores(
        {"Previous token": torch.arange(270).view(30, 9) / 269, "Induction": torch.zeros(30, 9)}
    ),
    "head_scores, of one head": lambda: figures.draw_head_scores({"Any": torch.ones(1, 1)}),
    "shares": lambda: figures.draw_shares(
        {"all": 1.0, "some, with a long name" * 3: 0.25, "": 0.0}
    ),
    "bottleneck": lambda: figures.draw_bottleneck(TOY_TOKENS),
    "bottleneck, translating": lambda: figures.draw_bottleneck(
        ("Ihre", "Reise", "beginnt"), TOY_TOKENS, WEIGHTS[:, :3], step=1
    ),
    "lines": lambda: figures.draw_lines(
        [128, 256, 512, 1024, 2048, 4096],
        {"step by step": [1, 3.8, 15, 61, 250, 1000], "fused": [0.4, 1, 3, 10, 38, math.nan]},
        x_label="tokens",
        y_label="time in ms",
    ),
    "lines, linear": lambda: figures.draw_lines(
        torch.arange(40), {"share": torch.arange(40) / 40}, x_label="x", y_label="y", log=False
    ),
}
each_name = pytest.mark.parametrize("name", DRAWINGS)
each_function = pytest.mark.parametrize("name", [name for name in DRAWINGS if "," not in name])


@cache
def drawn(name: str) -> Drawing:
    """Draw once what several tests look at."""
    return DRAWINGS[name]()


def arrows(drawing: Drawing) -> Tensor:
    """Read back how thick the arrows of weights are."""
    found = drawing.figure.findobj(FancyArrowPatch)
    return torch.tensor([a.get_linewidth() for a in found if a.get_label().startswith("weight")])


def written(drawing: Drawing) -> list[str]:
    return [text.get_text() for text in visible_texts(drawing)]


def in_the_dark(rgb: Any) -> Any:
    """Return colours as a dark page shows them: `invert(0.93) hue-rotate(180deg)` in book.css."""
    turned = np.array([[-0.574, 1.430, 0.144], [0.426, 0.430, 0.144], [0.426, 1.430, -0.856]])
    return np.clip((0.93 + (1 - 2 * 0.93) * rgb) @ turned.T, 0.0, 1.0)


def visible_texts(drawing: Drawing) -> list[Text]:
    _, found = rendered(drawing)
    return [text for text, _ in found]


def rendered(drawing: Drawing) -> tuple[RendererAgg, list[tuple[Text, Callable[[], None]]]]:
    """Render all but the words; return these, each with what would render it."""
    renderer = FigureCanvasAgg(drawing.figure).get_renderer()
    render_text = renderer.draw_text
    found = []

    def keep(*told: Any, mtext: Text, **how: Any) -> None:
        found.append((mtext, partial(render_text, *told, **how)))

    with patch.object(renderer, "draw_text", keep):
        drawing.figure.draw(renderer)
    return renderer, found


Pixels: TypeAlias = np.ndarray[Any, Any]
MARGIN = 10
"""Letters may reach a few pixels beyond the box that matplotlib computes for a text."""


class Look(NamedTuple):
    """A drawing as it is seen: the pixels behind its words, as red, green, blue and opacity, and the words.

    Of each text, `inks` holds the numbers of the pixels where it leaves ink, counted row by row.
    """

    behind: Pixels
    texts: list[Text]
    inks: list[Pixels]


@cache
def seen(name: str) -> Look:
    """Look once at what several tests judge."""
    renderer, found = rendered(drawn(name))
    behind = np.array(renderer.buffer_rgba())
    inks = [ink_of(text, render_text, renderer) for text, render_text in found]
    return Look(behind, [text for text, _ in found], inks)


def ink_of(text: Text, render_text: Callable[[], None], renderer: RendererAgg) -> Pixels:
    """Render one text alone; return the pixels where it leaves ink, searched for around its box."""
    renderer.clear()
    render_text()
    box = text.get_window_extent(renderer)
    height, width = int(renderer.height), int(renderer.width)
    left, top = max(0, int(box.x0) - MARGIN), max(0, height - int(box.y1) - MARGIN)
    right, bottom = int(box.x1) + MARGIN, height - int(box.y0) + MARGIN
    alpha = np.asarray(renderer.buffer_rgba())[top:bottom, left:right, 3]
    rows, columns = np.nonzero(alpha > int(0.6 * alpha.max(initial=0)))
    return (top + rows) * width + left + columns


def value_of(text: str) -> float:
    return float(text.replace(MINUS, "-").replace("∞", "inf"))


class TestData:
    """A figure's data equal the tensors that the library computes."""

    def test_attention_matrix(self) -> None:
        drawing = figures.draw_attention_matrix(WEIGHTS, TOY_TOKENS)
        assert_close(as_tensor(meshes(drawing)["Attention weights"]), WEIGHTS)

    @pytest.mark.parametrize("decimals", [2, 3, 4])
    def test_every_cell_is_annotated_with_its_own_number(self, decimals: int) -> None:
        drawing = figures.draw_attention_matrix(SCORES, TOY_TOKENS, decimals=decimals)
        numbers = [text for text in written(drawing) if re.fullmatch(r"[\d.]+", text)]
        expected = [f"{value:.{decimals}f}" for value in SCORES.flatten().tolist()]
        assert numbers == expected

    def test_zero_has_no_sign(self) -> None:
        drawing = figures.draw_attention_matrix(
            torch.tensor([[-0.001, -1.0]]), ["a"], keys=["b", "c"]
        )
        assert {"0.00", f"{MINUS}1.00"} <= set(written(drawing))

    @pytest.mark.parametrize("lowest", [-0.9, 0.1])
    @pytest.mark.parametrize("width", range(6, 14))
    def test_numbers_in_narrow_cells_are_right_or_absent(self, width: int, lowest: float) -> None:
        values = torch.linspace(lowest, 10.5, 2 * width).reshape(2, width)
        drawing = figures.draw_attention_matrix(values, ["a", "b"], keys=["k"] * width)
        numbers = [text for text in written(drawing) if re.fullmatch(rf"{MINUS}?\d*\.\d+", text)]
        if "scale" not in meshes(drawing):
            assert [round(value_of(text), 2) for text in numbers] == [
                round(value, 2) for value in values.flatten().tolist()
            ]

    def test_what_a_mask_hides_is_not_drawn(self) -> None:
        after = la.mask_weights(WEIGHTS, MASK)
        drawing = figures.draw_attention_matrix(after, TOY_TOKENS, attn_mask=MASK)
        mesh = meshes(drawing)["Attention weights"]
        assert np.array_equal(np.ma.getmaskarray(mesh), ~MASK.numpy())
        assert_close(torch.from_numpy(mesh.compressed()).float(), after[MASK])
        assert "0.00" not in written(drawing)

    def test_a_border_runs_between_what_a_mask_allows_and_what_it_hides(self) -> None:
        drawing = figures.draw_attention_matrix(WEIGHTS, TOY_TOKENS, attn_mask=MASK)
        (mesh,) = drawing.figure.findobj(QuadMesh)
        corners = mesh.get_coordinates()
        down = [(corners[i, i + 1], corners[i + 1, i + 1]) for i in range(5)]
        across = [(corners[i, i], corners[i, i + 1]) for i in range(1, 6)]
        border = [line for line in drawing.figure.axes[0].lines if line.get_linewidth() == 2]
        np.testing.assert_allclose([line.get_xydata() for line in border], down + across)

    def test_without_a_mask_a_zero_is_a_number(self) -> None:
        drawing = figures.draw_attention_matrix(torch.zeros(2, 2), ["a", "b"])
        assert written(drawing).count("0.00") == 4

    def test_before_the_mask_the_future_is_still_there(self) -> None:
        drawing = drawn("mask on scores")
        assert_close(as_tensor(meshes(drawing)["Before"]), SCORES)

    def test_minus_infinity_is_written_as_such(self) -> None:
        drawing = drawn("mask on scores")
        assert written(drawing).count(f"{MINUS}∞") == 15
        assert np.array_equal(np.ma.getmaskarray(meshes(drawing)["After"]), ~MASK.numpy())

    def test_context_vector(self) -> None:
        drawing = figures.draw_context_vector(X, WEIGHTS[1], TOY_TOKENS, query=1)
        found = meshes(drawing)
        assert_close(as_tensor(np.hstack([found[f"x{j}"] for j in range(6)])), X.T)
        assert_close(as_tensor(found["context"])[0], la.context_vector(WEIGHTS[1], X))

    def test_arrows_are_as_thick_as_weights_are_large(self) -> None:
        drawing = figures.draw_context_vector(X, WEIGHTS[4], TOY_TOKENS, query=4)
        thickness = arrows(drawing)
        assert_close(thickness / thickness.sum(), WEIGHTS[4], check_dtype=False)

    def test_normalising(self) -> None:
        drawing = figures.draw_normalising(SCORES[1], TOY_TOKENS)
        assert_close(lengths(drawing, r"score\d"), SCORES[1])
        assert_close(lengths(drawing, r"÷ sum\d"), la.normalize_by_sum(SCORES[1]))
        assert_close(lengths(drawing, r"softmax\d"), la.softmax(SCORES[1]))
        assert "0.2278" in written(drawing)  # as PyTorch prints it

    def test_as_many_products_are_spelled_out_as_there_is_room_for(self) -> None:
        ones = np.ones(5)
        rooms = range(0, 500, 10)
        told = (
            "".join(text for text, _ in products(ones, ones, (INK, INK), room)) for room in rooms
        )
        assert [text.count("·") for text in dict.fromkeys(told)] == [1, 2, 3, 4, 5]

    def test_softmax_of_large_scores(self) -> None:
        drawing = figures.draw_normalising(torch.tensor([1000.0, 0.0]), ["a", "b"])
        assert_close(lengths(drawing, r"softmax\d"), torch.tensor([1.0, 0.0]))

    def test_embedding_points_are_seen_from_one_side(self) -> None:
        """A picture of space is one linear map for all points."""
        drawing = figures.draw_embedding_points(X, TOY_TOKENS)
        spots = {
            line.get_label(): line.get_xydata()
            for line in drawing.figure.axes[0].lines
            if line.get_label() in ("points", "closest")
        }
        assert len(spots["closest"]) == 2
        positions = torch.from_numpy(np.vstack([spots["closest"], spots["points"]]))
        order = [1, 2, 0, 3, 4, 5]  # journey and starts are the closest
        augmented = torch.cat([X[order].double(), torch.ones(6, 1, dtype=torch.float64)], dim=1)
        solution = torch.linalg.lstsq(augmented, positions).solution
        assert_close(augmented @ solution, positions)

    def test_no_two_points_look_much_closer_than_they_are(self) -> None:
        drawing = figures.draw_embedding_points(X, TOY_TOKENS)
        spots = [
            line.get_xydata()
            for line in drawing.figure.axes[0].lines
            if line.get_label() == "points"
        ]
        drawn = torch.pdist(torch.from_numpy(spots[0]))
        real = torch.pdist(X[[0, 3, 4, 5]].double())
        assert (drawn / real).min() > 0.3 * (drawn / real).max()

    def test_matrix_product(self) -> None:
        drawing = figures.draw_matrix_product(X, V1.W_query, row=1, column=1)
        found = meshes(drawing)
        assert_close(as_tensor(found["left"]), X)
        assert_close(as_tensor(found["right"]), V1.W_query.detach())
        assert_close(as_tensor(found["product"]), (X @ V1.W_query).detach())

    def test_input_embeddings(self) -> None:
        found = meshes(drawn("input_embeddings"))
        assert_close(as_tensor(found["token embeddings"]), X - 0.5)
        assert_close(as_tensor(found["position embeddings"]), X.flip(0) - 1)
        assert_close(as_tensor(found["input embeddings"]), X + X.flip(0) - 1.5)

    def test_windows_lie_where_their_tokens_are(self) -> None:
        """Two windows of four, two tokens apart, and each target one token further than its input."""
        drawing = drawn("windows")
        texts = {text.get_text(): text.get_window_extent() for text in visible_texts(drawing)}
        boxes = [patch.get_window_extent() for patch in drawing.figure.findobj(FancyBboxPatch)]
        assert len(boxes) == 16
        columns = sorted({round(box.x0) for box in boxes})
        found = [columns.index(round(box.x0)) for box in boxes]
        assert found == [*range(4), *range(1, 5), *range(2, 6), *range(3, 7)]
        assert texts[" always"].x0 > boxes[2].x1 - 3

    def test_projections(self) -> None:
        found = meshes(figures.draw_projections(X, PROJECTIONS, TOY_TOKENS))
        for name, matrix in PROJECTIONS.items():
            assert_close(as_tensor(found[f"W_{name}"]), matrix.detach())
            assert_close(as_tensor(found[name]), (X @ matrix).detach())

    def test_heads(self) -> None:
        found = meshes(drawn("heads, with contexts"))
        for h in range(2):
            weights = found[f"weights{h}"]
            assert np.array_equal(np.ma.getmaskarray(weights), ~MASK.numpy())
            assert_close(as_tensor(weights).nan_to_num(), HEAD_WEIGHTS[h].detach())
            assert_close(as_tensor(found[f"contexts{h}"]), HEAD_CONTEXTS[h].detach())
        joined = np.hstack([found["joined0"], found["joined1"]])
        assert_close(as_tensor(joined), CONTEXT.detach())

    def test_weight_split(self) -> None:
        x = torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(1))
        found = meshes(figures.draw_weight_split(x, list("abcde"), num_heads=3))
        assert_close(as_tensor(found["x"]), x[0])
        for i, token in enumerate(x[0].view(5, 3, 2)):
            assert_close(as_tensor(np.vstack([found[f"view{i},{h}"] for h in range(3)])), token)
        for h, expected in enumerate(la.split_heads(x, 3)[0]):
            assert_close(as_tensor(found[f"head{h}"]), expected)

    def test_whole_numbers_have_no_decimals(self) -> None:
        assert "63" not in written(drawn("weight_split, counting"))  # of the second text
        assert written(drawn("weight_split, counting")).count("31") == 3

    def test_dropout_masks(self) -> None:
        found = meshes(figures.draw_dropout_masks(masks()))
        for title, mask in masks().items():
            assert_close(as_tensor(found[title]), (mask != 0).float())

    def test_two_dropout_masks_stand_side_by_side(self) -> None:
        drawing = figures.draw_dropout_masks({str(i): torch.eye(2) for i in range(3)})
        found = drawing.figure.findobj(QuadMesh)
        first, second, third = (mesh.get_coordinates()[0, 0] for mesh in found)
        assert first[1] == second[1]
        assert first[0] == third[0]

    def test_bottleneck(self) -> None:
        drawing = drawn("bottleneck, translating")
        thickness = arrows(drawing)
        expected = WEIGHTS[1, :3] / WEIGHTS[1, :3].sum()
        assert_close(thickness / thickness.sum(), expected, check_dtype=False)

    def test_lines(self) -> None:
        y = torch.tensor([3.0, math.nan, 5.0], requires_grad=True)
        drawing = figures.draw_lines([1, 10, 100], {"y": y}, x_label="n", y_label="ms")
        (line,) = drawing.figure.axes[1].lines
        assert line.get_xdata().tolist() == [1, 10, 100]
        assert_close(torch.from_numpy(line.get_ydata()), y.detach().double(), equal_nan=True)


class TestWords:
    """The alternative text is computed from what was drawn."""

    @pytest.mark.parametrize("seed", range(4))
    def test_each_row_names_its_largest_number(self, seed: int) -> None:
        weights = torch.rand(5, 7, generator=torch.Generator().manual_seed(seed))
        queries, keys = [f"q{i}" for i in range(5)], [f"k{j}" for j in range(7)]
        alt = figures.draw_attention_matrix(weights, queries, keys=keys).alt
        rows = re.findall(r"Row (\d), '(q\d)', attends most to '(k\d)', ([\d.]+)\.", alt)
        largest, where = weights.max(dim=1)
        assert rows == [
            (str(i + 1), f"q{i}", f"k{where[i]}", f"{largest[i]:.2f}") for i in range(5)
        ]

    def test_journey(self) -> None:
        alt = figures.draw_attention_matrix(WEIGHTS, TOY_TOKENS).alt
        assert "Row 2, 'journey', attends most to 'journey', 0.24." in alt

    def test_a_mask_is_told(self) -> None:
        alt = drawn("mask on weights").alt
        assert "15 of 36 pairs hidden. Row 1, 'Your', attends only to 'Your', 1.00." in alt

    def test_a_row_without_keys(self) -> None:
        hidden = torch.full((1, 2), -torch.inf)
        assert figures.draw_attention_matrix(hidden, ["a"], keys=["b", "c"]).alt.endswith(
            "2 of 2 pairs hidden. Row 1, 'a', attends to nothing."
        )

    def test_of_many_rows_only_the_strongest_is_told(self) -> None:
        weights = torch.rand(14, 3, generator=torch.Generator().manual_seed(0))
        weights[8, 1] = 2.0
        names = [f"t{i}" for i in range(14)]
        alt = figures.draw_attention_matrix(weights, names, keys=list("abc")).alt
        assert alt.endswith("14 queries by 3 keys. Row 9, 't8', attends most to 'b', 2.00.")
        highlighted = figures.draw_attention_matrix(
            weights, names, keys=list("abc"), highlight=3
        ).alt
        assert "Row 4, 't3'" in highlighted

    def test_context_vector(self) -> None:
        alt = figures.draw_context_vector(X, WEIGHTS[1], TOY_TOKENS, query=1).alt
        assert "0.24 of 'journey', 0.23 of 'starts'" in alt
        assert "thickest arrow comes from 'journey'" in alt
        assert alt.endswith("The sum is (0.44, 0.65, 0.57).")

    def test_embedding_points(self) -> None:
        alt = figures.draw_embedding_points(X, TOY_TOKENS).alt
        assert "closest are 'journey' and 'starts', 0.03 apart" in alt

    def test_matrix_product(self) -> None:
        alt = figures.draw_matrix_product(X, X.T, row=1, column=2).alt
        assert alt.endswith("0.55·0.57 + 0.87·0.85 + 0.66·0.64 = 1.48.")

    def test_dropout_masks(self) -> None:
        alt = figures.draw_dropout_masks(masks()).alt
        for title, mask in masks().items():
            assert f"{title}, 6 by 6: {int((mask != 0).sum())} of 36 are kept." in alt

    def test_lines(self) -> None:
        alt = drawn("lines").alt
        assert "from 128 to 4096. step by step: from 1 to 1000. fused: from 0.4 to 38" in alt
        series = {"long": [1, 2, 3], "short": [1, 2, float("nan")]}
        alt = figures.draw_lines([1, 10, 100], series, x_label="tokens", y_label="ms").alt
        assert alt.endswith("long: from 1 to 3. short: from 1 to 2, measured from 1 to 10.")

    def test_what_was_dropped_attends_to_nothing(self) -> None:
        dropped = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
        alt = figures.draw_attention_matrix(dropped, ["a", "b"], attn_mask=la.causal_mask(2)).alt
        assert "Row 1, 'a', attends to nothing." in alt
        alt = figures.draw_heads(torch.zeros(1, 2, 2), ["a", "b"]).alt
        assert "In head 1, 'b' attends to nothing." in alt


class TestLooks:
    """What a reader on a phone needs, checked in pixels."""

    @each_name
    def test_nothing_is_clipped_and_no_words_collide(self, name: str) -> None:
        look = seen(name)
        placed = [text.get_position() for axes in drawn(name).figure.axes for text in axes.texts]
        assert np.isfinite(placed).all()  # what is nowhere is not drawn
        height, width = look.behind.shape[:2]
        taken = np.zeros(height * width, bool)
        for text, ink in zip(look.texts, look.inks, strict=True):
            assert ink.size, text
            box = text.get_window_extent()
            assert 3 <= box.x0 < box.x1 <= width - 3, f"{text} is clipped"
            assert 3 <= box.y0 < box.y1 <= height - 3, f"{text} is clipped"
            assert not taken[ink].any(), f"{text} collides"
            taken[ink] = True

    @each_name
    @pytest.mark.parametrize("mode", [lambda rgb: rgb, in_the_dark], ids=["light", "dark"])
    def test_letters_contrast_with_what_is_behind_them(
        self, mode: Callable[[Any], Any], name: str
    ) -> None:
        """At least 4.5 to 1 (WCAG 2, level AA), at every pixel of every letter: no line crosses one."""
        look = seen(name)
        for text, ink in zip(look.texts, look.inks, strict=True):
            behind = luminance(mode(look.behind.reshape(-1, 4)[ink, :3] / 255))
            letter = luminance(mode(np.array(to_rgb(text.get_color()))))
            light, dark = np.maximum(behind, letter), np.minimum(behind, letter)
            contrast = (light + 0.05) / (dark + 0.05)
            assert contrast.min() >= 4.5, f"{text} has {contrast.min():.2f}"

    @each_name
    def test_a_card_fits_a_phone_and_its_letters_are_large(self, name: str) -> None:
        on_a_phone = 360 / (drawn(name).figure.get_figwidth() * 96)
        smallest = min(text.get_fontsize() for text in seen(name).texts) * 96 / 72
        assert smallest * on_a_phone >= 10

    def test_a_card_is_nearly_as_wide_as_the_text_on_a_laptop(self) -> None:
        root = ET.fromstring(svg(drawn("attention_matrix")))
        width, height = (
            float(root.attrib[side].removesuffix("pt")) for side in ("width", "height")
        )
        assert width * 96 / 72 == pytest.approx(640)
        assert height / width == pytest.approx(
            drawn("attention_matrix").figure.get_figheight()
            / drawn("attention_matrix").figure.get_figwidth()
        )

    @each_name
    def test_the_card_is_opaque(self, name: str) -> None:
        assert (seen(name).behind[..., 3] == 255).all()

    def test_tokens_are_written_as_they_are(self) -> None:
        """A dollar begins no formula, and a line break is one visible sign."""
        texts = visible_texts(drawn("attention_matrix, long words"))
        shown = [text.get_text() for text in texts]
        assert shown.count("$5$") == 2
        assert shown.count("and⏎") == 2
        assert not any(text.get_parse_math() for text in texts)

    def test_a_row_can_be_set_off(self) -> None:
        drawing = figures.draw_attention_matrix(WEIGHTS, TOY_TOKENS, highlight=2)
        bold = [t.get_text() for t in visible_texts(drawing) if t.get_weight() == "bold"]
        assert bold == ["starts"]

    def test_where_numbers_do_not_fit_a_scale_explains_the_colours(self) -> None:
        drawing = drawn("matrices side by side")
        assert meshes(drawing)["scale"].max() == pytest.approx(1.0)
        assert "scale" not in meshes(drawn("mask on weights"))

    def test_the_scale_of_signed_numbers_is_as_long_to_either_side(self) -> None:
        drawing = figures.draw_attention_matrix(torch.eye(12) * -3, list("abcdefghijkl"))
        np.testing.assert_allclose(meshes(drawing)["scale"], [np.linspace(-3, 3, 7)])

    def test_matrices_of_one_figure_share_their_colours(self) -> None:
        drawing = figures.draw_attention_matrices(
            {"small": torch.full((1, 1), 0.1), "large": torch.full((1, 1), 0.9)}, ["a"]
        )
        small, large = drawing.figure.findobj(QuadMesh)
        assert small.norm(0.5) == large.norm(0.5)


def luminance(rgb: Any) -> Any:
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])


class TestColours:
    """One colour means one thing, and one scale serves all weights."""

    @pytest.mark.parametrize("shade", [0, 1], ids=["tint", "strong"])
    def test_no_two_things_look_alike(self, shade: int) -> None:
        """A difference of 2.3 in CIELAB is just noticeable; these are told apart at a glance."""
        numbers = {"above": Colour("#8fbbe3", BLUE), "below": Colour("#eab07f", ORANGE)}
        colours = {name: lab(colour[shade]) for name, colour in (COLOURS | numbers).items()}
        for one, other in combinations(colours, 2):
            apart = np.linalg.norm(colours[one] - colours[other])
            assert apart > 15, f"{one} and {other} are {apart:.1f} apart"

    def test_tints_carry_letters_and_paper_carries_strong_colours(self) -> None:
        for tint, strong in COLOURS.values():
            for letters, ground in ((strong, PAPER), (strong, tint), (INK, tint)):
                light, dark = sorted((ink_luminance(letters), ink_luminance(ground)), reverse=True)
                assert (light + 0.05) / (dark + 0.05) >= 4.5

    @pytest.mark.parametrize("mode", [lambda rgb: rgb, in_the_dark], ids=["light", "dark"])
    def test_numbers_can_be_read_on_every_shade(self, mode: Callable[[Any], Any]) -> None:
        for place in np.linspace(0, 1, 257):
            shade = HEAT(place)[:3]
            ink = np.array(to_rgb(ink_on(shade)))
            dark, light = sorted((luminance(mode(np.array(shade))), luminance(mode(ink))))
            assert (light + 0.05) / (dark + 0.05) >= 4.5, f"{place} is {shade}"

    def test_the_dark_is_that_of_the_pages(self) -> None:
        styles = (DOCS / "_static" / "book.css").read_text(encoding="utf-8")
        assert "filter: invert(0.93) hue-rotate(180deg);" in styles

    def test_an_even_row_looks_even(self) -> None:
        """A weight has the same colour in every figure, however large the others are."""
        even = figures.draw_attention_matrix(torch.full((1, 6), 1 / 6), ["a"], keys=TOY_TOKENS)
        uneven = figures.draw_attention_matrix(
            torch.tensor([[1 / 6, 5 / 6]]), ["a"], keys=["b", "c"]
        )
        heads = figures.draw_heads(torch.full((1, 6, 6), 1 / 6), TOY_TOKENS)
        (first,), (second,), (third,) = (d.figure.findobj(QuadMesh) for d in (even, uneven, heads))
        assert first.norm(1 / 6) == second.norm(1 / 6) == third.norm(1 / 6)

    def test_weights_that_dropout_scaled_up_still_differ(self) -> None:
        drawing = figures.draw_attention_matrix(torch.tensor([[1.0, 2.0]]), ["a"], keys=["b", "c"])
        (mesh,) = drawing.figure.findobj(QuadMesh)
        assert mesh.norm(2.0) > mesh.norm(1.0)

    def test_queries_keys_and_values_keep_their_colours(self) -> None:
        for name in PROJECTIONS:
            (mesh,) = (
                mesh
                for mesh in drawn("projections").figure.findobj(QuadMesh)
                if mesh.get_label() == name
            )
            shown = mesh.to_rgba(mesh.get_array())[..., :3]
            assert np.allclose(shown, to_rgb(COLOURS[name].tint))


def lab(colour: str) -> Any:
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    x, y, z = np.cbrt(to_xyz @ linear / (0.9505, 1.0, 1.089))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def ink_luminance(colour: str) -> float:
    return float(luminance(np.array(to_rgb(colour))))


class TestBytes:
    @each_function
    def test_the_same_data_give_the_same_bytes(self, name: str) -> None:
        assert svg(DRAWINGS[name]()) == first_svg(name)

    def test_other_data_give_other_bytes(self) -> None:
        assert svg(figures.draw_attention_matrix(WEIGHTS, TOY_TOKENS)) != svg(
            figures.draw_attention_matrix(WEIGHTS + 0.1, TOY_TOKENS)
        )

    def test_the_callers_settings_change_nothing(self) -> None:
        expected = svg(drawn("lines"))
        loud = {
            "font.size": 30,
            "font.family": "serif",
            "axes.facecolor": "red",
            "lines.linewidth": 9,
            "svg.fonttype": "none",
            "svg.hashsalt": None,
            "savefig.facecolor": "green",
            "savefig.bbox": "tight",
        }
        with matplotlib.rc_context(loud):
            assert svg(DRAWINGS["lines"]()) == expected

    @pytest.mark.parametrize("name", ["attention_matrix", "lines"])
    def test_the_callers_settings_are_left_alone(self, name: str) -> None:
        before = dict(matplotlib.rcParams)
        svg(DRAWINGS[name]())
        assert dict(matplotlib.rcParams) == before

    def test_another_process_gives_the_same_bytes_without_pyplot(self, tmp_path: Path) -> None:
        program = (
            "import sys, literate_attention as la\n"
            "from literate_attention import figures\n"
            "weights = la.softmax(la.score_all_queries(la.toy_embeddings()))\n"
            "figures.draw_attention_matrix(weights, la.TOY_TOKENS).save(path)\n"
            "modules = 'matplotlib' in sys.modules, 'matplotlib.pyplot' in sys.modules\n"
            "print(*modules, hash('a word'), flush=True)\n"
        )
        status, said, complaints = forks.run(exec, program, {"path": tmp_path / "there.svg"})
        assert status == 0, complaints
        *modules, hashed = said.split()
        assert modules == ["True", "False"]
        assert hashed != str(hash("a word"))
        drawn("attention_matrix").save(tmp_path / "here.svg")
        assert (tmp_path / "there.svg").read_bytes() == (tmp_path / "here.svg").read_bytes()

    def test_no_date_and_no_version(self) -> None:
        text = svg(drawn("attention_matrix"))
        assert "date" not in text.lower()
        assert matplotlib.__version__ not in text

    @each_name
    def test_it_is_small_and_needs_no_font(self, name: str) -> None:
        root = ET.fromstring(first_svg(name))
        kinds = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert not kinds & {"text", "image", "script"}
        if "many" not in name:
            most = 20_000 if "steps" in name else 14_000  # bytes; four frames, or one
            assert len(gzip.compress(first_svg(name).encode())) < most

    @pytest.mark.parametrize(
        ("kind", "magic"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")]
    )
    def test_save(self, kind: str, magic: bytes, tmp_path: Path) -> None:
        path = tmp_path / f"drawing.{kind}"
        drawn("attention_matrix").save(path)
        assert path.read_bytes().startswith(magic)

    def test_save_refuses_another_kind(self, tmp_path: Path) -> None:
        drawing = drawn("attention_matrix")
        with pytest.raises(ValueError, match=r"must end in one of svg, pdf, png, got '.*gif'"):
            drawing.save(tmp_path / "drawing.gif")
        assert not list(tmp_path.iterdir())


def svg(drawing: Drawing) -> str:
    data, _ = drawing._repr_mimebundle_()
    return data["image/svg+xml"]


@cache
def first_svg(name: str) -> str:
    return svg(drawn(name))


def test_a_notebook_gets_the_picture_and_its_text() -> None:
    drawing = drawn("attention_matrix")
    data, metadata = DisplayFormatter().format(drawing)
    assert data["image/svg+xml"].startswith("<?xml")
    assert metadata["alt"] == drawing.alt


def test_a_picture_names_itself() -> None:
    """Where a notebook puts the SVG into the page, its title is what a screen reader says."""
    drawing = drawn("attention_matrix")
    root = ET.fromstring(svg(drawing))
    assert root.findtext("{http://www.w3.org/2000/svg}title") == drawing.alt


@each_name
def test_every_drawing_has_its_words(name: str) -> None:
    alt = drawn(name).alt
    assert alt.endswith(".")
    assert len(alt) > 20
    assert "nan" not in alt


class Elsewhere(Tensor):
    """A tensor that, like one on another device, cannot be read before it is brought to the CPU."""

    def numpy(self, *_: object, **__: object) -> np.ndarray[Any, Any]:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    __array__ = numpy
    tolist = numpy

    def cpu(self, *_: object, **__: object) -> Tensor:
        if self.requires_grad:
            raise RuntimeError("it is still in a graph")
        return self.as_subclass(Tensor)


@pytest.mark.parametrize(
    "moved",
    [
        pytest.param(lambda x: x.clone().requires_grad_(), id="in a graph"),
        pytest.param(lambda x: x.as_subclass(Elsewhere), id="elsewhere"),
        pytest.param(lambda x: x.double(), id="float64"),
        pytest.param(lambda x: x.T.contiguous().T, id="strided"),
        pytest.param(
            lambda x: x.cuda(),
            id="cuda",
            marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here"),
        ),
    ],
)
def test_any_device_in_or_out_of_a_graph(moved: Callable[[Tensor], Tensor]) -> None:
    x, weights = moved(X), moved(WEIGHTS)
    for draw in (
        lambda x, weights: figures.draw_attention_matrix(weights, TOY_TOKENS),
        lambda x, weights: figures.draw_query_steps(x[1], x, x, TOY_TOKENS, asks=1),
        lambda x, weights: figures.draw_lines(x[:, 0], {"y": x[:, 1]}, x_label="x", y_label="y"),
        lambda x, weights: figures.draw_weight_split(weights[None], TOY_TOKENS, num_heads=3),
    ):
        assert draw(x, weights).alt == draw(X, WEIGHTS).alt
    assert x.shape == X.shape


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision(dtype: torch.dtype) -> None:
    drawing = figures.draw_attention_matrix(WEIGHTS.to(dtype), TOY_TOKENS)
    assert_close(as_tensor(meshes(drawing)["Attention weights"]), WEIGHTS.to(dtype).float())


def test_what_is_drawn_is_not_changed() -> None:
    weights = WEIGHTS.clone()
    drawing = figures.draw_attention_matrix(weights, TOY_TOKENS)
    weights.zero_()
    assert_close(as_tensor(meshes(drawing)["Attention weights"]), WEIGHTS)


def test_every_drawing_is_tested() -> None:
    drawn = {f"draw_{name.split(',')[0]}" for name in DRAWINGS}
    assert set(figures.__all__) - {"Drawing", "draw_attention_matrices"} <= drawn
