"""An overview shows a model as it computes."""

import torch
from matplotlib.patches import FancyArrowPatch

from literate_attention import TOY_TOKENS, figures


def test_in_attention_each_token_gathers_from_itself_and_those_before_it() -> None:
    drawing = figures.draw_gpt(TOY_TOKENS[:-1], TOY_TOKENS[-1], num_layers=12)
    ends = [
        arrow._posA_posB
        for arrow in drawing.figure.findobj(FancyArrowPatch)
        if arrow.get_label() == "gathers"
    ]
    columns = sorted({start[0] for start, _ in ends})
    nearest = [min(range(5), key=lambda place: abs(columns[place] - end[0])) for _, end in ends]
    pairs = {(to, columns.index(start[0])) for to, (start, _) in zip(nearest, ends, strict=True)}
    assert pairs == {(to, origin) for to in range(5) for origin in range(to + 1)}


def test_arrows_of_two_heads_to_the_same_word_do_not_lie_on_each_other() -> None:
    """In the ladder, the second head's arrow begins, runs and ends inside the first one's."""
    both = torch.full((2, 3, 3), 1 / 3)
    one = torch.zeros(3, 3)
    drawing = figures.draw_ladder([("Who?", "one small step", [2], {"one": one, "two": both})])
    arrows = drawing.figure.findobj(FancyArrowPatch)
    paths = [arrow.get_path().get_extents() for arrow in arrows]
    for first, second in zip(paths[:2], paths[3:5], strict=True):
        assert first.x0 < second.x0 - 3
        assert second.x1 < first.x1 - 3
        assert second.height < first.height - 3
