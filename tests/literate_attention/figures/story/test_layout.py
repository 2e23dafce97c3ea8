"""Memory and shapes are drawn as torch has them."""

from itertools import pairwise

import pytest
import torch
from matplotlib.patches import FancyArrowPatch
from matplotlib.text import Text
from torch import Tensor

from literate_attention import figures
from literate_attention.figures import Drawing

X = torch.arange(2 * 3 * 10).view(2, 3, 10)[0]
SPLIT = X.view(3, 2, 5)
VIEWS = {
    "as it is": torch.arange(30).view(3, 10),
    "view": SPLIT.clone(),
    "transpose": SPLIT.clone().transpose(0, 1),
    "contiguous": SPLIT.transpose(0, 1).contiguous(),
    "all turned": SPLIT.clone().permute(2, 1, 0),
}


def thick_arrows(drawing: Drawing) -> int:
    return sum(a.get_linewidth() > 1 for a in drawing.figure.findobj(FancyArrowPatch))


def numbers(drawing: Drawing) -> list[int]:
    texts = (text.get_text() for text in drawing.figure.findobj(Text))
    return [int(text) for text in texts if text.isdigit()]


class TestReadingOrder:
    @pytest.mark.parametrize("name", VIEWS)
    def test_it_leaps_where_the_numbers_do_not_lie_side_by_side(self, name: str) -> None:
        tensor: Tensor = VIEWS[name]
        drawing = figures.draw_reading_order({name: tensor}, embed_dim=10, num_heads=2)
        memory = torch.empty(0, dtype=torch.long).set_(tensor.untyped_storage()).tolist()
        read = tensor.flatten().tolist()
        leaps = sum(memory.index(b) != memory.index(a) + 1 for a, b in pairwise(read))
        assert numbers(drawing) == memory
        assert thick_arrows(drawing) == leaps
        assert ("without a leap" in drawing.alt) == tensor.is_contiguous()

    def test_a_part_of_a_longer_row(self) -> None:
        second = torch.arange(8).view(2, 4)[1]
        drawing = figures.draw_reading_order({"x": second}, embed_dim=4, num_heads=2)
        assert numbers(drawing) == list(range(8))
        assert "without a leap" in drawing.alt

    def test_refused(self) -> None:
        with pytest.raises(
            ValueError, match="embed_dim must be divisible by num_heads, got 4 and 3"
        ):
            figures.draw_reading_order({"x": torch.arange(4)}, embed_dim=4, num_heads=3)
        with pytest.raises(ValueError, match="the number of tensors must be at least 1, got 0"):
            figures.draw_reading_order({}, embed_dim=4, num_heads=2)


class TestShapes:
    def test_names_and_sizes_are_written(self) -> None:
        drawing = figures.draw_shapes([("split", torch.ones(2, 3, 5, 7), "b h n d_k", "heads")])
        texts = {text.get_text() for text in drawing.figure.findobj(Text)}
        assert {"split", "(b, h, n, d_k)", "(2, 3, 5, 7)"} <= texts
        assert drawing.alt.endswith("split: (b, h, n, d_k), here (2, 3, 5, 7).")

    def test_a_name_has_one_size(self) -> None:
        steps = [("x", torch.ones(2, 3), "n d", "input"), ("y", torch.ones(5, 3), "n d", "key")]
        with pytest.raises(ValueError, match="n is 2 at first, but 5 after 'y'"):
            figures.draw_shapes(steps)

    def test_each_dimension_has_a_name(self) -> None:
        with pytest.raises(ValueError, match="x has 2 dimensions, but 3 names: 'b n d'"):
            figures.draw_shapes([("x", torch.ones(2, 3), "b n d", "input")])

    def test_no_steps(self) -> None:
        with pytest.raises(ValueError, match="the number of steps must be at least 1, got 0"):
            figures.draw_shapes([])
