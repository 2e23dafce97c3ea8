"""The head browser shows the library's maps of the real model, and opens the head with the highest score."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

import literate_attention as la
from interactive.head_browser_numbers import SENTENCE

pytestmark = pytest.mark.browser

NUM_HEADS = 9


@pytest.fixture(scope="module")
def library() -> SimpleNamespace:
    """Return what the library says of both sentences: maps and scores, head by head."""
    model, tokenizer = la.load_smollm2()
    once = torch.tensor(tokenizer.encode(SENTENCE))
    twice = once.repeat(2)
    maps = {len(ids): la.attention_maps(model, ids).flatten(0, 1) for ids in (once, twice)}
    targets = {
        (6, "previous token"): la.previous_token_targets(6),
        (6, "first token"): la.first_token_targets(6),
        (12, "previous token"): la.previous_token_targets(12),
        (12, "first token"): la.first_token_targets(12),
        (12, "induction"): la.induction_targets(twice),
    }
    scores = {
        (size, kind): la.head_scores(maps[size][None], one).flatten()
        for (size, kind), one in targets.items()
    }
    return SimpleNamespace(maps=maps, scores=scores)


def opened_map(page: Any) -> Tensor:
    """Return the weights that the opened head shows; what is hidden is zero."""
    rows = page.get_by_role("grid", name="Weights").locator("tbody tr").all()
    texts = [row.locator("td").all_inner_texts() for row in rows]
    return torch.tensor([[float(text or 0) / 100 for text in row] for row in texts])


def opened_head(page: Any) -> int:
    """Return the number of the opened head, as the page names it."""
    _, layer, _, head = page.locator(".lp-title").inner_text().replace(",", "").split()
    return int(layer) * NUM_HEADS + int(head)


def assert_opened(page: Any, maps: Tensor, head: int) -> None:
    """The page names this head and shows its map."""
    assert opened_head(page) == head
    torch.testing.assert_close(opened_map(page), maps[head], rtol=0, atol=0.005001)


def test_all_maps_and_scores_are_the_librarys(
    open_figure: Callable[..., Any], library: SimpleNamespace
) -> None:
    page = open_figure("head_browser")
    got = page.evaluate(
        """() => literateParts.numbers.head_browser.sentences.map(literateParts.heads.unpack)
            .map(({ count, map, scores, words }) => ({
                words, scores, maps: [...Array(count).keys()].map(map) }))"""
    )
    for sentence in got:
        size = len(sentence["words"])
        maps = torch.tensor(
            [[[weight or 0.0 for weight in row] for row in one] for one in sentence["maps"]]
        )
        torch.testing.assert_close(maps, library.maps[size], rtol=0, atol=0.005001)
        kinds = {kind for length, kind in library.scores if length == size}
        assert set(sentence["scores"]) == kinds
        for kind in kinds:
            scores = torch.tensor(sentence["scores"][kind])
            torch.testing.assert_close(scores, library.scores[size, kind])


def test_the_opened_head_is_the_one_with_the_highest_score(
    open_figure: Callable[..., Any], library: SimpleNamespace
) -> None:
    page = open_figure("head_browser")
    for size, kind, text in (
        (6, "previous token", "the token before"),
        (6, "first token", "the first token"),
        (12, "induction", "what followed an earlier copy"),
    ):
        page.get_by_label("Sentence").select_option(str(size // 6 - 1))
        page.get_by_label("Sorted by the weight on", exact=True).select_option(text)
        scores = library.scores[size, kind]
        best = int(scores.argmax())
        assert_opened(page, library.maps[size], best)
        if kind != "first token":  # of those, several show the same to a percent
            with pytest.raises(AssertionError):
                assert_opened(page, library.maps[size].roll(1, dims=0), best)
        labels = page.locator(".lp-heads [role=option]").evaluate_all(
            "options => options.map(one => Number(/(\\d+)\\s%/.exec(one.ariaLabel)[1]))"
        )
        ranked = (100 * scores).sort(descending=True).values
        torch.testing.assert_close(torch.tensor(labels).float(), ranked, rtol=0, atol=0.6)


def test_heads_and_words_are_chosen_by_keyboard(
    open_figure: Callable[..., Any], library: SimpleNamespace
) -> None:
    page = open_figure("head_browser")
    ranked = library.scores[6, "previous token"].sort(descending=True, stable=True).indices.tolist()
    page.get_by_label("Sorted by the weight on", exact=True).focus()
    page.keyboard.press("Tab")
    across = page.get_by_role("listbox", name="270 heads").evaluate(
        "list => getComputedStyle(list).gridTemplateColumns.split(' ').length"
    )
    for key, place in (
        ("ArrowRight", 1),
        ("ArrowDown", 1 + across),
        ("ArrowUp", 1),
        ("ArrowLeft", 0),
    ):
        page.keyboard.press(key)
        assert opened_head(page) == ranked[place], key
    page.keyboard.press("ArrowRight")
    assert_opened(page, library.maps[6], ranked[1])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.value") == "5"  # the last word is chosen
    page.keyboard.press("ArrowLeft")
    weights = library.maps[6][ranked[1], 4]
    said = page.get_by_role("status").inner_text()
    assert said.startswith("\u201cone\u201d looks at \u201cwith\u201d with ")
    assert f"with {100 * weights[3]:.0f}\u00a0%" in said
    page.keyboard.press("Tab")
    page.keyboard.press("Control+End")
    assert page.get_by_role("status").inner_text() == (
        f"\u201cstep\u201d looks at itself with {100 * library.maps[6][ranked[1], 5, 5]:.0f}\u00a0%."
    )


def test_a_word_that_is_pointed_at_shows_where_it_looks(
    open_figure: Callable[..., Any], library: SimpleNamespace
) -> None:
    page = open_figure("head_browser")
    weights = library.maps[6][opened_head(page)]
    for query in (2, 4):
        page.locator(".lp-word").nth(query).hover()
        shares = page.locator(".lp-share").all_inner_texts()
        expected = [f"{100 * weight:.0f}\u00a0%" for weight in weights[query, : query + 1]]
        assert shares == [*expected, *[""] * (5 - query)]
    page.mouse.move(0, 0)
    assert page.get_by_role("status").inner_text().startswith("\u201cstep\u201d")
