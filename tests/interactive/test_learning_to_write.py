"""The model that writes runs in the page, and computes what the library computes; so does its world."""

from typing import Any

import pytest
import torch
from harness.library.models_in_pages import unpacked
from harness.reading.scripted_pages import percent, table_texts

import literate_attention as la
from executable_book.run import stored_prints

pytestmark = pytest.mark.browser

WORLD = la.World()


@pytest.fixture
def page(open_figure):
    return open_figure("learning_to_write")


@pytest.fixture(scope="module")
def numbers(figures_site):
    """Return what the build has written for the page."""
    found: dict[str, Any] = stored_prints.stored(figures_site, "learning_to_write")["printed"]
    return found


def model_at(numbers, moment):
    """Return the library's model with the weights that the page has."""
    model = la.tiny_llama(len(WORLD.words))
    model.load_state_dict(unpacked(numbers["checkpoints"][moment], numbers["shapes"], torch.int8))
    return model


@torch.no_grad()
def expected(numbers, text, moment=-1):
    """Return how probable each word is after a text, for the library's model."""
    return model_at(numbers, moment)(WORLD.token_ids(text)).softmax(dim=-1)[-1]


def in_world(text):
    return WORLD.next_word(WORLD.token_ids(text)[None])[0]


# What is computed -------------------------------------------------------------------------------------


def test_what_is_shown_of_a_checkpoint_is_the_librarys(numbers) -> None:
    """And eight bits change the loss by less than is printed of it."""
    fresh = WORLD.draw(300, 36, torch.Generator().manual_seed(123))
    floor = la.entropy(WORLD.next_word_probs(fresh)).mean().item()
    assert numbers["floor"] == pytest.approx(floor)
    assert [checkpoint["step"] for checkpoint in numbers["checkpoints"]] == [50, 200, 1200]
    for moment, checkpoint in enumerate(numbers["checkpoints"]):
        model = model_at(numbers, moment)
        found = la.take_snapshot(model, checkpoint["step"], WORLD, fresh)
        assert checkpoint["loss"] == pytest.approx(found.loss, abs=0.005)
        assert checkpoint["excess"] == pytest.approx(found.excess, abs=0.02)


def test_the_world_says_what_the_librarys_says(page, numbers) -> None:
    """After every word of texts; and where a word is changed, from where on it says nothing more."""
    generator = torch.Generator().manual_seed(5)
    texts = WORLD.draw(60, 36, generator)
    rows, places = torch.arange(30), torch.randint(36, (30,), generator=generator)
    texts[rows, places] = torch.randint(len(WORLD.words), (30,), generator=generator)
    got = page.evaluate(
        """texts => texts.map(ids => ids.slice(1).map((_, n) => literateParts.littleWorld.next(
            literateParts.numbers.learning_to_write.world, ids.slice(0, n + 1))))""",
        texts.tolist(),
    )
    chances = WORLD.next_word_probs(texts)
    said = chances.gather(-1, texts[:, 1:, None])[..., 0]
    broken = 0
    for ids, wanted, shares, found in zip(texts, chances, said, got, strict=True):
        possible = [bool(ids[0] == 0), *(shares > 0).tolist()]
        for n, one in enumerate(found):
            if all(possible[: n + 1]):
                torch.testing.assert_close(torch.tensor(one["shares"]).double(), wanted[n])
            else:
                broken += 1
                assert one == {"broken": possible.index(False)}
    assert 100 < broken < 1000


# A reader writes and changes ---------------------------------------------------------------------------


def words_of(page):
    return " ".join(page.locator(".lw-text span").all_inner_texts())


def assert_shows(page, text, *columns) -> None:
    """The text, and for its next word the probabilities of the model and in the world."""
    assert words_of(page) == text
    rows = table_texts(page.locator(".lw-bars"), "tbody tr", "th, td:not([aria-hidden])")
    shown = {word: shares for word, *shares in rows}
    assert len(shown) == 8
    most = torch.stack(columns).amax(dim=0).sort(descending=True, stable=True)
    for word, shares in shown.items():
        place = WORLD.words.index(word)
        assert shares == [percent(column[place].item()) for column in columns]
    least = min(max(column[WORLD.words.index(word)] for column in columns) for word in shown)
    assert least >= most.values[8] - 1e-9


def test_a_keyboard_writes_and_takes_back(page, numbers) -> None:
    """At temperature 0 it says the most probable word; Undo goes back, as far as one came."""
    first = text = numbers["starts"][0]["text"]
    assert_shows(page, text, expected(numbers, text), in_world(text))
    page.get_by_label("Temperature").press("Home")
    page.get_by_role("button", name="Say the next word").focus()
    for _ in range(3):
        text = f"{text} {WORLD.words[expected(numbers, text).argmax()]}"
        page.keyboard.press("Enter")
        assert words_of(page) == text
    undo = page.get_by_role("button", name="Undo")
    for _ in range(4):
        undo.press("Enter")
    assert words_of(page) == first
    assert undo.get_attribute("aria-disabled") == "true"


def test_a_fact_that_is_changed_changes_what_follows(page, numbers) -> None:
    """And a text that the world does not say is told from one that it does."""
    start = numbers["starts"][0]
    words = start["text"].split()
    assert page.get_by_label("Change word").input_value() == str(start["change"])
    page.get_by_label("to", exact=True).select_option("pink")
    words[start["change"]] = "pink"
    text = " ".join(words)
    assert_shows(page, text, expected(numbers, text), in_world(text))
    page.get_by_label("to", exact=True).select_option(".")
    rows = table_texts(page.locator(".lw-bars"), "tbody tr", "td")
    assert {row[-1] for row in rows} == {"\u2013"}
