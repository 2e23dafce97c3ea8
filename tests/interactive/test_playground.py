"""The playground computes what the library computes, and can be used by everybody, everywhere."""

import copy
import json
import math
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import torch
from harness.browser import chromium
from harness.library.playground_vectors import stops, vectors
from harness.paths import DOCS
from harness.reading import scripted_pages
from harness.reading.axe import axe_finds
from harness.reading.frames import boxes, drawn
from harness.reading.scripted_pages import WIDTHS, build, table_texts
from sphinx.errors import ExtensionError

import literate_attention as la
from interactive import number_store, playground
from interactive.playground import SCRIPTS
from interactive.playground_numbers import LONGER
from interactive.scripted_element import PARTS

ALL_STEPS = "projections,scores,scaling,mask,softmax,dropout"

browser_test = pytest.mark.browser
each_width = pytest.mark.parametrize("width", WIDTHS)


def write_book(folder: Path) -> None:
    """Write a book of one page, with the settings that this page needs of the real one."""
    for name in ("parts", "playground"):
        shutil.copytree(DOCS / "_static" / name, folder / "_static" / name)
    text = (DOCS / "playground.md").read_text(encoding="utf-8")
    text = text.partition("## Where to read on")[
        0
    ]  # its formulas and chapters are the whole book's
    (folder / "playground.md").write_text(text, encoding="utf-8")
    (folder / "index.md").write_text("# Book\n\n```{toctree}\nplayground\n```\n", encoding="utf-8")
    scripted_pages.write_settings(folder, "interactive.playground")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built book of one page."""
    folder = tmp_path_factory.mktemp("playground") / "docs"
    write_book(folder)
    return build(folder)


@pytest.fixture(scope="module")
def numbers(site: Path) -> dict[str, Any]:
    """Return the library's numbers: what the build left, and what its script must equal."""
    built: dict[str, Any] = json.loads((site.parent / "playground.json").read_text())["numbers"]
    return {**built, "stops": stops(), "vectors": vectors()}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def tabs(browser: Any) -> scripted_pages.Tabs:
    return scripted_pages.Tabs(browser)


@pytest.fixture
def open_page(site: Path, tabs: scripted_pages.Tabs) -> Iterator[Callable[..., Any]]:
    """Return a function that opens the page from its file, and watch for errors and foreign requests."""
    with scripted_pages.opening(tabs) as open_at:
        address = (site / "playground.html").as_uri()

        def open_one(fragment: str = "", *width: str, **options: Any) -> Any:
            page = open_at(f"{address}#{fragment}", *width, **options)
            if options.get("java_script_enabled", True):
                page.locator(".pg-own").evaluate("own => { own.open = true; }")
            return page

        yield open_one


def cell(page: Any, name: str) -> Any:
    return page.get_by_label(name, exact=True)


def grid(page: Any, caption: str) -> Any:
    return page.get_by_role("grid", name=caption)


def readings(table: Any) -> list[list[float]]:
    """Return the numbers that a table shows."""
    rows = table_texts(table, "tbody tr", "td")
    return [[float(text.replace("\u2212", "-")) for text in row] for row in rows]


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


def at_stop(page: Any, stop: int) -> Any:
    """Go to a stop of the tour."""
    page.get_by_role("slider", name="Tour").fill(str(stop))
    drawn(page)
    return page


def follow(page: Any, fragment: str) -> None:
    """Open a link on the page that is open."""
    page.evaluate(
        """fragment => new Promise((done) => {
             addEventListener('hashchange', () => setTimeout(done), { once: true });
             location.hash = fragment;
           })""",
        fragment,
    )


def precise(page: Any) -> Any:
    """Have all numbers with four decimals."""
    page.get_by_role("switch", name="Four decimals").check()
    return page


def assert_is_the_librarys(page: Any) -> list[list[float]]:
    """Compare what the page computed from its vectors with the library; return the vectors."""
    embeddings, context = page.evaluate(
        "[literateAttention.shown.state.embeddings, literateAttention.shown.result.context]"
    )
    torch.testing.assert_close(
        torch.tensor(context, dtype=torch.float64),
        torch.tensor(context_of(embeddings), dtype=torch.float64),
        rtol=0.0,
        atol=1e-9,
    )
    assert_shows(grid(page, "Z: context vectors"), context, digits=2)
    return embeddings


def spoken(page: Any) -> Any:
    return page.locator(".pg-spoken")


# The extension --------------------------------------------------------------------------------------


def test_where_there_is_no_script_the_tables_stand(site: Path) -> None:
    """The library's numbers, which were computed for the site, are those of the e-book too."""
    out = build(site.parents[1], "epub")
    (page,) = (path for path in out.iterdir() if path.stem == "playground")
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert "Without it, here is what it starts from" in text
    assert "0.2379" in text
    assert "_static/playground/" not in text


TOY_NUMBERS = """import json
weight = 0.25
beginning = {"tokens": ["one"], "embeddings": [[1, 2, 3]]}
print(json.dumps({"beginning": beginning, "example": {"weights": [[weight]], "context": [[1, 2, 3]]}}))
"""


@pytest.fixture
def book(new_book: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a book with a playground, whose numbers are a toy's."""
    book = new_book("playground", extensions=("interactive.playground",))
    book.write("toy_numbers.py", TOY_NUMBERS)
    monkeypatch.setattr(playground, "SCRIPT", book.folder / "toy_numbers.py")
    book.write("page.md", "# Page\n\n```{playground}\n```\n")
    return book


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_tables_follow_the_librarys_numbers(book: Any, jobs: int) -> None:
    assert "0.2500" in book.build(jobs).html("page")
    assert book.build(jobs).written == []
    book.change("toy_numbers.py", "0.25", "0.75")
    assert "0.7500" in book.build(jobs).html("page")
    book.change("toy_numbers.py", "weight = 0.75", "raise ValueError('none today')")
    for _ in range(2):
        build = book.build(jobs)
        assert any("none today" in warning for warning in build.warnings)
    book.put_back()
    assert "0.2500" in book.build(jobs).html("page")


def test_pages_that_need_the_numbers_are_read_last(book: Any) -> None:
    book.write("where_nothing_is_computed.md", "# Another page\n")
    read = re.findall(r"^reading sources.*\] (\S+)", book.build().said, re.MULTILINE)
    assert read == ["index", "where_nothing_is_computed", "page"]


def test_numbers_that_another_builder_computed_are_shown(book: Any) -> None:
    book.build()
    doctrees = book.folder / "_build" / "doctrees"
    of_another = shutil.copytree(doctrees, doctrees.with_name("doctrees-of-another"))
    book.change("toy_numbers.py", "0.25", "0.75")
    assert "0.7500" in book.build().html("page")
    shutil.rmtree(doctrees)
    of_another.rename(doctrees)
    assert "page" in book.build().written


def test_numbers_of_a_build_that_failed_are_forgotten(
    book: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    book.build()
    book.change("toy_numbers.py", "0.25", "0.75")

    def fail(*_: object) -> None:
        raise ValueError("it fails here")

    with monkeypatch.context() as patch:
        patch.setattr(number_store, "finish", fail)
        with pytest.raises(ExtensionError, match="it fails here"):
            book.build()
    book.put_back()
    build = book.build()
    assert (build.warnings, "0.2500" in build.html("page")) == ([], True)


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
def test_the_tour_shows_what_the_books_classes_return(
    open_page: Callable[..., Any], numbers: dict[str, Any]
) -> None:
    """Eight stops by keyboard alone, one sentence each."""
    page = precise(open_page())
    forward = page.get_by_role("button", name="Next")
    forward.focus()
    said = page.locator(".pg-tour [role=status]")
    for stop in range(1, 9):
        assert re.fullmatch(rf"Tour, {stop} of 8: [^.]+\.", said.inner_text())
        if str(stop) in numbers["stops"]:
            assert_shows(grid(page, "Z: context vectors"), numbers["stops"][str(stop)])
        page.keyboard.press("Enter")
    assert forward.get_attribute("aria-disabled") == "true"
    page.get_by_role("switch", name="Scores").press("Space")
    assert said.inner_text().startswith(
        "You are off the tour, with projections and two heads switched on."
    )


@browser_test
def test_dropout_is_the_books(open_page: Callable[..., Any], numbers: dict[str, Any]) -> None:
    page = precise(open_page())
    page.get_by_role("button", name="Dropout, as printed").click()
    assert_shows(grid(page, "Z: context vectors"), numbers["stops"]["dropout"])
    page.get_by_label("Random numbers of").select_option("torch")
    torch.manual_seed(123)
    kept = la.dropout_mask(6, 6, p=0.5, stream="torch")
    shown = torch.tensor(readings(grid(page, "After dropout")))
    assert torch.equal(shown != 0.0, kept.tril())


@browser_test
def test_large_scores_show_what_they_claim(open_page: Callable[..., Any]) -> None:
    """What two words get is told with short vectors, with long ones, and with scaling."""
    page = open_page()
    page.get_by_role("button", name="Large scores").click()
    x = la.toy_embeddings().double()

    def most(embeddings: torch.Tensor, scale: float) -> str:
        weights = la.softmax(embeddings @ embeddings.T / scale)[1]
        return f"{weights.topk(2).values.sum():.0%}".replace("%", "\u00a0%")

    told = page.locator(".pg-told")
    assert f"had {most(x, 1)} of its attention" in told.inner_text()
    assert f"now they have {most(3 * x, 1)}" in told.inner_text()
    page.get_by_role("switch", name="Scaling").press("Space")
    assert f"with scaling they have {most(3 * x, 3**0.5)}" in told.inner_text()


@browser_test
def test_what_is_said_of_two_stops_is_the_librarys(open_page: Callable[..., Any]) -> None:
    """Untrained projections mix the words evenly; with longer ones scaling is seen to help."""
    page = open_page()
    x = la.toy_embeddings().double()
    torch.manual_seed(123)
    module = la.SelfAttention_v2(3, 2).double()
    query, key = module.W_query(x), module.W_key(x)

    def said(share: float) -> str:
        return f"{share:.0%}".replace("%", "\u00a0%")

    row = la.softmax(query @ key.mT)[1]
    told = at_stop(page, 5).locator(".pg-told").inner_text()
    assert f"between {said(row.min().item())} and {said(row.max().item())} of its" in told
    assert row.max() < 1.2 * row.min()
    without, scaled = (
        la.softmax(LONGER**2 * query @ key.mT / scale)[1].topk(2).values.sum().item()
        for scale in (1, 2**0.5)
    )
    told = at_stop(page, 6).locator(".pg-told").inner_text()
    assert f"would have {said(without)} of its" in told
    assert f"with it they have {said(scaled)}, and" in told
    assert without > scaled + 0.1


@browser_test
@each_width
def test_what_a_stop_is_about_is_seen_beside_the_tour(
    open_page: Callable[..., Any], width: str
) -> None:
    """From wherever one presses Next, its matrix lies between the tour and the lower edge."""
    page = open_page("", width)
    page.set_viewport_size({"width": WIDTHS[width], "height": 800})
    page.locator(".pg-own").evaluate("own => { own.open = false; }")
    forward = page.get_by_role("button", name="Next")
    forward.focus()
    firsts = ["Scores", "Attention weights", "Z: context", "", "Attention weights"]
    for stop in range(2, 9):
        page.keyboard.press("Enter")
        seen = (".pg-tour", ".pg-told + * table >> nth=0", ".pg-story h2")
        tour, first, story = boxes(*map(page.locator, seen))
        assert tour["y"] >= 40 and tour["y"] + tour["height"] <= first["y"]  # noqa: PT018
        assert first["y"] + first["height"] <= 800, stop
        if width == "desk":
            assert tour["y"] + tour["height"] <= story["y"]
        if stop <= 6 and stop != 5:
            caption = page.locator(".pg-told + * caption").first.inner_text()
            assert caption.startswith(firsts[stop - 2])
        assert page.evaluate("document.activeElement.textContent") == "Next"


@browser_test
def test_dropout_leaves_the_plane_its_room(open_page: Callable[..., Any]) -> None:
    page = open_page()
    for wide in (1280, 1440):
        page.set_viewport_size({"width": wide, "height": 900})
        page.get_by_role("button", name="Dropout, as printed").click()
        seen = (".pg-plane", ".pg-story", ".pg-plane-box")
        plane, story, choice = boxes(*map(page.locator, seen))
        assert plane["width"] > 250
        assert choice["x"] + choice["width"] <= story["x"]
    assert "SelfAttention_v2, seed 789" in page.locator(".pg-told").inner_text()


# A reader types, presses keys, points ---------------------------------------------------------------


@browser_test
def test_context_vectors_follow_as_one_types(
    open_page: Callable[..., Any], numbers: dict[str, Any]
) -> None:
    page = precise(open_page("attention=1"))
    embeddings = copy.deepcopy(numbers["beginning"]["embeddings"])
    assert_shows(grid(page, "Z: context vectors"), context_of(embeddings))
    field = cell(page, "X: vectors: one, 2")
    field.click()
    for typed, number in (("-", 0.25), ("1", -1.0), (".", -1.0), ("5", -1.5)):
        page.keyboard.type(typed)
        embeddings[4][1] = number
        assert_shows(grid(page, "Z: context vectors"), context_of(embeddings))
    page.keyboard.press("PageDown")
    embeddings[4][1] = -1.6
    assert field.input_value() == "-1.6"
    assert_shows(grid(page, "Z: context vectors"), context_of(embeddings))


@browser_test
def test_vectors_are_moved_by_arrow_keys(open_page: Callable[..., Any]) -> None:
    page = at_stop(open_page(), 4)
    before = assert_is_the_librarys(page)
    handle = page.get_by_role("slider", name="one", exact=True)
    handle.focus()
    for key in ("ArrowLeft", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
    after = assert_is_the_librarys(page)
    before[4][:2] = [0.67, 0.3]
    assert after == before
    assert handle.get_attribute("aria-valuetext") == "number 1: 0.67, number 2: 0.30"
    page.wait_for_function(
        "document.querySelector('.pg-spoken').textContent.startsWith('one: context')"
    )
    page.get_by_label("The plane shows numbers").select_option("2 and 3")
    handle.press("ArrowRight")
    assert assert_is_the_librarys(page)[4] == [0.67, 0.35, 0.1]


@browser_test
def test_vectors_are_dragged(open_page: Callable[..., Any]) -> None:
    page = at_stop(open_page(), 4)
    tip = page.get_by_role("slider", name="one", exact=True).locator(".pg-tip")
    tip.scroll_into_view_if_needed()
    (box,) = boxes(tip)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] - 80, box["y"] - 60, steps=3)
    page.mouse.up()
    x, y, rest = assert_is_the_librarys(page)[4]
    assert x < 0.7 and y > 0.3 and rest == 0.1  # noqa: PT018
    assert float(cell(page, "X: vectors: one, 1").input_value()) == x


@browser_test
def test_words_can_be_changed(open_page: Callable[..., Any]) -> None:
    page = at_stop(open_page(), 4)
    field = cell(page, "Word 5")
    before = assert_is_the_librarys(page)
    field.fill("dog")
    field.press("Enter")
    assert assert_is_the_librarys(page) == before
    for caption in ("Attention weights", "Z: context vectors"):
        assert "dog" in grid(page, caption).inner_text()
    assert cell(page, "X: vectors: dog, 1").is_visible()
    field.fill("journey")
    field.press("Enter")
    after = assert_is_the_librarys(page)
    assert after[4] == after[1] == before[1]
    notice = page.locator(".pg-notice p")
    assert notice.inner_text() == (
        "Word 2 is \u201cjourney\u201d too, so both have the same vector."
    )
    field.fill("a, b")
    field.press("Enter")
    assert notice.inner_text() == (
        "a word has 1 to 12 letters and no comma, which \u201ca, b\u201d does not; "
        "\u201cjourney\u201d was kept."
    )


@browser_test
def test_two_decimals_until_one_asks_for_more(open_page: Callable[..., Any]) -> None:
    page = at_stop(open_page(), 3)
    weight = grid(page, "Attention weights").locator("tbody td").first
    assert re.fullmatch(r"0\.\d\d", weight.inner_text())
    precise(page)
    assert re.fullmatch(r"0\.\d{4}", weight.inner_text())


@browser_test
def test_weights_of_projections_can_be_typed(open_page: Callable[..., Any]) -> None:
    page = at_stop(precise(open_page()), 5)
    before = readings(grid(page, "Z: context vectors"))
    cell(page, "value weights: 1, 2").first.fill("0,5")  # a decimal comma is a decimal point
    after = readings(grid(page, "Z: context vectors"))
    assert [row[0] for row in after] == [row[0] for row in before]
    assert all(new[1] != old[1] for new, old in zip(after, before, strict=True))
    assert page.get_by_label("Projections of", exact=True).input_value() == "edited"


@browser_test
def test_what_is_no_number_is_refused_with_a_sentence(open_page: Callable[..., Any]) -> None:
    page = open_page("attention=1")
    before = readings(grid(page, "Z: context vectors"))
    field = cell(page, "X: vectors: one, 2")
    for typed, answer in (
        ("abc", "\u201cabc\u201d is not a number; 0.25 was kept."),
        ("", "\u201c\u201d is not a number; 0.25 was kept."),
        ("1e9", "numbers must lie between \u2212100 and 100, not 1e9; 0.25 was kept."),
    ):
        field.fill(typed)
        assert field.get_attribute("aria-invalid") == "true"
        field.blur()
        assert page.locator(".pg-notice p").inner_text() == answer
        assert field.input_value() == "0.25"
        assert field.get_attribute("aria-invalid") == "false"
        assert readings(grid(page, "Z: context vectors")) == before


@browser_test
def test_dropout_settings_are_checked(open_page: Callable[..., Any]) -> None:
    page = open_page(f"attention=1&steps={ALL_STEPS}")
    for field, typed, answer in (
        (
            "Dropout rate",
            "1",
            "the dropout rate must be at least 0 and below 1, not 1; 0.5 was kept.",
        ),
        (
            "Seed",
            "-1",
            "the seed must be a whole number from 0 to 4294967295, not -1; 123 was kept.",
        ),
    ):
        page.get_by_label(field, exact=True).fill(typed)
        page.get_by_label(field, exact=True).press("Enter")
        assert page.locator(".pg-notice p").inner_text() == answer


@browser_test
def test_steps_are_switched_by_keyboard(open_page: Callable[..., Any]) -> None:
    page = open_page("attention=1")
    formula = page.locator(".pg-formulas")
    assert "softmax" in formula.inner_text()
    page.get_by_role("switch", name="Softmax").focus()
    page.keyboard.press("Space")
    assert "softmax" not in formula.inner_text()
    page.get_by_role("switch", name="Scaling").focus()
    page.keyboard.press("Space")
    assert formula.locator("mfrac msqrt").text_content() == "3"
    two_heads = page.get_by_role("switch", name="Two heads")
    assert why_greyed(two_heads) == "waits for projections to be switched on"
    two_heads.press("Space")
    assert not two_heads.is_checked()
    page.wait_for_function("document.querySelector('.pg-spoken').textContent.startsWith('waits')")
    page.get_by_role("switch", name="Projections").press("Space")
    assert formula.locator("mfrac msqrt").text_content() == "2"
    page.get_by_role("switch", name="Two heads").press("Space")
    assert len(readings(grid(page, "Z: context vectors"))[0]) == 4
    page.get_by_role("switch", name="Scores").press("Space")
    for step in ("Scaling", "Causal mask", "Softmax", "Dropout"):
        assert (
            why_greyed(page.get_by_role("switch", name=step))
            == "waits for scores to be switched on"
        )
    assert not grid(page, "Head 1").is_visible()
    assert "No word looks at another" in page.locator(".pg-story").inner_text()


def why_greyed(switch: Any) -> str:
    """Return what is written, and read aloud, at a switch that cannot act."""
    assert switch.get_attribute("aria-disabled") == "true"
    hint = switch.page.locator(f"#{switch.get_attribute('aria-describedby')}")
    assert hint.is_visible()
    return str(hint.inner_text())


@browser_test
def test_arrow_keys_move_in_a_matrix_and_tab_leaves_it(open_page: Callable[..., Any]) -> None:
    page = open_page("attention=1")
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
    page = open_page("attention=1")
    cell(page, "X: vectors: with, 1").click()  # all of it is selected
    page.keyboard.press("ArrowRight")
    label = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(label) == "X: vectors: with, 2"
    page.keyboard.type("12")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(label) == "X: vectors: with, 2"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(label) == "X: vectors: with, 3"
    page.keyboard.press("ArrowUp")
    assert page.evaluate(label) == "X: vectors: starts, 3"


@browser_test
def test_a_weight_shows_the_vectors_and_products_that_made_it(
    open_page: Callable[..., Any],
) -> None:
    page = precise(open_page("attention=1"))
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
    return table_texts(table, "tbody tr, tfoot tr", "th, td")


@browser_test
def test_every_step_of_a_weight_is_told(open_page: Callable[..., Any]) -> None:
    page = precise(open_page(f"attention=1&steps={ALL_STEPS},heads"))
    grid(page, "Head 2").locator("tbody td").nth(6 * 3 + 5).focus()
    text = page.locator(".pg-story").inner_text()
    assert "\u201cwith\u201d looks at \u201cstep\u201d in head 2: 0.0000" in text
    assert "\u00f7 \u221a2 = " in text
    assert "\u201cstep\u201d comes after \u201cwith\u201d, so it is hidden: \u2212\u221e" in text
    assert re.search(r"Dropout: the number drawn is 0\.\d{4}", text)
    assert "head 2\u2019s part of the context vector of \u201cwith\u201d" in text


@browser_test
def test_a_context_vector_shows_its_sum(open_page: Callable[..., Any]) -> None:
    page = precise(open_page("attention=1"))
    grid(page, "Z: context vectors").locator("tbody td").nth(3 * 1 + 1).focus()
    (table,) = page.locator(".pg-story table").all()
    lines = readings_of(table)
    assert lines[1] == ["journey", "0.2379", "0.8700", "0.2070"]
    assert lines[-1] == ["sum", "1.0000", "", "0.6515"]


@browser_test
def test_what_happens_is_spoken(open_page: Callable[..., Any]) -> None:
    page = precise(open_page("attention=1"))
    assert spoken(page).get_attribute("role") == "status"
    grid(page, "Attention weights").locator("tbody td").nth(6 * 1 + 5).focus()
    page.wait_for_function("document.querySelector('.pg-spoken').textContent.includes('step')")
    assert "\u201cjourney\u201d looks at \u201cstep\u201d: 0.1581." in spoken(page).inner_text()
    page.get_by_role("switch", name="Scaling").press("Space")
    page.wait_for_function("document.querySelector('.pg-spoken').textContent.startsWith('Z')")
    assert "over root 3" in spoken(page).inner_text()
    cell(page, "X: vectors: step, 1").fill("2")
    page.wait_for_function("document.querySelector('.pg-spoken').textContent.startsWith('step')")


@browser_test
def test_an_earlier_matrix_can_be_looked_at(open_page: Callable[..., Any]) -> None:
    page = at_stop(open_page(), 7)
    page.get_by_role("radio", name="softmax").focus()
    page.keyboard.press("ArrowUp")
    masked = grid(page, "Masked scores")
    assert masked.locator("tbody td").nth(1).inner_text() == "\u2212\u221e"
    page.keyboard.press("ArrowUp")
    assert grid(page, "Scaled scores").locator("tbody td").nth(1).inner_text() != "\u2212\u221e"


@browser_test
def test_a_notice_covers_nothing_and_gives_the_focus_back(open_page: Callable[..., Any]) -> None:
    page = at_stop(open_page(), 4)
    field, notice = cell(page, "X: vectors: step, 1"), page.locator(".pg-notice p")
    field.fill("0.5")
    field.fill("99999")
    field.blur()
    # what stood there when the field was entered, and not the 99 on the way
    assert notice.inner_text().endswith("not 99999; 0.05 was kept.")
    *others, own = boxes(field, page.locator(".pg-plane"), notice)
    for box in others:
        beside = box["x"] + box["width"] <= own["x"]
        assert beside or box["y"] + box["height"] <= own["y"]
    page.get_by_role("button", name="Close").press("Enter")
    assert notice.inner_text() == ""
    assert field.evaluate("one => one === document.activeElement")
    word = cell(page, "Word 6")
    word.fill("")
    word.press("Enter")
    assert "was kept" in notice.inner_text()
    page.keyboard.press("Escape")
    assert notice.inner_text() == ""
    assert word.evaluate("one => one === document.activeElement")


@browser_test
def test_starting_over_leaves_the_figure_in_sight(open_page: Callable[..., Any]) -> None:
    page = at_stop(open_page(), 8)
    page.get_by_role("button", name="Start over").press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "Next"
    (tour,) = boxes(page.locator(".pg-tour"))
    assert 0 <= tour["y"] < 300
    assert page.locator(".pg-notice p").inner_text() == "Everything is as it was at the start."


@browser_test
def test_twins_of_a_word_are_told_apart(open_page: Callable[..., Any]) -> None:
    page = at_stop(open_page(), 3)
    notice = page.locator(".pg-notice p")
    cell(page, "Word 5").fill("dog")
    cell(page, "Word 5").press("Enter")
    assert notice.inner_text().startswith(
        "\u201cdog\u201d has the vector that \u201cone\u201d had."
    )
    cell(page, "Word 5").fill("journey")
    cell(page, "Word 5").press("Enter")
    page.get_by_role("slider", name="journey", exact=True).last.press("ArrowRight")
    assert notice.inner_text().startswith(
        "Word 2 is \u201cjourney\u201d too, and now it has another vector."
    )
    page.get_by_role("slider", name="journey", exact=True).last.press("ArrowLeft")
    assert notice.inner_text() == ""


@browser_test
def test_larger_steps_scroll_nothing_and_the_plane_has_room(open_page: Callable[..., Any]) -> None:
    page = at_stop(open_page(), 4)
    handle = page.get_by_role("slider", name="one", exact=True)
    handle.focus()
    drawn(page)
    before = page.evaluate("scrollY")
    across = handle.locator(".pg-tip").get_attribute("cx")
    for keys, vector in (
        ("Shift+ArrowRight", [0.97, 0.25]),
        ("ArrowRight", [1.02, 0.25]),
        ("PageUp", [1.02, 0.45]),
        ("PageDown", [1.02, 0.25]),
        ("Home", [0.82, 0.25]),
        ("End", [1.02, 0.25]),
        ("ArrowLeft", [0.97, 0.25]),
        ("Shift+ArrowLeft", [0.77, 0.25]),
    ):
        page.keyboard.press(keys)
        assert assert_is_the_librarys(page)[4][:2] == vector
        assert page.evaluate("scrollY") == before
        assert page.locator(".pg-tick").first.text_content() == "1"  # the same scale
    assert handle.locator(".pg-tip").get_attribute("cx") == across


@browser_test
def test_a_finger_drags_a_tip_and_scrolls_elsewhere(open_page: Callable[..., Any]) -> None:
    page = at_stop(open_page("", "phone", has_touch=True), 4)
    finger = page.context.new_cdp_session(page)

    def swipe(x: float, y: float) -> None:
        for step in range(9):
            kind = "touchStart" if step == 0 else "touchMove"
            points = [{"x": x, "y": y - 10 * step}]
            finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    tip = page.get_by_role("slider", name="one", exact=True).locator(".pg-tip")
    page.locator(".pg-plane").evaluate("one => one.scrollIntoView({ block: 'center' })")
    (box,) = boxes(tip)
    before = page.evaluate("scrollY")
    swipe(box["x"] + 5, box["y"] + 5)
    moved, plane = boxes(tip, page.locator(".pg-plane"))
    assert box["y"] - moved["y"] == pytest.approx(80, abs=3)
    assert page.evaluate("scrollY") == before
    corner = plane["x"] + plane["width"] - 20, plane["y"] + plane["height"] - 20
    for _ in range(10):  # on a slow machine, a finger may rest too long before it moves
        swipe(*corner)
        drawn(page)
        if page.evaluate("scrollY") > before:
            break
    page.wait_for_function("before => scrollY > before", arg=before)


@browser_test
def test_what_a_change_has_changed_is_marked(open_page: Callable[..., Any]) -> None:
    page = at_stop(open_page(), 3)
    table = grid(page, "Attention weights")
    before = texts(table)
    assert page.locator(".pg-changed").count() == 0
    cell(page, "X: vectors: one, 1").fill("0.9")
    cell(page, "X: vectors: one, 1").fill("2")
    after = texts(table)
    marked = table.locator("tbody td").evaluate_all(
        "cells => cells.map(cell => cell.classList.contains('pg-changed'))"
    )
    assert marked == [old != new for old, new in zip(before, after, strict=True)]
    assert sum(marked) > 0
    at_stop(page, 4)
    assert page.locator(".pg-changed").count() == 0


# Links ----------------------------------------------------------------------------------------------


@browser_test
def test_a_state_travels_as_a_link(open_page: Callable[..., Any], numbers: dict[str, Any]) -> None:
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    at_stop(page, 8)
    page.get_by_role("switch", name="Dropout").check()
    page.get_by_label("Dropout rate").fill("0.2")
    page.get_by_label("Seed", exact=True).fill("42")
    page.get_by_label("Random numbers of").select_option("torch")
    cell(page, "X: vectors: one, 2").fill("-1.5")
    cell(page, "key weights: 2, 1").nth(1).fill("0.75")
    cell(page, "Word 5").fill("d\u00f6g & cat")
    cell(page, "Word 5").press("Enter")
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_function("document.querySelector('.pg-notice p').textContent !== ''")
    link = page.get_by_label("Link to these settings").input_value()
    assert page.evaluate("navigator.clipboard.readText()") == link
    assert page.url == link
    other = open_page(urlsplit(link).fragment)
    for caption in ("X: vectors", "Head 1", "Head 2", "Z: context vectors"):
        assert texts(grid(other, caption)) == texts(grid(page, caption))
    assert cell(other, "key weights: 2, 1").nth(1).input_value() == "0.75"
    assert cell(other, "Word 5").input_value() == "d\u00f6g & cat"
    other.get_by_role("button", name="Start over").click()
    assert "#" not in other.url
    assert_shows(grid(other, "Z: context vectors"), numbers["stops"]["1"], digits=2)


@browser_test
def test_a_link_goes_with_the_settings_that_it_says(open_page: Callable[..., Any]) -> None:
    page = open_page("attention=1", permissions=["clipboard-read", "clipboard-write"])
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
    first = cell(page, "X: vectors: Your, 1")
    first.focus()
    page.evaluate(f"location.hash = 'attention=1&x={','.join(['9'] * 18)}'")
    page.wait_for_function("document.querySelector('.pg-flow td input').value === '9.00'")
    assert first.input_value() == "9.00"


@browser_test
def test_a_reason_is_never_longer_than_a_notice(open_page: Callable[..., Any]) -> None:
    page = open_page(STATES["endless"], "phone")
    assert len(page.locator(".pg-notice p").inner_text()) < 320
    box = page.get_by_role("button", name="Close").bounding_box()
    assert box["x"] + box["width"] <= WIDTHS["phone"]


@browser_test
def test_the_browsers_own_keys_are_left_to_it(open_page: Callable[..., Any]) -> None:
    page = open_page("attention=1")
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
    page = open_page("attention=1")
    page.get_by_role("button", name="Copy link").click()
    assert page.url.endswith("#attention=1")
    at_stop(page, 8)
    page.get_by_role("button", name="Copy link").click()
    steps = "projections,scores,scaling,mask,softmax,heads"
    assert page.url.endswith(f"#attention=1&steps={steps}&weights=v2-123-long")


@browser_test
def test_every_state_survives_its_link(
    open_page: Callable[..., Any], numbers: dict[str, Any]
) -> None:
    page = open_page()
    words = numbers["beginning"]["tokens"]
    settings = [{**one["settings"], "words": words} for one in numbers["vectors"]]
    start = {**settings[0], "tables": numbers["beginning"]["weights"]}
    back = page.evaluate(
        "([settings, start]) => settings.map((one) => "
        "literateAttention.readLink(literateAttention.writeLink(one, start), start))",
        [settings, start],
    )
    assert back == settings


EIGHTEEN = ",".join(["1"] * 18)


BAD_LINKS = (
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
    ("attention=1&words=a,b", "it has 2 words, not 6"),
    (
        "attention=1&words=a,,c,d,e,f",
        "a word has 1 to 12 letters and no comma, which \u201c\u201d does not",
    ),
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
)


@browser_test
def test_a_bad_link_is_refused_with_a_sentence(
    open_page: Callable[..., Any], numbers: dict[str, Any]
) -> None:
    page = precise(open_page())
    for fragment, reason in BAD_LINKS:
        follow(page, fragment)
        assert page.locator(".pg-notice p").inner_text() == (
            f"This link cannot be opened: {reason}. Here is the book\u2019s example instead."
        )
        assert_shows(grid(page, "Z: context vectors"), numbers["stops"]["4"])
        page.get_by_role("button", name="Close").click()
        assert page.locator(".pg-notice p").inner_text() == ""


@browser_test
def test_other_fragments_are_left_alone(open_page: Callable[..., Any]) -> None:
    page = open_page("three-things-to-try")
    assert page.locator(".pg-notice p").inner_text() == ""
    assert page.url.endswith("#three-things-to-try")


# Everybody, everywhere ------------------------------------------------------------------------------

STATES = {
    "beginning": "attention=1",
    "everything": f"attention=1&steps={ALL_STEPS},heads",
    "refused": "attention=7",
    "endless": "attention=1&x=" + 5000 * "A",
    "large": "attention=1&steps=scores,scaling&x=" + ",".join(["-99.999"] * 18),
}
each_theme = pytest.mark.parametrize("theme", ["light", "dark"])


@browser_test
@each_width
def test_only_boxes_scroll_sideways(open_page: Callable[..., Any], width: str) -> None:
    page = open_page("", width)
    for state in STATES.values():
        follow(page, state)
        assert page.evaluate("document.documentElement.scrollWidth") == WIDTHS[width]
        too_wide = page.evaluate(
            """() => {
              const edge = document.querySelector('.playground').getBoundingClientRect().right;
              return [...document.querySelectorAll('.playground *')]
                .filter((one) => one.checkVisibility() && !one.closest('.lp-box, .pg-spoken, svg'))
                .filter((one) => one.getBoundingClientRect().right > edge + 1)
                .map((one) => one.outerHTML.slice(0, 80));
            }"""
        )
        assert too_wide == [], state


@browser_test
@each_width
def test_six_columns_fit(open_page: Callable[..., Any], width: str) -> None:
    page = open_page(STATES["everything"], width)
    boxes = page.locator(".lp-box").evaluate_all(
        "boxes => boxes.map(box => [box.scrollWidth, box.clientWidth, box.textContent])"
    )
    assert [text for scroll, client, text in boxes if scroll > client] == []


@browser_test
@pytest.mark.parametrize("state", ["beginning", "everything"])
@pytest.mark.parametrize(("width", "theme"), [("phone", "light"), ("desk", "dark")])
def test_axe_finds_nothing(
    open_page: Callable[..., Any], state: str, width: str, theme: str
) -> None:
    page = open_page(STATES[state], width, color_scheme=theme, reduced_motion="reduce")
    page.get_by_role("button", name="Copy link").click()
    page.locator(".pg-notice p", has_text="link").wait_for()
    page.locator(f"html[data-theme={theme}]").wait_for()
    assert axe_finds(page, ".playground") == []


@browser_test
@each_theme
def test_ink_is_readable_on_every_shade(open_page: Callable[..., Any], theme: str) -> None:
    page = open_page(STATES["everything"], color_scheme=theme, reduced_motion="reduce")
    colours = page.locator(".pg-attention td[tabindex]").evaluate_all(
        """cells => cells.flatMap((cell) => [0, 0.25, 0.5, 0.75, 1].map((heat) => {
             cell.style.setProperty('--lp-heat', heat);
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
    assert_shows(context, numbers["stops"]["4"])


@browser_test
def test_a_strict_policy_stops_nothing(site: Path, browser: Any) -> None:
    """Neither an inline script nor an inline style: the widget alone, under a policy that allows none."""
    html = (site / "playground.html").read_text(encoding="utf-8")
    (data,) = re.findall(r'<div class="live-figure playground" data-beginning="[^"]*">', html)
    files = [*(f"parts/{part}" for part in PARTS), *(f"playground/{name}" for name in SCRIPTS)]
    scripts = "".join(f'<script defer src="{name}.js"></script>' for name in files)
    styles = "".join(
        f'<link rel="stylesheet" href="{name}.css">'
        for name in ("parts/parts", "playground/playground")
    )
    bare = f"""<!doctype html><html lang="en"><title>Bare</title>
        {styles}{scripts}{data}</div></html>"""
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
    cell(page, "X: vectors: one, 2").fill("-1.5")
    shade = grid(page, "Head 1").locator("tbody td").first
    assert shade.evaluate("cell => cell.style.getPropertyValue('--lp-heat')") == "1.000"
    page.get_by_role("button", name="Copy link").click()
    page.locator(".pg-notice p", has_text="link").wait_for()
    assert complaints == []
    page.close()
