"""Memory is drawn as torch has it."""

from itertools import pairwise

import pytest
import torch
from harness.drawings import written
from matplotlib.patches import FancyArrowPatch
from matplotlib.text import Text
from torch import Tensor

from literate_attention import figures

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
