"""A heat map shows and tells the numbers that it is handed."""

import re

import numpy as np
import pytest
import torch
from harness.drawings import meshes, written
from matplotlib.collections import QuadMesh
from matplotlib.patches import FancyBboxPatch
from torch.testing import assert_close

import literate_attention as la
from literate_attention import TOY_TOKENS, figures

SCORES = la.score_all_queries(la.toy_embeddings())
MASK = la.causal_mask(6)
TOKEN_IDS = torch.tensor([0, 1, 2, 0, 1, 2, 0])
MAPS = torch.softmax(torch.arange(98.0).reshape(2, 7, 7) % 11, dim=-1)


def test_every_cell_is_annotated_with_its_own_number() -> None:
    drawing = figures.draw_attention_matrix(SCORES, TOY_TOKENS, decimals=4)
    numbers = [text for text in written(drawing) if re.fullmatch(r"[\d.]+", text)]
    assert numbers == [f"{value:.4f}" for value in SCORES.flatten().tolist()]


def test_zero_has_no_sign() -> None:
    drawing = figures.draw_attention_matrix(torch.tensor([[-0.001, -1.0]]), ["a"], keys=["b", "c"])
    assert {"0.00", "\N{MINUS SIGN}1.00"} <= set(written(drawing))


def test_what_a_mask_hides_is_not_drawn() -> None:
    after = la.mask_weights(la.softmax(SCORES), MASK)
    drawing = figures.draw_attention_matrix(after, TOY_TOKENS, attn_mask=MASK)
    mesh = meshes(drawing)["Attention weights"]
    assert np.array_equal(np.ma.getmaskarray(mesh), ~MASK.numpy())
    assert_close(torch.from_numpy(mesh.compressed()).float(), after[MASK])


def test_a_weight_has_one_colour_however_large_the_others_are() -> None:
    even = figures.draw_attention_matrix(torch.full((1, 6), 1 / 6), ["a"], keys=TOY_TOKENS)
    uneven = figures.draw_attention_matrix(torch.tensor([[1 / 6, 5 / 6]]), ["a"], keys=["b", "c"])
    (first,), (second,) = (drawing.figure.findobj(QuadMesh) for drawing in (even, uneven))
    assert first.norm(1 / 6) == second.norm(1 / 6)


def test_frames_stand_where_the_targets_are() -> None:
    targets = la.induction_targets(TOKEN_IDS)
    drawing = figures.draw_attention_matrix(MAPS[0], list("abcabca"), targets=targets)
    (mesh,) = drawing.figure.findobj(QuadMesh)
    frames = [b for b in drawing.figure.findobj(FancyBboxPatch) if b.get_zorder() == 4]
    corners = [mesh.get_coordinates()[i, j] for i, j in targets.nonzero().tolist()]
    np.testing.assert_allclose([(f.get_x(), f.get_y()) for f in frames], corners)


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
