"""The induction lab runs the chapter's model in the page, and computes what the library computes."""

import base64
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from harness.places import DOCS
from torch import Tensor

import literate_attention as la
from interactive.induction_lab_numbers import LARGEST, packed

pytestmark = pytest.mark.browser

WORD = "journeyjou"


@pytest.fixture(scope="module")
def numbers(figures_site: Path) -> dict[str, Any]:
    """Return what the build has written for the page."""
    stored = figures_site.parent / "live_figures" / "induction_lab.json"
    found: dict[str, Any] = json.loads(stored.read_text(encoding="utf-8"))["numbers"]
    return found


def new_model() -> Any:
    return la.attention_only_model(26, 32, num_layers=2).double()


def model_at(numbers: dict[str, Any], moment: int) -> Any:
    """Return the library's model with the weights that the page has, unpacked here by other means."""
    checkpoint = numbers["checkpoints"][moment]
    whole = torch.frombuffer(bytearray(base64.b64decode(checkpoint["weights"])), dtype=torch.int16)
    sizes = [torch.Size(shape).numel() for shape in numbers["shapes"].values()]
    parts = zip(numbers["shapes"].items(), whole.double().split(sizes), strict=True)
    model = new_model()
    model.load_state_dict(
        {name: part.reshape(shape) * checkpoint["scales"][name] for (name, shape), part in parts}
    )
    return model


def tokens_of(text: str) -> Tensor:
    return torch.tensor([ord(letter) - ord("a") for letter in text])


@torch.no_grad()
def expected(model: Any, tokens: Tensor, silent: tuple[int, ...] = ()) -> tuple[Tensor, Tensor]:
    """Return the maps of both layers, and how probable each next token is."""
    with la.ablate_heads(model, [(layer, 0) for layer in silent]):
        return la.attention_maps(model, tokens)[:, 0], model(tokens).softmax(dim=-1)


# What is computed -------------------------------------------------------------------------------------


def test_script_equals_library_on_random_settings(open_figure: Callable[..., Any]) -> None:
    """The JavaScript equals the library to 1e-5: with random weights, texts, and heads switched off."""
    page = open_figure("induction_lab")
    torch.manual_seed(2017)
    for number in range(24):
        model = new_model()
        for weight in model.parameters():  # much larger than at the beginning of a training
            torch.nn.init.normal_(weight, std=(0.1, 0.4, 1.0)[number % 3])
        tokens = torch.randint(26, (1 + number % 16,))
        silent = [(), (0,), (1,), (0, 1)][number % 4]
        weights = {name: weight.tolist() for name, weight in model.state_dict().items()}
        got = page.evaluate(
            "([weights, tokens, silent]) => literateParts.induction.read(weights, tokens, silent)",
            [weights, tokens.tolist(), list(silent)],
        )
        maps, following = expected(model, tokens, silent)
        padded = [[row + [0.0] * (len(tokens) - len(row)) for row in one] for one in got["maps"]]
        torch.testing.assert_close(torch.tensor(padded).double(), maps, rtol=0, atol=1e-5)
        torch.testing.assert_close(torch.tensor(got["next"]).double(), following, rtol=0, atol=1e-5)


def test_weights_survive_their_packing(
    open_figure: Callable[..., Any], numbers: dict[str, Any]
) -> None:
    page = open_figure("induction_lab")
    page.wait_for_function("literateParts.numbers.induction_lab")
    got = page.evaluate(
        """() => { const { checkpoints, shapes } = literateParts.numbers.induction_lab;
                   return checkpoints.map((one) => literateParts.induction.unpack(one, shapes)); }"""
    )
    assert len(got) == len(numbers["checkpoints"])
    for moment, weights in enumerate(got):
        for name, weight in model_at(numbers, moment).state_dict().items():
            torch.testing.assert_close(torch.tensor(weights[name]).double(), weight)
    weights = {"a": torch.randn(3, 2).double(), "b": torch.randn(5).double()}
    there = packed(weights)
    back = page.evaluate("one => literateParts.induction.unpack(one, { a: [3, 2], b: [5] })", there)
    for name, weight in weights.items():
        unit = weight.abs().max().item() / LARGEST
        torch.testing.assert_close(
            torch.tensor(back[name]).double(), weight, rtol=0, atol=0.501 * unit
        )


def test_the_model_is_the_chapters(numbers: dict[str, Any]) -> None:
    """What the chapter prints of its training is what the lab says, and the weights still do it."""
    recorded = (DOCS / "recorded" / "learned" / "induction.txt").read_text(encoding="utf-8")
    line = r"^ +(\d+) +[\d.]+ +([\d.]+) +([\d.]+) +([\d.]+)$"
    printed = {int(step): rest for step, *rest in re.findall(line, recorded, re.MULTILINE)}
    rows = la.repeated_blocks(64, 32, 26, 16, 16, torch.Generator().manual_seed(7))
    compared = 0
    for moment, checkpoint in enumerate(numbers["checkpoints"]):
        names = ("copies", "previous", "induction")
        if checkpoint["step"] in printed:
            said = [f"{checkpoint[name]:.2f}" for name in names]
            assert said == printed[checkpoint["step"]]
            compared += 1
        accuracy = la.copy_accuracy(model_at(numbers, moment), rows)
        assert abs(accuracy - checkpoint["copies"]) < 0.1  # of other rows
    assert compared >= 2


def test_the_weights_are_light(figures_site: Path) -> None:
    """Under 150 kB over the wire, all checkpoints together."""
    script = figures_site / "_static" / "induction_lab" / "induction_lab_numbers.js"
    assert len(gzip.compress(script.read_bytes(), 6)) < 150_000


# A reader types, switches, steps ----------------------------------------------------------------------


def bars(page: Any) -> dict[str, str]:
    rows = page.locator(".lp-bars tbody tr").all()
    return {row.locator("th").inner_text(): row.locator("td").last.inner_text() for row in rows}


def assert_shows(page: Any, model: Any, text: str, silent: tuple[int, ...] = ()) -> None:
    """The bars and both maps are those of the library's model."""
    maps, following = expected(model, tokens_of(text), silent)
    best = following[-1].sort(descending=True)
    assert bars(page) == {
        chr(ord("a") + token): f"{100 * share:.0f}\u00a0%"
        for share, token in zip(best.values[:5].tolist(), best.indices[:5].tolist(), strict=True)
    }
    for layer in range(2):
        cells = page.get_by_role("grid", name=f"Layer {layer + 1}").locator("tbody td")
        shades = cells.evaluate_all("all => all.map(c => +c.style.getPropertyValue('--lp-heat'))")
        shown = torch.tensor(shades).double().reshape(len(text), len(text))
        torch.testing.assert_close(shown, maps[layer], rtol=0, atol=0.000501)


def test_a_keyboard_types_writes_and_switches_heads_off(
    open_figure: Callable[..., Any], numbers: dict[str, Any]
) -> None:
    """The trained model copies; without either head it does not."""
    page = open_figure("induction_lab")
    model = model_at(numbers, -1)
    assert_shows(page, model, WORD)
    assert next(iter(bars(page))) == "r"
    page.get_by_label("The model reads").focus()
    page.keyboard.press("End")
    page.keyboard.type("R-!n")  # only letters are kept
    assert page.get_by_label("The model reads").input_value() == "journeyjourn"
    assert_shows(page, model, "journeyjourn")
    page.keyboard.press("Tab")
    for _ in range(2):
        page.keyboard.press("Enter")
    assert page.get_by_label("The model reads").input_value() == "journeyjourney"
    for layer in range(2):
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        assert_shows(page, model, "journeyjourney", (layer,))
        assert next(iter(bars(page))) != "j"
        page.keyboard.press("Space")
    assert_shows(page, model, "journeyjourney")
    assert next(iter(bars(page))) == "j"


def test_the_slider_goes_back_in_time(
    open_figure: Callable[..., Any], numbers: dict[str, Any]
) -> None:
    page = open_figure("induction_lab")
    page.get_by_role("slider", name="Moment of the training").focus()
    page.keyboard.press("Home")
    for moment, checkpoint in enumerate(numbers["checkpoints"]):
        assert_shows(page, model_at(numbers, moment), WORD)
        said = page.get_by_role("status").first.inner_text()
        copies = f"{100 * checkpoint['copies']:.0f}\u00a0%"
        assert said.startswith(f"After {checkpoint['step']} steps of training it copies {copies}")
        page.keyboard.press("ArrowRight")
    with pytest.raises(AssertionError):  # weights of another moment would be noticed
        assert_shows(page, model_at(numbers, 0), WORD)


def test_a_cell_says_where_a_letter_looks(
    open_figure: Callable[..., Any], numbers: dict[str, Any]
) -> None:
    page = open_figure("induction_lab")
    page.get_by_role("grid", name="Layer 2").locator("td[tabindex='0']").focus()
    page.keyboard.press("Control+End")
    page.keyboard.press("ArrowLeft")
    maps, _ = expected(model_at(numbers, -1), tokens_of(WORD))
    share = f"{100 * maps[1, -1, -2]:.0f}\u00a0%"
    said = page.locator(".lp-looking").inner_text()
    assert said == f"Layer 2: \u201cu\u201d (10) looks at \u201co\u201d (9) with {share}."


def test_nothing_to_read_is_no_error(open_figure: Callable[..., Any]) -> None:
    page = open_figure("induction_lab")
    page.get_by_label("The model reads").fill("")
    assert page.get_by_role("status").last.inner_text() == "Type a letter."
    page.get_by_role("button", name="Write the next letter").focus()
    page.keyboard.press("Enter")
    page.get_by_label("The model reads").fill("z")
    assert len(bars(page)) == 5
