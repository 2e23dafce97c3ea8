"""Windows lie where their tokens are, and embeddings add up."""

from matplotlib.patches import FancyBboxPatch

from literate_attention import figures


def test_windows_lie_where_their_tokens_are() -> None:
    """Two windows of four, two tokens apart, and each target one token further than its input."""
    drawing = figures.draw_windows(list("abcdefg"), length=4, stride=2)
    boxes = [round(box.get_x()) for box in drawing.figure.findobj(FancyBboxPatch)]
    columns = sorted(set(boxes))
    found = [columns.index(x) for x in boxes]
    assert found == [*range(4), *range(1, 5), *range(2, 6), *range(3, 7)]
    middles = {text.get_text(): text.get_position()[0] for text in drawing.figure.axes[0].texts}
    places = [middles[letter] for letter in "abcdefg"]
    assert all(0 < place - x < 40 for place, x in zip(places, columns, strict=True))
