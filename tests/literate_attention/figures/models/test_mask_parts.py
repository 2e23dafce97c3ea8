"""Each pair of a mask is drawn with the sign of its part."""

import pytest
from matplotlib.patches import Circle, FancyBboxPatch, Polygon

import literate_attention as la
from literate_attention import TOY_TOKENS, figures


@pytest.mark.parametrize("num_sinks", [0, 1, 2])
def test_each_pair_of_a_mask_has_the_sign_of_its_part(num_sinks) -> None:
    window, seen = la.window_mask(6, 6, 3), la.window_mask(6, 6, 3, num_sinks)
    drawing = figures.draw_mask_parts({"window": window, "sink": seen & ~window}, TOY_TOKENS)
    legend = 1
    assert len(drawing.figure.findobj(Circle)) == window.sum() + legend
    assert len(drawing.figure.findobj(Polygon)) == (seen & ~window).sum() + legend
    boxes = drawing.figure.findobj(FancyBboxPatch)
    hatched = [box for box in boxes if box.get_hatch() == "//////"]
    assert len(boxes) == seen.sum() + 2 * legend + len(hatched)
    assert f"hidden: {(~seen).sum()} pairs" in drawing.alt
