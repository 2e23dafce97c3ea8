"""The playground computes what the library computes, and can be used by everybody, everywhere."""

import copy
import functools
import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
import torch
from harness.browser import chromium
from harness.places import DOCS
from harness.playground_vectors import presets, vectors

import literate_attention as la
from interactive.playground import SCRIPTS

SRC = DOCS.parent / "src" / "literate_attention"
WIDTHS = {"phone": 360, "desk": 1280}
ALL_STEPS = "projections,scores,scaling,mask,softmax,dropout"

browser_test = pytest.mark.browser


def write_book(folder: Path) -> None:
    """Write a book of one page, with the settings that this page needs of the real one."""
    shutil.copytree(DOCS / "_static" / "playground", folder / "_static" / "playground")
    text = (DOCS / "playground.md").read_text(encoding="utf-8")
    text = text.partition("## Where to read on")[
        0
    ]  # its formulas and chapters are the whole book's
    (folder / "playground.md").write_text(text, encoding="utf-8")
    (folder / "index.md").write_text("# Book\n\n```{toctree}\nplayground\n```\n", encoding="utf-8")
    (folder / "conf.py").write_text(
        "extensions = ['myst_nb', 'interactive.playground']\n"
        "copyright, version = 'nobody', '1'\n"
        "html_theme = 'sphinx_book_theme'\n"
        "html_static_path = ['_static']\n"
        "html_context = {'default_mode': 'auto'}\n"
        "nb_execution_mode = 'off'\n"
        f"book_depends = [{str(SRC)!r}]\n"
        "book_cut_assets = book_archive = False\n"
        "suppress_warnings = ['book.descriptions', 'book.prose-numbers']\n",
        encoding="utf-8",
    )


def build(folder: Path, builder: str = "html") -> Path:
    out = folder / "_build" / builder
    command: list[str | Path] = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", builder]
    command += ["-d", folder / "_build" / f"doctrees-{builder}", folder, out]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return out


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built book of one page."""
    folder = tmp_path_factory.mktemp("playground") / "docs"
    write_book(folder)
    return build(folder)


@pytest.fixture(scope="module")
def numbers(site: Path) -> dict[str, Any]:
    """Return the library's numbers: what the build left, and what its script must equal."""
    built: dict[str, Any] = json.loads((site.parent / "playground.json").read_text())
    return {**built, "presets": presets(), "vectors": vectors()}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture
def open_page(site: Path, browser: Any) -> Iterator[Callable[..., Any]]:
    """Return a function that opens the page from its file, and watch for errors and foreign requests."""
    complaints: list[str] = []
    contexts = []

    def watch(message: Any) -> None:
        if message.type in {"error", "warning"}:
            complaints.append(f"{message.text} {message.location['url']}")

    def open_one(fragment: str = "", width: str = "desk", **options: Any) -> Any:
        context = browser.new_context(viewport={"width": WIDTHS[width], "height": 900}, **options)
        contexts.append(context)
        context.set_default_timeout(10_000)
        page = context.new_page()
        page.on("console", watch)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                request.url.startswith(("file:", "data:"))
                or complaints.append(f"asked for {request.url}")
            ),
        )
        page.goto(f"{(site / 'playground.html').as_uri()}#{fragment}")
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert complaints == []


def cell(page: Any, name: str) -> Any:
    return page.get_by_label(name, exact=True)


def grid(page: Any, caption: str) -> Any:
    return page.get_by_role("grid", name=caption)


def readings(table: Any) -> list[list[float]]:
    """Return the numbers that a table shows."""
    rows = table.locator("tbody tr").all()
    return [
        [float(text.replace("\u2212", "-")) for text in row.locator("td").all_inner_texts()]
        for row in rows
    ]


def assert_shows(table: Any, expected: list[list[float]], digits: int = 4) -> None:
    shown = torch.tensor(readings(table), dtype=torch.float64)
    wanted = torch.tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(shown, wanted, rtol=0.0, atol=0.5 * 10**-digits + 1e-9)


def texts(table: Any) -> list[str]:
    """Return what stands in the cells of a table, typed or printed."""
    cells = table.locator("tbody td, tbody input")
    return cells.evaluate_all("cells => cells.map(cell => cell.value ?? cell.textContent)")


def context_of(embeddings: list[list[float]]) -> list[list[float]]:
    x = torch.tensor(embeddings, dtype=torch.float64)
    return la.dot_product_attention(x).tolist()


def spoken(page: Any) -> Any:
    return page.locator(".pg-spoken")


# The extension --------------------------------------------------------------------------------------


def test_numbers_are_computed_when_the_library_or_the_script_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from interactive import playground

    library, script = tmp_path / "library.py", tmp_path / "script.py"
    library.write_text("", encoding="utf-8")
    config = SimpleNamespace(book_depends=[library])
    app: Any = SimpleNamespace(confdir=tmp_path, outdir=tmp_path / "html", config=config)
    monkeypatch.setattr(playground, "SCRIPT", script)
    stored = tmp_path / "playground.json"

    def computed(printed: str) -> dict[str, Any]:
        script.write_text(f"print({printed!r})", encoding="utf-8")
        playground.compute(app)
        return json.loads(stored.read_text(encoding="utf-8"))

    first = computed('{"number": 1}')
    assert first["number"] == 1
    stored.write_text(json.dumps({**first, "number": 7}), encoding="utf-8")
    assert computed('{"number": 1}')["number"] == 7  # neither has changed: nothing was computed
    library.write_text("# changed", encoding="utf-8")
    assert computed('{"number": 1}')["number"] == 1
    assert computed('{"number": 2}')["number"] == 2
    for damaged in ("", "{", "[]", "{}"):
        stored.write_text(damaged, encoding="utf-8")
        assert computed('{"number": 2}')["number"] == 2
    library.write_text("# broken", encoding="utf-8")
    script.write_text("raise ValueError('no numbers\\nfor you')", encoding="utf-8")
    for _ in range(2):
        playground.compute(app)
        problem = {"problem": "script.py failed: ValueError: no numbers"}
        assert json.loads(stored.read_text(encoding="utf-8")) == problem


def test_where_there_is_no_script_the_tables_stand(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    write_book(folder)
    out = build(folder, "epub")
    (page,) = (path for path in out.iterdir() if path.stem == "playground")
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert "Without it, here is what it starts from" in text
    assert "0.2379" in text
    assert "_static/playground/" not in text


def test_only_a_page_with_a_playground_loads_its_script(site: Path) -> None:
    assert "playground/page.js" in (site / "playground.html").read_text(encoding="utf-8")
    for page in ("index", "search", "genindex"):
        text = (site / f"{page}.html").read_text(encoding="utf-8")
        assert "_static/playground/" not in text


def test_vectors_cover_every_choice_of_steps_and_both_streams(numbers: dict[str, Any]) -> None:
    settings = [vector["settings"] for vector in numbers["vectors"]]
    assert len({tuple(one["steps"]) for one in settings}) == 2**7
    assert len(settings) >= 300
    drawn = [one["dropout"] for one in settings if {"scores", "dropout"} <= set(one["steps"])]
    assert {one["stream"] for one in drawn} == {"torch", "mkl"}
    assert {0, 123, 2**32 - 1} < {one["seed"] for one in drawn}


# Arithmetic -----------------------------------------------------------------------------------------


def differences(got: Any, expected: Any, where: str = "") -> Iterator[str]:
    """Yield where two results differ: in shape, in names, or in a number by more than rounding."""
    if isinstance(expected, dict):
        for name, value in expected.items():
            yield from differences(got.get(name), value, f"{where}.{name}")
    elif isinstance(expected, list):
        if not isinstance(got, list) or len(got) != len(expected):
            yield f"{where}: {got} is not as long as {expected}"
            return
        for index, value in enumerate(expected):
            yield from differences(got[index], value, f"{where}[{index}]")
    elif got is None or not (
        got == expected or math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-12)
    ):
        yield f"{where}: {got} instead of {expected}"


@browser_test
def test_script_equals_library(open_page: Callable[..., Any], numbers: dict[str, Any]) -> None:
    """What the page computes in JavaScript is proved against the library."""
    page = open_page()
    vectors = numbers["vectors"]
    results = page.evaluate(
        "every => every.map(literateAttention.attend)", [one["settings"] for one in vectors]
    )
    found = [
        f"{one['settings']}{difference}"
        for result, one in zip(results, vectors, strict=True)
        for difference in differences(result, one["expected"])
    ]
    assert found == []
    assert all(
        set(head["stages"]) == set(wanted["stages"])
        for result, one in zip(results, vectors, strict=True)
        for head, wanted in zip(result["heads"], one["expected"]["heads"], strict=True)
    )


@browser_test
@pytest.mark.parametrize("preset", ["simple", "projected", "causal", "heads"])
def test_examples_show_what_the_books_classes_return(
    open_page: Callable[..., Any], numbers: dict[str, Any], preset: str
) -> None:
    page = open_page()
    page.locator(f"button[value={preset}]").click()
    assert_shows(grid(page, "Z: context vectors"), numbers["presets"][preset])
    assert page.locator(f"button[value={preset}]").get_attribute("aria-pressed") == "true"
    assert page.locator("button[aria-pressed=true]").count() == 1


@browser_test
def test_dropout_is_the_books(open_page: Callable[..., Any], numbers: dict[str, Any]) -> None:
    page = open_page()
    page.get_by_role("button", name="Causal").click()
    page.get_by_role("switch", name="Dropout").check()
    assert_shows(grid(page, "Z: context vectors"), numbers["presets"]["causal with dropout"])
    page.get_by_label("stream").select_option("torch")
    torch.manual_seed(123)
    kept = la.dropout_mask(6, 6, p=0.5, stream="torch")
    shown = torch.tensor(readings(grid(page, "After dropout")))
    assert torch.equal(shown != 0.0, kept.tril())


# A reader types, presses keys, points ---------------------------------------------------------------


@browser_test
def test_context_vectors_follow_as_one_types(
    open_page: Callable[..., Any], numbers: dict[str, Any]
) -> None:
    page = open_page()
    embeddings = copy.deepcopy(numbers["beginning"]["embeddings"])
    assert_shows(grid(page, "Z: context vectors"), context_of(embeddings))
    field = cell(page, "X: embeddings: one, 2")
    field.click()
    for typed, number in (("-", 0.25), ("1", -1.0), (".", -1.0), ("5", -1.5)):
        page.keyboard.type(typed)
        embeddings[4][1] = number
        assert_shows(grid(page, "Z: context vectors"), context_of(embeddings))
    page.keyboard.press("PageDown")
    embeddings[4][1] = -1.6
    assert field.input_value() == "-1.6"
    assert_shows(grid(page, "Z: context vectors"), context_of(embeddings))
    page.get_by_role("slider").focus()
    page.keyboard.press("End")
    embeddings[4][1] = 2.0
    assert_shows(grid(page, "Z: context vectors"), context_of(embeddings))
    assert field.input_value() == "2"


@browser_test
def test_weights_of_projections_can_be_typed(open_page: Callable[..., Any]) -> None:
    page = open_page()
    page.get_by_role("button", name="Queries, keys, values").click()
    before = readings(grid(page, "Z: context vectors"))
    cell(page, "value weights: 1, 2").first.fill("0,5")  # a decimal comma is a decimal point
    after = readings(grid(page, "Z: context vectors"))
    assert [row[0] for row in after] == [row[0] for row in before]
    assert all(new[1] != old[1] for new, old in zip(after, before, strict=True))
    assert page.get_by_label("Projections of", exact=True).input_value() == "edited"


@browser_test
@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("abc", "\u201cabc\u201d is not a number; 0.25 was kept."),
        ("", "\u201c\u201d is not a number; 0.25 was kept."),
        ("1e9", "numbers must lie between \u2212100 and 100, not 1e9; 0.25 was kept."),
    ],
)
def test_what_is_no_number_is_refused_with_a_sentence(
    open_page: Callable[..., Any], typed: str, answer: str
) -> None:
    page = open_page()
    before = readings(grid(page, "Z: context vectors"))
    field = cell(page, "X: embeddings: one, 2")
    field.fill(typed)
    assert field.get_attribute("aria-invalid") == "true"
    field.blur()
    assert page.locator(".pg-notice p").inner_text() == answer
    assert field.input_value() == "0.25"
    assert field.get_attribute("aria-invalid") == "false"
    assert readings(grid(page, "Z: context vectors")) == before


@browser_test
@pytest.mark.parametrize(
    ("field", "typed", "answer"),
    [
        (
            "Dropout rate",
            "1",
            "the dropout rate must be at least 0 and below 1, not 1; 0.5 was kept.",
        ),
        (
            "seed",
            "-1",
            "the seed must be a whole number from 0 to 4294967295, not -1; 123 was kept.",
        ),
    ],
)
def test_dropout_settings_are_checked(
    open_page: Callable[..., Any], field: str, typed: str, answer: str
) -> None:
    page = open_page(f"attention=1&steps={ALL_STEPS}")
    page.get_by_label(field, exact=True).fill(typed)
    page.get_by_label(field, exact=True).press("Enter")
    assert page.locator(".pg-notice p").inner_text() == answer


@browser_test
def test_steps_are_switched_by_keyboard(open_page: Callable[..., Any]) -> None:
    page = open_page()
    formula = page.locator(".pg-formulas")
    assert "softmax" in formula.inner_text()
    page.get_by_role("switch", name="Softmax").focus()
    page.keyboard.press("Space")
    assert "softmax" not in formula.inner_text()
    page.get_by_role("switch", name="Scaling").focus()
    page.keyboard.press("Space")
    assert formula.locator("mfrac msqrt").text_content() == "3"
    assert page.get_by_role("switch", name="Two heads").is_disabled()
    page.get_by_role("switch", name="Projections").press("Space")
    assert formula.locator("mfrac msqrt").text_content() == "2"
    page.get_by_role("switch", name="Two heads").press("Space")
    assert len(readings(grid(page, "Z: context vectors"))[0]) == 4
    page.get_by_role("switch", name="Scores").press("Space")
    for step in ("Scaling", "Causal mask", "Softmax", "Dropout"):
        assert page.get_by_role("switch", name=step).is_disabled()
    assert readings(grid(page, "Head 1"))[0] == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]


@browser_test
def test_arrow_keys_move_in_a_matrix_and_tab_leaves_it(open_page: Callable[..., Any]) -> None:
    page = open_page()
    table = grid(page, "Attention weights")
    cells = table.locator("tbody td")
    cells.nth(0).focus()
    here = "document.activeElement"
    for key, row, column in (
        ("ArrowDown", 2, 1),
        ("ArrowRight", 2, 2),
        ("End", 2, 6),
        ("ArrowRight", 2, 6),
        ("ArrowUp", 1, 6),
        ("Control+End", 6, 6),
        ("Home", 6, 1),
        ("Control+Home", 1, 1),
        ("ArrowLeft", 1, 1),
        ("ArrowDown", 2, 1),
    ):
        page.keyboard.press(key)
        assert page.evaluate(f"[{here}.parentNode.rowIndex, {here}.cellIndex]") == [row, column], (
            key
        )
    assert table.locator("[tabindex='0']").count() == 1
    assert page.evaluate(f"getComputedStyle({here}).outlineStyle") == "solid"
    page.keyboard.press("Tab")
    assert page.evaluate(f"{here}.closest('table') === null")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(f"[{here}.parentNode.rowIndex, {here}.cellIndex]") == [2, 1]


@browser_test
def test_arrow_keys_leave_a_field_only_at_its_end(open_page: Callable[..., Any]) -> None:
    page = open_page()
    cell(page, "X: embeddings: with, 1").click()  # all of it is selected
    page.keyboard.press("ArrowRight")
    label = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(label) == "X: embeddings: with, 2"
    page.keyboard.type("12")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(label) == "X: embeddings: with, 2"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(label) == "X: embeddings: with, 3"
    page.keyboard.press("ArrowUp")
    assert page.evaluate(label) == "X: embeddings: starts, 3"


@browser_test
def test_a_weight_shows_the_vectors_and_products_that_made_it(
    open_page: Callable[..., Any],
) -> None:
    page = open_page()
    story = page.locator(".pg-story")
    weights = grid(page, "Attention weights").locator("tbody td")
    weights.nth(6 * 1 + 1).focus()
    assert "\u201cjourney\u201d looks at \u201cjourney\u201d: 0.2379" in story.inner_text()
    weights.nth(6 * 1 + 5).hover()
    assert "\u201cjourney\u201d looks at \u201cstep\u201d: 0.1581" in story.inner_text()
    score, softmax, passed = (readings_of(table) for table in story.locator("table").all())
    assert score == [
        ["1", "0.5500", "0.0500", "0.0275"],
        ["2", "0.8700", "0.8000", "0.6960"],
        ["3", "0.6600", "0.5500", "0.3630"],
        ["sum", "", "", "1.0865"],
    ]
    assert softmax[5] == ["step", "1.0865", f"{math.exp(1.0865 - 1.4950):.4f}", "0.1581"]
    assert passed[1] == ["2", "0.8000", "0.1265"]
    page.mouse.move(0, 0)
    assert "\u201cjourney\u201d looks at \u201cjourney\u201d: 0.2379" in story.inner_text()


def readings_of(table: Any) -> list[list[str]]:
    return [
        row.locator("th, td").all_inner_texts() for row in table.locator("tbody tr, tfoot tr").all()
    ]


@browser_test
def test_every_step_of_a_weight_is_told(open_page: Callable[..., Any]) -> None:
    page = open_page(f"attention=1&steps={ALL_STEPS},heads")
    grid(page, "Head 2").locator("tbody td").nth(6 * 3 + 5).focus()
    text = page.locator(".pg-story").inner_text()
    assert "\u201cwith\u201d looks at \u201cstep\u201d in head 2: 0.0000" in text
    assert "\u00f7 \u221a2 = " in text
    assert "\u201cstep\u201d comes after \u201cwith\u201d, so it is hidden: \u2212\u221e" in text
    assert re.search(r"Dropout: the number drawn is 0\.\d{4}", text)
    assert "head 2\u2019s part of the context vector of \u201cwith\u201d" in text


@browser_test
def test_a_context_vector_shows_its_sum(open_page: Callable[..., Any]) -> None:
    page = open_page()
    grid(page, "Z: context vectors").locator("tbody td").nth(3 * 1 + 1).focus()
    (table,) = page.locator(".pg-story table").all()
    lines = readings_of(table)
    assert lines[1] == ["journey", "0.2379", "0.8700", "0.2070"]
    assert lines[-1] == ["sum", "1.0000", "", "0.6515"]


@browser_test
def test_what_happens_is_spoken(open_page: Callable[..., Any]) -> None:
    page = open_page()
    assert spoken(page).get_attribute("role") == "status"
    grid(page, "Attention weights").locator("tbody td").nth(6 * 1 + 5).focus()
    page.wait_for_function("document.querySelector('.pg-spoken').textContent.includes('step')")
    assert spoken(page).inner_text().startswith("journey looks at step with weight 0.1581.")
    assert "0.5500 times 0.0500" in spoken(page).inner_text()
    page.get_by_role("switch", name="Scaling").press("Space")
    page.wait_for_function("document.querySelector('.pg-spoken').textContent.startsWith('Z')")
    assert "over root 3" in spoken(page).inner_text()
    cell(page, "X: embeddings: step, 1").fill("2")
    page.wait_for_function("document.querySelector('.pg-spoken').textContent.startsWith('step')")


@browser_test
def test_an_earlier_matrix_can_be_looked_at(open_page: Callable[..., Any]) -> None:
    page = open_page()
    page.get_by_role("button", name="Causal").click()
    page.get_by_role("radio", name="softmax").focus()
    page.keyboard.press("ArrowUp")
    masked = grid(page, "Masked scores")
    assert masked.locator("tbody td").nth(1).inner_text() == "\u2212\u221e"
    page.keyboard.press("ArrowUp")
    assert grid(page, "Scaled scores").locator("tbody td").nth(1).inner_text() != "\u2212\u221e"


# Links ----------------------------------------------------------------------------------------------


@browser_test
def test_a_state_travels_as_a_link(open_page: Callable[..., Any]) -> None:
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Two heads").click()
    page.get_by_role("switch", name="Dropout").check()
    page.get_by_label("Dropout rate").fill("0.2")
    page.get_by_label("seed", exact=True).fill("42")
    page.get_by_label("stream").select_option("torch")
    cell(page, "X: embeddings: one, 2").fill("-1.5")
    cell(page, "key weights: 2, 1").nth(1).fill("0.75")
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_function("document.querySelector('.pg-notice p').textContent !== ''")
    link = page.get_by_label("Link to these settings").input_value()
    assert page.evaluate("navigator.clipboard.readText()") == link
    assert page.url == link
    other = open_page(urlsplit(link).fragment)
    for caption in ("X: embeddings", "Head 1", "Head 2", "Z: context vectors"):
        assert texts(grid(other, caption)) == texts(grid(page, caption))
    assert cell(other, "key weights: 2, 1").nth(1).input_value() == "0.75"
    other.get_by_role("button", name="Reset").click()
    assert "#" not in other.url
    assert_shows(
        grid(other, "Z: context vectors"),
        la.dot_product_attention(la.toy_embeddings().double()).tolist(),
    )


@browser_test
def test_a_link_goes_with_the_settings_that_it_says(open_page: Callable[..., Any]) -> None:
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    notice, link = page.locator(".pg-notice p"), page.get_by_label("Link to these settings")
    page.get_by_role("switch", name="Dropout").check()
    page.get_by_role("button", name="Copy link").click()
    assert link.is_visible()
    page.wait_for_function("document.querySelector('.pg-notice p').textContent !== ''")
    page.get_by_role("button", name="Draw again").click()
    assert not link.is_visible()
    assert notice.inner_text() == ""


@browser_test
def test_a_link_that_is_opened_fills_the_field_that_one_was_in(
    open_page: Callable[..., Any],
) -> None:
    page = open_page()
    first = cell(page, "X: embeddings: Your, 1")
    first.focus()
    page.evaluate(f"location.hash = 'attention=1&x={','.join(['9'] * 18)}'")
    page.wait_for_function("document.querySelector('.pg-flow input').value === '9'")
    assert first.input_value() == "9"


@browser_test
def test_a_reason_is_never_longer_than_a_notice(open_page: Callable[..., Any]) -> None:
    page = open_page(STATES["endless"], "phone")
    assert len(page.locator(".pg-notice p").inner_text()) < 320
    box = page.get_by_role("button", name="Close").bounding_box()
    assert box["x"] + box["width"] <= WIDTHS["phone"]


@browser_test
def test_the_browsers_own_keys_are_left_to_it(open_page: Callable[..., Any]) -> None:
    page = open_page()
    weight = grid(page, "Attention weights").locator("tbody td").nth(2)
    weight.focus()
    for modifier, stays in (("", False), ("altKey: true", True), ("metaKey: true", True)):
        options = f"{{key: 'ArrowLeft', bubbles: true, cancelable: true, {modifier}}}"
        assert (
            weight.evaluate(f"one => one.dispatchEvent(new KeyboardEvent('keydown', {options}))")
            == stays
        )


@browser_test
def test_forced_colours_leave_the_switches_to_the_system(open_page: Callable[..., Any]) -> None:
    page = open_page(forced_colors="active")
    switch = page.get_by_role("switch", name="Dropout")
    assert switch.evaluate("one => getComputedStyle(one).appearance") == "auto"


@browser_test
def test_a_link_says_only_what_differs_from_the_start(open_page: Callable[..., Any]) -> None:
    page = open_page()
    page.get_by_role("button", name="Copy link").click()
    assert page.url.endswith("#attention=1")
    page.get_by_role("button", name="Two heads").click()
    page.get_by_role("button", name="Copy link").click()
    steps = "projections,scores,scaling,mask,softmax,heads"
    assert page.url.endswith(f"#attention=1&steps={steps}&weights=v2-123")


@browser_test
def test_every_state_survives_its_link(
    open_page: Callable[..., Any], numbers: dict[str, Any]
) -> None:
    page = open_page()
    settings = [one["settings"] for one in numbers["vectors"]]
    start = {**settings[0], "tables": numbers["beginning"]["weights"]}
    back = page.evaluate(
        "([settings, start]) => settings.map((one) => "
        "literateAttention.readLink(literateAttention.writeLink(one, start), start))",
        [settings, start],
    )
    assert back == settings


EIGHTEEN = ",".join(["1"] * 18)


@browser_test
@pytest.mark.parametrize(
    ("fragment", "reason"),
    [
        (
            "attention=2",
            "it was made by version \u201c2\u201d of the playground, and this is version 1",
        ),
        (
            "attention=",
            "it was made by version \u201c\u201d of the playground, and this is version 1",
        ),
        ("attention=1&colour=red", "it speaks of \u201ccolour\u201d, which is unknown here"),
        ("attention=1&steps=scores&steps=mask", "it says \u201csteps\u201d twice"),
        ("attention=1&steps=scores,magic", "there is no step \u201cmagic\u201d"),
        ("attention=1&x=1,2,3", "it has 3 numbers for the embeddings, not 18"),
        (f"attention=1&x={EIGHTEEN}e3", "numbers must lie between \u2212100 and 100, not 1e3"),
        ("attention=1&x=%3Cscript%3E", "\u201c<script>\u201d is not a number"),
        ("attention=1&weights=toString", "\u201ctoString\u201d is not a number"),
        ("attention=1&weights=1,2", "it has 2 numbers for the projections, not 36"),
        (
            "attention=1&dropout=0.5,123",
            "dropout must be a rate, a seed and a stream (torch or mkl), not \u201c0.5,123\u201d",
        ),
        (
            "attention=1&dropout=0.5,1,name",
            "dropout must be a rate, a seed and a stream (torch or mkl), not \u201c0.5,1,name\u201d",
        ),
        (
            "attention=1&dropout=1.5,123,mkl",
            "the dropout rate must be at least 0 and below 1, not 1.5",
        ),
        (
            "attention=1&dropout=0.5,99999999999,mkl",
            "the seed must be a whole number from 0 to 4294967295, not 99999999999",
        ),
    ],
)
def test_a_bad_link_is_refused_with_a_sentence(
    open_page: Callable[..., Any], numbers: dict[str, Any], fragment: str, reason: str
) -> None:
    page = open_page(fragment)
    assert page.locator(".pg-notice p").inner_text() == (
        f"This link cannot be opened: {reason}. Here is the book\u2019s example instead."
    )
    assert_shows(grid(page, "Z: context vectors"), numbers["presets"]["simple"])
    page.get_by_role("button", name="Close").click()
    assert page.locator(".pg-notice p").inner_text() == ""


@browser_test
def test_other_fragments_are_left_alone(open_page: Callable[..., Any]) -> None:
    page = open_page("three-things-to-try")
    assert page.locator(".pg-notice p").inner_text() == ""
    assert page.url.endswith("#three-things-to-try")


# Everybody, everywhere ------------------------------------------------------------------------------

STATES = {
    "beginning": "",
    "everything": f"attention=1&steps={ALL_STEPS},heads",
    "refused": "attention=7",
    "endless": "attention=1&x=" + 5000 * "A",
    "large": "attention=1&steps=scores,scaling&x=" + ",".join(["-99.999"] * 18),
}
each_state = pytest.mark.parametrize("state", STATES)
each_width = pytest.mark.parametrize("width", WIDTHS)
each_theme = pytest.mark.parametrize("theme", ["light", "dark"])


@browser_test
@each_state
@each_width
def test_only_boxes_scroll_sideways(open_page: Callable[..., Any], state: str, width: str) -> None:
    page = open_page(STATES[state], width)
    assert page.evaluate("document.documentElement.scrollWidth") == WIDTHS[width]
    assert (
        page.evaluate(
            """() => {
          const edge = document.querySelector('.playground').getBoundingClientRect().right;
          return [...document.querySelectorAll('.playground *')]
            .filter((one) => !one.closest('.pg-box, .pg-spoken'))
            .filter((one) => one.getBoundingClientRect().right > edge + 1)
            .map((one) => one.outerHTML.slice(0, 80));
        }"""
        )
        == []
    )


@browser_test
@each_width
def test_six_columns_fit(open_page: Callable[..., Any], width: str) -> None:
    page = open_page(STATES["everything"], width)
    boxes = page.locator(".pg-box").evaluate_all(
        "boxes => boxes.map(box => [box.scrollWidth, box.clientWidth, box.textContent])"
    )
    assert [text for scroll, client, text in boxes if scroll > client] == []


@functools.cache
def axe() -> str:
    import axe_playwright_python

    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


@browser_test
@pytest.mark.parametrize("state", ["beginning", "everything"])
@each_width
@each_theme
def test_axe_finds_nothing(
    open_page: Callable[..., Any], state: str, width: str, theme: str
) -> None:
    page = open_page(STATES[state], width, color_scheme=theme, reduced_motion="reduce")
    page.get_by_role("button", name="Copy link").click()
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    page.evaluate(axe())
    found = page.evaluate("axe.run('.playground', { preload: false })")
    assert [
        (one["id"], node["target"], node["failureSummary"])
        for one in found["violations"]
        for node in one["nodes"]
    ] == []
    assert "color-contrast" in {one["id"] for one in found["passes"]}


@browser_test
@each_theme
def test_ink_is_readable_on_every_shade(open_page: Callable[..., Any], theme: str) -> None:
    page = open_page(STATES["everything"], color_scheme=theme, reduced_motion="reduce")
    colours = page.locator(".pg-attention td[tabindex]").evaluate_all(
        """cells => cells.flatMap((cell) => [0, 0.25, 0.5, 0.75, 1].map((heat) => {
             cell.style.setProperty('--pg-heat', heat);
             const { color, backgroundColor } = getComputedStyle(cell);
             const context = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
             const page = getComputedStyle(document.body).backgroundColor;
             return [page, backgroundColor, color].map((paint) => {
               context.fillStyle = paint;
               context.fillRect(0, 0, 1, 1);
               return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
             }).slice(1);
           }))"""
    )
    assert len({str(paper) for paper, _ in colours}) >= 5
    assert min(contrast(paper, ink) for paper, ink in colours) >= 4.5


def contrast(paper: list[int], ink: list[int]) -> float:
    def luminance(colour: list[int]) -> float:
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
            for part in (channel / 255 for channel in colour)
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    darker, lighter = sorted((luminance(paper), luminance(ink)))
    return (lighter + 0.05) / (darker + 0.05)


@browser_test
def test_nothing_moves_for_those_who_ask(open_page: Callable[..., Any]) -> None:
    durations = "cells => cells.map(cell => getComputedStyle(cell).transitionDuration)"
    shades = ".pg-attention td[tabindex]"
    assert set(open_page().locator(shades).evaluate_all(durations)) == {"0.15s"}
    still = open_page(reduced_motion="reduce")
    assert set(still.locator(shades).evaluate_all(durations)) == {"0s"}


@browser_test
def test_without_javascript_the_example_stands(
    open_page: Callable[..., Any], numbers: dict[str, Any]
) -> None:
    page = open_page(java_script_enabled=False)
    assert "Without it, here is what it starts from" in page.locator(".playground").inner_text()
    embeddings, weights, context = page.locator(".playground table").all()
    assert_shows(embeddings, numbers["beginning"]["embeddings"])
    assert_shows(weights, numbers["example"]["weights"])
    assert_shows(context, numbers["presets"]["simple"])


@browser_test
def test_a_strict_policy_stops_nothing(site: Path, browser: Any) -> None:
    """Neither an inline script nor an inline style: the widget alone, under a policy that allows none."""
    html = (site / "playground.html").read_text(encoding="utf-8")
    (data,) = re.findall(r'<div class="playground" data-beginning="[^"]*">', html)
    scripts = "".join(f'<script defer src="playground/{name}.js"></script>' for name in SCRIPTS)
    bare = f"""<!doctype html><html lang="en"><title>Bare</title>
        <link rel="stylesheet" href="playground/playground.css">{scripts}{data}</div></html>"""
    policy = "default-src 'none'; script-src 'self'; style-src 'self'"
    page = browser.new_page()

    def answer(route: Any) -> None:
        name = urlsplit(route.request.url).path.removeprefix("/")
        if name == "":
            headers = {"content-security-policy": policy, "content-type": "text/html"}
            route.fulfill(body=bare, headers=headers)
        else:
            route.fulfill(path=site / "_static" / name)

    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.route("**/*", answer)
    page.goto(f"http://book.test/#{STATES['everything']}")
    cell(page, "X: embeddings: one, 2").fill("-1.5")
    shade = grid(page, "Head 1").locator("tbody td").first
    assert shade.evaluate("cell => cell.style.getPropertyValue('--pg-heat')") == "1.000"
    page.get_by_role("button", name="Copy link").click()
    assert complaints == []
    page.close()
