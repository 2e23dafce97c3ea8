"""Notes stand beside the letter that they are about, and outlines where a head of a kind looks."""

import pytest
import torch
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from literate_attention import (
    figures,
    head_scores,
    induction_targets,
    previous_token_targets,
)
from literate_attention.figures import Drawing

TOKENS = list("abcabca")
MAPS = torch.softmax(torch.arange(98.0).reshape(2, 7, 7) % 11, dim=-1)


def arrows(drawing: Drawing, name: str) -> list[str]:
    found = [str(arrow.get_label()) for arrow in drawing.figure.findobj(FancyArrowPatch)]
    return [label for label in found if label.startswith(name)]


def test_each_token_but_the_first_gets_a_note_and_the_last_finds_all_copies() -> None:
    drawing = figures.draw_induction(TOKENS)
    assert arrows(drawing, "note") == [f"note{place}" for place in range(1, 7)]
    assert arrows(drawing, "found") == ["found1", "found4"]
    assert "finds it at place 2, beside 'b' and 5, beside 'b'. So 'b' comes next." in drawing.alt


def test_a_new_last_token_is_refused() -> None:
    with pytest.raises(ValueError, match="must have been there before, but 'd' is new"):
        figures.draw_induction(list("abcd"))


@pytest.mark.parametrize("num_tokens", [0, 15])
def test_a_row_of_no_token_or_too_many_is_refused(num_tokens: int) -> None:
    with pytest.raises(ValueError, match=f"tokens must be 1 to 14, got {num_tokens}"):
        figures.draw_induction(["a"] * num_tokens)


def test_growing_maps_tell_the_scores_that_the_library_computes() -> None:
    token_ids = torch.tensor([ord(token) for token in TOKENS])
    maps = MAPS[:, None]
    previous = head_scores(maps, previous_token_targets(7))[0, 0].item()
    induction = head_scores(maps, induction_targets(token_ids))[1, 0].item()
    drawing = figures.draw_growing_maps({"step 5": MAPS}, TOKENS)
    assert f"at step 5: layer 1 {previous:.2f}, layer 2 {induction:.2f} of" in drawing.alt


def test_outlines_are_as_many_as_places_where_such_heads_look() -> None:
    drawing = figures.draw_growing_maps({"step 5": MAPS}, TOKENS)
    boxes = [box for box in drawing.figure.findobj(FancyBboxPatch) if box.get_zorder() == 4]
    wanted = induction_targets(torch.tensor([ord(token) for token in TOKENS])).sum().item()
    assert len(boxes) == 6 + wanted


def test_no_maps_and_maps_of_another_size_are_refused() -> None:
    with pytest.raises(ValueError, match="the number of moments must be at least 1, got 0"):
        figures.draw_growing_maps({}, TOKENS)
    with pytest.raises(ValueError, match=r"later must have shape \(2, 7, 7\), got \(2, 6, 7\)"):
        figures.draw_growing_maps({"now": MAPS, "later": MAPS[:, :6]}, TOKENS)
    with pytest.raises(ValueError, match="tokens must name 7 tokens, got 2 labels"):
        figures.draw_growing_maps({"now": MAPS}, ["a", "b"])
