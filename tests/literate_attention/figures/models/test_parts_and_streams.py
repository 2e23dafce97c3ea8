"""Parts of a mask, residual streams and waiting are drawn as the library computes them."""

import numpy as np
import pytest
import torch
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Polygon
from matplotlib.text import Text
from torch import Tensor

import literate_attention as la
from literate_attention import TOY_TOKENS, figures
from literate_attention.figures import Drawing
from literate_attention.figures.models.rings import WAITS


def hatched(drawing: Drawing, hatch: str) -> list[FancyBboxPatch]:
    return [box for box in drawing.figure.findobj(FancyBboxPatch) if box.get_hatch() == hatch]


@pytest.mark.parametrize("num_sinks", [0, 1, 2])
def test_each_pair_of_a_mask_has_the_sign_of_its_part(num_sinks: int) -> None:
    window, seen = la.window_mask(6, 6, 3), la.sink_mask(6, 6, 3, num_sinks)
    drawing = figures.draw_mask_parts({"window": window, "sink": seen & ~window}, TOY_TOKENS)
    legend = 1
    assert len(drawing.figure.findobj(Circle)) == window.sum() + legend
    assert len(drawing.figure.findobj(Polygon)) == (seen & ~window).sum() + legend
    grounds = [box.get_facecolor() for box in drawing.figure.findobj(FancyBboxPatch)]
    assert len(grounds) == seen.sum() + 2 * legend + len(hatched(drawing, "//////"))
    assert f"hidden: {(~seen).sum()} pairs" in drawing.alt
    assert ("(window) and 'Your'" in drawing.alt) == (num_sinks > 0)


class TestResidualStreams:
    STREAM = torch.arange(5 * 3 * 4.0).view(5, 3, 4)

    def test_the_lengths_are_those_of_the_vectors(self) -> None:
        drawing = figures.draw_residual_streams(TOY_TOKENS[:3], self.STREAM)
        written = [text.get_text() for text in drawing.figure.findobj(Text)]
        lengths = [text for text in written if text.startswith("length")]
        expected = self.STREAM.norm(dim=-1).flatten().tolist()
        assert lengths == [f"length {length:.2f}" for length in expected]

    def test_each_word_stands_in_the_middle_of_its_box(self) -> None:
        drawing = figures.draw_residual_streams(TOY_TOKENS[:3], self.STREAM)
        boxes = drawing.figure.findobj(FancyBboxPatch)
        words = [
            text
            for text in drawing.figure.findobj(Text)
            if text.get_text() in {"norm", "attention", "feed-forward"}
        ]
        assert len(words) == len(boxes)
        middles = [box.get_x() + box.get_width() / 2 for box in boxes]
        np.testing.assert_allclose([word.get_position()[0] for word in words], middles)

    @pytest.mark.parametrize(("tokens", "looks"), [(1, 0), (2, 1), (3, 3)])
    def test_every_token_looks_at_each_before_it_in_attention_only(
        self, tokens: int, looks: int
    ) -> None:
        drawing = figures.draw_residual_streams(TOY_TOKENS[:tokens], self.STREAM[:, :tokens])
        blue = [
            arrow
            for arrow in drawing.figure.findobj(FancyArrowPatch)
            if arrow.get_linewidth() == 1.6
        ]
        assert len(blue) == 2 * looks  # in each of two blocks


@pytest.mark.parametrize("zigzag", [False, True])
def test_who_waits_is_drawn_for_as_long_as_it_waits(zigzag: bool) -> None:
    shards = la.ring_shards(8, 4, zigzag=zigzag)
    drawing = figures.draw_ring_work({"order": shards})
    waits: list[Tensor] = []
    held = shards.flatten(1)
    for step in range(4):
        keys = held.roll(step, dims=0)
        scores = (keys[:, None, :] <= held[:, :, None]).sum(dim=(1, 2))
        waits.append(scores.max() - scores)
    widths = sorted(box.get_width() for box in hatched(drawing, WAITS))
    expected = sorted(wait for wait in torch.cat(waits).tolist() if wait)
    legend = 1
    assert len(widths) == len(expected) + legend
    assert bool(expected) != zigzag
    if expected:
        assert widths[-1] / widths[-2] == pytest.approx(expected[-1] / expected[-2])
