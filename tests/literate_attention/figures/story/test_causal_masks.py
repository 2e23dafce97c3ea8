"""What a mask hides is drawn as the library computes it."""

import pytest
import torch
from harness.drawings import lengths
from matplotlib.collections import QuadMesh
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.text import Text
from torch.testing import assert_close

import literate_attention as la
from literate_attention import TOY_TOKENS, figures

SCORES = la.score_all_queries(la.toy_embeddings())
WEIGHTS = la.softmax(la.mask_scores(SCORES, la.causal_mask(6)))


@pytest.mark.parametrize("query", range(6))
class TestMaskedRow:
    def test_it_ends_in_the_weights_of_the_library(self, query: int) -> None:
        drawing = figures.draw_masked_row(SCORES[query], TOY_TOKENS, query=query)
        assert_close(lengths(drawing, "÷ sum."), WEIGHTS[query])

    def test_the_future_is_minus_infinity_in_between(self, query: int) -> None:
        drawing = figures.draw_masked_row(SCORES[query], TOY_TOKENS, query=query)
        (masked,) = (
            mesh for mesh in drawing.figure.findobj(QuadMesh) if mesh.get_label() == "masked"
        )
        hidden = torch.from_numpy(masked.get_array().mask[:, 0])
        assert torch.equal(hidden, ~la.causal_mask(6)[query])

    def test_only_what_is_allowed_gets_through(self, query: int) -> None:
        drawing = figures.draw_masked_row(SCORES[query], TOY_TOKENS, query=query)
        reaches = [
            arrow.get_path().vertices[:, 0].max()
            for arrow in drawing.figure.findobj(FancyArrowPatch)
        ]
        through = [reach == max(reaches) for reach in reaches]
        assert through == la.causal_mask(6)[query].tolist()


def test_masked_row_in_words() -> None:
    words = figures.draw_masked_row(torch.zeros(3), list("abc"), query=0).alt
    assert "1 passes: 'a'. 2 stop at the mask: 'b' and 'c' become minus infinity" in words
    assert "sum to 1.00" in words
    words = figures.draw_masked_row(torch.zeros(3), list("abc"), query=2).alt
    assert "3 pass: 'a', 'b' and 'c'. None stops at the mask." in words


def test_masked_row_refused() -> None:
    with pytest.raises(ValueError, match="query must lie between 0 and 2, got 3"):
        figures.draw_masked_row(torch.zeros(3), list("abc"), query=3)
    with pytest.raises(ValueError, match="tokens must name 3 keys, got 2 labels"):
        figures.draw_masked_row(torch.zeros(3), list("ab"), query=0)


class TestExercises:
    def test_each_exercise_shows_what_the_mask_allows_and_asks_for_the_next_token(self) -> None:
        drawing = figures.draw_exercises(TOY_TOKENS)
        words = [
            (text.get_text(), text.get_weight() == "bold")
            for text in drawing.figure.findobj(Text)
            if text.get_text() in {*TOY_TOKENS, "?"}
        ]
        expected = []
        for i, row in enumerate(la.causal_mask(6)):
            seen = [token for token, may in zip(TOY_TOKENS, row, strict=True) if may]
            expected += [(token, False) for token in seen]
            expected.append(((*TOY_TOKENS, "?")[i + 1], True))
        assert words == expected

    def test_what_comes_after_the_answer_is_hatched(self) -> None:
        drawing = figures.draw_exercises(TOY_TOKENS)
        hatched = [box for box in drawing.figure.findobj(FancyBboxPatch) if box.get_hatch()]
        assert len(hatched) == 4 + 3 + 2 + 1

    def test_in_words(self) -> None:
        words = figures.draw_exercises(TOY_TOKENS).alt
        assert "2: from 'Your journey', predict 'starts'." in words
        assert "predict what comes after the window." in words

    def test_refused(self) -> None:
        with pytest.raises(ValueError, match="the number of tokens must be at least 1, got 0"):
            figures.draw_exercises([])
