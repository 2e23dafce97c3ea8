"""Memory and shapes are drawn as torch has them."""

from itertools import pairwise

import pytest
import torch
from harness.drawings import written
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.text import Text
from torch import Tensor

from literate_attention import figures
from literate_attention.figures._palette import HEADS

X = torch.arange(2 * 3 * 10).view(2, 3, 10)[0]
SPLIT = X.view(3, 2, 5)
VIEWS = {
    "as it is": torch.arange(30).view(3, 10),
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
    tensor: Tensor = VIEWS[name]
    drawing = figures.draw_reading_order({name: tensor}, embed_dim=10, num_heads=2)
    memory = torch.empty(0, dtype=torch.long).set_(tensor.untyped_storage()).tolist()
    read = tensor.flatten().tolist()
    leaps = sum(memory.index(b) != memory.index(a) + 1 for a, b in pairwise(read))
    numbers = [int(text) for text in written(drawing) if text.isdigit()]
    assert numbers[: len(memory)] == memory
    assert turns_below(drawing, memory) == [1 + read.index(number) for number in memory]
    assert len(drawing.figure.findobj(FancyArrowPatch)) == leaps
    assert ("without a leap" in drawing.alt) == tensor.is_contiguous()


def colours_of_sheets(names, sizes):
    """Return the colours of heads, from left to right and then down."""
    x = torch.ones(1, *(sizes[name] for name in names.split()[1:]))
    drawing = figures.draw_shapes([("x", x, names, "heads")])
    boxes = [
        (box.get_x(), box.get_y(), to_hex(box.get_facecolor()))
        for box in drawing.figure.findobj(FancyBboxPatch)
    ]
    tints = {colour.tint for colour in HEADS}
    return [colour for *_, colour in sorted(boxes) if colour in tints]


def test_the_last_two_dimensions_are_a_sheet_below_their_names_and_sizes() -> None:
    drawing = figures.draw_shapes([("split", torch.ones(2, 3, 5, 7), "b h n d_k", "heads")])
    assert {"split", "(b, h, n, d_k)", "(2, 3, 5, 7)"} <= set(written(drawing))
    sizes = {"n": 3, "h": 2, "d_k": 4}
    assert colours_of_sheets("b n h d_k", sizes) == 3 * [HEADS[0].tint, HEADS[1].tint]
    assert colours_of_sheets("b h n d_k", sizes) == [HEADS[0].tint, HEADS[1].tint]
    assert colours_of_sheets("b h d_k n", sizes) == [HEADS[0].tint, HEADS[1].tint]
