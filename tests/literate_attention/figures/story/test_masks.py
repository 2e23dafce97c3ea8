"""What a mask hides is drawn as the library computes it."""

import pytest
import torch
from harness.drawings import lengths, meshes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.text import Text
from torch.testing import assert_close

import literate_attention as la
from literate_attention import TOY_TOKENS, figures

SCORES = la.score_all_queries(la.toy_embeddings())
WEIGHTS = la.softmax(la.mask_scores(SCORES, la.causal_mask(6)))


@pytest.mark.parametrize("query", range(6))
def test_a_masked_row_ends_in_the_weights_of_the_library(query) -> None:
    drawing = figures.draw_masked_row(SCORES[query], TOY_TOKENS, query=query)
    assert_close(lengths(drawing, "÷ sum."), WEIGHTS[query])
    allowed = la.causal_mask(6)[query]
    assert torch.equal(torch.from_numpy(meshes(drawing)["masked"].mask[:, 0]), ~allowed)
    reaches = [a.get_path().vertices[:, 0].max() for a in drawing.figure.findobj(FancyArrowPatch)]
    assert [reach == max(reaches) for reach in reaches] == allowed.tolist()
    walls = [line for line in drawing.figure.axes[0].lines if line.get_linewidth() == 4]
    assert len(walls) == int(query < 5)
    for wall in walls:  # which only what is allowed goes beyond
        assert [reach > wall.get_xdata()[0] for reach in reaches] == allowed.tolist()


def test_each_exercise_shows_what_the_mask_allows_and_asks_for_the_next_token() -> None:
    drawing = figures.draw_exercises(TOY_TOKENS)
    words = [
        (text.get_text(), text.get_weight() == "bold")
        for text in drawing.figure.findobj(Text)
        if text.get_text() in {*TOY_TOKENS, "?"}
    ]
    expected = []
    for i, row in enumerate(la.causal_mask(6)):
        expected += [(token, False) for token, may in zip(TOY_TOKENS, row, strict=True) if may]
        expected.append(((*TOY_TOKENS, "?")[i + 1], True))
    assert words == expected
    hatched = [box for box in drawing.figure.findobj(FancyBboxPatch) if box.get_hatch()]
    assert len(hatched) == 4 + 3 + 2 + 1
