"""An overview shows a model as it computes."""

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
