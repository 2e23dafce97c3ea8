"""The head browser shows the library's maps of the real model, and opens the head with the highest score."""

from functools import cache

import pytest
import torch
from harness.reading.scripted_pages import percent, press_in_place, table_texts

import literate_attention as la
from interactive.head_browser_numbers import NAMES, SENTENCE

pytestmark = pytest.mark.browser

NUM_HEADS = 9
smollm2 = cache(la.load_smollm2)

ONCE, TWICE = 6, 13
"""How many words the sentences have: the second says the first twice, with a full stop between."""


@pytest.fixture
def page(open_figure):
    return open_figure("head_browser")


@pytest.fixture(scope="module")
def tokens():
    """Return both sentences."""
    encode = smollm2()[1].encode
    once = encode(SENTENCE)
    return torch.tensor(once), torch.tensor([*once, *encode("."), *once])


@pytest.fixture(scope="module")
def maps(tokens):
    """Return what all heads look at in both sentences, head by head, by how long they are."""
    model, _ = smollm2()
    return {len(ids): la.attention_maps(model, ids).flatten(0, 1) for ids in tokens}


def opened_map(page):
    """Return the weights that the opened head shows; what is hidden is zero."""
    texts = table_texts(page.get_by_role("grid", name="Weights"), "tbody tr", "td")
    return torch.tensor([[float(text or 0) / 100 for text in row] for row in texts])


def opened_head(page):
    """Return the number of the opened head, as the page names it."""
    _, layer, _, head = page.locator(".lp-title").inner_text().replace(",", "").split()
    return int(layer) * NUM_HEADS + int(head)


def test_all_maps_are_the_librarys(page, maps) -> None:
    got = page.evaluate(
        """() => literateParts.numbers.head_browser.sentences.map(literateParts.heads.unpack)
            .map(({ count, map, words }) => ({ words, maps: [...Array(count).keys()].map(map) }))"""
    )
    assert [len(sentence["words"]) for sentence in got] == [ONCE, TWICE]
    for sentence in got:
        found = torch.tensor(
            [[[weight or 0.0 for weight in row] for row in one] for one in sentence["maps"]]
        )
        expected = maps[len(sentence["words"])]
        torch.testing.assert_close(found, expected, rtol=0, atol=0.005001)


@pytest.fixture(scope="module")
def without(tokens):
    """Return how probable each next word is with all heads, and without some: named ones and random ones."""
    model, _ = smollm2()
    _, ids = tokens
    generator = torch.Generator().manual_seed(5)
    chosen = torch.randperm(30 * NUM_HEADS, generator=generator)[:9].tolist()
    found = {}
    with torch.no_grad():
        whole = model(ids).softmax(dim=-1)
        for head in (16 * NUM_HEADS, 18 * NUM_HEADS + 8, 18 * NUM_HEADS + 6, 0, 269, *chosen):
            with la.ablate_heads(model, [divmod(head, NUM_HEADS)]):
                found[head] = whole, model(ids).softmax(dim=-1)
    return found


def most_changed(whole, left, sign):
    """Return the five words that change most this way, each with its probability with and without a head."""
    _, tokenizer = smollm2()
    changes = (sign * (left - whole)).sort(descending=True, stable=True)
    told = changes.indices[:5][changes.values[:5] >= 0.005].tolist()
    return [
        (
            NAMES.get(name := tokenizer.decode([token]), name.strip()),
            whole[token].item(),
            left[token].item(),
        )
        for token in told
    ]


def test_all_consequences_are_the_librarys(page, without) -> None:
    """The library's ablation finds the same words, behind each word of both sentences."""
    got = page.evaluate(
        """heads => literateParts.numbers.head_browser.consequences.map(one =>
            heads.map(head => literateParts.heads.consequence(one, head)))""",
        list(without),
    )
    assert len(got) == TWICE
    count = 0
    for place, heads in enumerate(got):
        for found, (whole, left) in zip(heads, without.values(), strict=True):
            for sign, kind in ((-1, "less"), (1, "more")):
                expected = most_changed(whole[place], left[place], sign)
                shown = found[kind]
                assert len(shown) == len(expected)
                for one, (word, before, after) in zip(shown, expected, strict=True):
                    assert one["word"] == word
                    shares = pytest.approx([before, after], abs=0.000501)
                    assert [one["before"], one["after"]] == shares
                count += len(expected)
    assert count > 100


def test_heads_and_words_are_chosen_by_keyboard(page, maps) -> None:
    targets = la.previous_token_targets(ONCE)
    scores = la.head_scores(maps[ONCE][None], targets).flatten()
    order = scores.sort(descending=True, stable=True).indices.tolist()
    page.get_by_label("Head", exact=True).focus()
    page.keyboard.press("Tab")
    across = page.get_by_role("listbox", name="270 heads").evaluate(
        "list => getComputedStyle(list).gridTemplateColumns.split(' ').length"
    )
    places = {"ArrowRight": 1, "ArrowDown": 1 + across, "ArrowUp": 1, "ArrowLeft": 0}
    for key, place in places.items():
        page.keyboard.press(key)
        assert opened_head(page) == order[place], key
    page.keyboard.press("ArrowRight")
    expected = maps[ONCE][order[1]]
    torch.testing.assert_close(opened_map(page), expected, rtol=0, atol=0.005001)
    press_in_place(page, "Space")
    assert opened_head(page) == order[1]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.value") == "5"  # the last word is chosen
    page.keyboard.press("ArrowLeft")
    assert percent(expected[4, 3].item()) in page.locator(".lp-said").inner_text()
    page.keyboard.press("Tab")
    page.keyboard.press("Control+End")
    press_in_place(page, "Space")
    assert percent(expected[5, 5].item()) in page.locator(".lp-said").inner_text()
