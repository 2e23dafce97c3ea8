"""The induction lab runs the chapter's model in the page, and computes what the library computes."""

import re
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
import torch
from harness.library.models_in_pages import found_by, unpacked
from harness.paths import DOCS
from harness.reading.scripted_pages import percent, table_texts

import literate_attention as la
from executable_book.run import stored_prints

pytestmark = pytest.mark.browser

WORD, LAYERS = "journeyjou", ("First", "Second")


@pytest.fixture
def page(open_figure):
    return open_figure("induction_lab")


@pytest.fixture(scope="module")
def numbers(figures_site):
    """Return what the build has written for the page."""
    found: dict[str, Any] = stored_prints.stored(figures_site, "induction_lab")["printed"]
    return found


def model_at(numbers, moment):
    """Return the library's model with the weights that the page has, unpacked here by other means."""
    model = la.attention_only_model(26, 32, num_layers=2)
    model.load_state_dict(unpacked(numbers["checkpoints"][moment], numbers["shapes"], torch.int16))
    return model


@contextmanager
def wires_cut(model, parts):
    """Make parts of the second layer of what there is without the first head."""
    with ExitStack() as cut:
        for part in parts:
            cut.enter_context(la.path_patch(model, {(0, 0): [(1, 0)]}, part=part))
        yield


# What is computed -------------------------------------------------------------------------------------


def test_the_training_is_the_chapters(numbers) -> None:
    """The curve goes through what the chapter prints of its training."""
    course = numbers["course"]
    line = r"^ +(\d+) +[\d.]+ +([\d.]+) +([\d.]+) +([\d.]+)$"
    recorded = (DOCS / "recorded" / "learned" / "induction.txt").read_text(encoding="utf-8")
    printed = re.findall(line, recorded, re.MULTILINE)
    assert len(printed) == 7
    for step, *rest in printed:
        at = course["steps"].index(int(step))
        assert [f"{course[name][at]:.2f}" for name in ("copies", "previous", "induction")] == rest


def test_what_is_said_of_a_checkpoint_is_measured(numbers) -> None:
    rows = la.repeated_blocks(64, 32, 26, 16, 16, torch.Generator().manual_seed(7))
    for moment, checkpoint in enumerate(numbers["checkpoints"]):
        model = model_at(numbers, moment)
        with torch.no_grad():
            first, second = la.attention_maps(model, rows)[:, :, 0].unbind(1)
        own = first.diagonal(dim1=-2, dim2=-1)[:, 1:].mean().item()
        previous = first.diagonal(-1, dim1=-2, dim2=-1).mean().item()
        behind = second.diagonal(-15, dim1=-2, dim2=-1)[:, 1:].mean().item()  # blocks of 16
        found = {"own": own, "previous": previous, "induction": behind}
        assert {name: checkpoint[name] for name in found} == pytest.approx(found, abs=0.01)


# A reader types, switches, steps ----------------------------------------------------------------------


def bars(page):
    rows = table_texts(page.locator(".lp-bars"), "tbody tr", "th, td")
    return {letter: rest[-1] for letter, *rest in rows[:5]}


def assert_shows(page, model, text, silent=(), cut=()) -> None:
    """The bars and both maps are those of the library's model."""
    tokens = torch.tensor([ord(letter) - ord("a") for letter in text])
    with wires_cut(model, cut):
        maps, following = found_by(model, tokens, [(layer, 0) for layer in silent])
    best = following[-1].sort(descending=True)
    assert bars(page) == {
        chr(ord("a") + token): percent(share)
        for share, token in zip(best.values[:5].tolist(), best.indices[:5].tolist(), strict=True)
    }
    for layer, name in enumerate(LAYERS):
        cells = page.get_by_role("grid", name=f"{name} layer").locator("tbody td")
        shades = cells.evaluate_all("all => all.map(c => +c.style.getPropertyValue('--lp-heat'))")
        shown = torch.tensor(shades).double().reshape(len(text), len(text))
        torch.testing.assert_close(shown, maps[layer, 0], rtol=0, atol=0.000501)


def test_a_keyboard_types_writes_and_switches_heads_off(page, numbers) -> None:
    """The trained model copies; without either head it does not."""
    model = model_at(numbers, -1)
    assert_shows(page, model, WORD)
    page.get_by_label("The model reads").focus()
    page.keyboard.press("End")
    page.keyboard.type("R-!n")  # only letters are kept
    assert_shows(page, model, "journeyjourn")
    page.keyboard.press("Tab")
    for _ in range(2):
        page.keyboard.press("Enter")
    assert page.get_by_label("The model reads").input_value() == "journeyjourney"
    for _ in range(4):  # past the examples, and the way back to the beginning
        page.keyboard.press("Tab")
    for layer in range(2):
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        assert_shows(page, model, "journeyjourney", (layer,))
        assert next(iter(bars(page))) != "j"
        copies = numbers["checkpoints"][-1]["copies"][str(layer)]
        assert percent(copies) in page.locator(".lp-answer").inner_text()
        assert page.locator(".lp-right th").inner_text() == "j"  # beside the five, if it is not one
        page.keyboard.press("Space")
    assert_shows(page, model, "journeyjourney")


def test_a_keyboard_cuts_wires(page, numbers) -> None:
    """Only the keys need what the first head writes, as in the drawing of the chapter."""
    model, found = model_at(numbers, -1), numbers["checkpoints"][-1]
    group = page.get_by_role("group", name="Wires from the head of the first layer to the second")
    page.get_by_role("switch", name="Head of the second layer").focus()
    for part in ("query", "key", "value"):
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        assert_shows(page, model, WORD, cut=(part,))
        assert percent(found["cut"][part]) in page.locator(".lp-answer").inner_text()
        page.keyboard.press("Space")
    for name in ("queries", "values"):
        group.get_by_role("switch", name=name).press("Space")
    assert_shows(page, model, WORD, cut=("query", "value"))
    page.get_by_role("switch", name="Head of the first layer").press("Space")
    assert_shows(page, model, WORD, silent=(0,))  # it has written nothing that could be hidden
    page.get_by_role("button", name="Start again").press("Enter")
    assert_shows(page, model, WORD)
