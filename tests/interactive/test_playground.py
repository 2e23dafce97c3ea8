"""The playground computes and tells what the library computes, and can be used by keyboard alone."""

from functools import partial
from urllib.parse import urlsplit

import pytest
import torch
from harness.library.playground_vectors import stops, vectors
from harness.reading.scripted_pages import table_texts
from harness.reading.visits import NEXT_FRAME

import literate_attention as la

pytestmark = pytest.mark.browser

CONTEXT = "Z: context vectors"


@pytest.fixture
def open_page(open_figure):
    """Return a function that opens the playground, with all that it has unfolded."""

    def open_one(fragment="", width="desk", **options):
        page = open_figure("playground", width, fragment, **options)
        page.locator(".pg-own").evaluate("own => { own.open = true; }")
        return page

    return open_one


def cell(page, name):
    return page.get_by_label(name, exact=True)


def grid(page, caption):
    return page.get_by_role("grid", name=caption)


def matrix(rows):
    return torch.tensor(rows, dtype=torch.float64)


def readings(page, caption=CONTEXT):
    """Return the numbers that a matrix shows."""
    rows = table_texts(grid(page, caption), "tbody tr", "td")
    return matrix([[float(text.replace("\u2212", "-")) for text in row] for row in rows])


def assert_shows(page, expected, digits=4) -> None:
    """The context vectors on the page are these."""
    half = 0.5 * 10**-digits + 1e-9
    torch.testing.assert_close(readings(page), expected, rtol=0.0, atol=half)


def texts(table):
    """Return what stands in the cells of a table, typed or printed."""
    cells = table.locator("tbody td, tbody input")
    return cells.evaluate_all("cells => cells.map(cell => cell.value ?? cell.textContent)")


def drawn(page) -> None:
    """Wait until observers have seen how the page is now, and what they changed is drawn too."""
    for _ in range(2):
        page.evaluate(NEXT_FRAME)


def at_stop(page, stop):
    """Go to a stop of the tour."""
    page.get_by_role("slider", name="Tour").fill(str(stop))
    drawn(page)
    return page


def precise(page):
    """Have all numbers with four decimals."""
    page.get_by_role("switch", name="Four decimals").check()
    return page


def assert_is_the_librarys(page):
    """Compare the context vectors of what is shown with the library's; return the vectors."""
    embeddings: list[list[float]] = page.evaluate("literateAttention.shown.state.embeddings")
    assert_shows(page, la.dot_product_attention(matrix(embeddings)), digits=2)
    return embeddings


def wait_for_spoken(page, text) -> None:
    """Wait until this is said to those who listen."""
    page.locator(".pg-spoken[role=status]", has_text=text).wait_for(state="attached")


# What is computed -----------------------------------------------------------------------------------


def tensors(value):
    """Return what JSON brought with its matrices as tensors."""
    if isinstance(value, dict):
        return {name: tensors(one) for name, one in value.items() if name != "draws"}
    return [tensors(one) for one in value] if isinstance(value[0], dict) else matrix(value)


def test_script_equals_library_on_random_settings(open_page) -> None:
    """With every choice of steps, and whatever stands between."""
    every = vectors()
    settings = [one["settings"] for one in every]
    results = open_page().evaluate("all => all.map(literateAttention.attend)", settings)
    for one, result in zip(every, results, strict=True):
        torch.testing.assert_close(
            tensors(result), one["expected"], rtol=1e-9, atol=1e-12, msg=str(one["settings"])
        )


def test_the_tour_shows_what_the_books_classes_return(open_page) -> None:
    """Eight stops by keyboard alone; then dropout, as the sources print it."""
    page, expected = precise(open_page()), stops()
    forward = page.get_by_role("button", name="Next")
    forward.focus()
    for stop in range(1, 9):
        if str(stop) in expected:
            assert_shows(page, expected[str(stop)])
        page.keyboard.press("Enter")
    assert forward.get_attribute("aria-disabled") == "true"
    page.get_by_role("button", name="Dropout, as printed").click()
    assert_shows(page, expected["dropout"])
    page.get_by_label("Random numbers of seed").select_option("125")
    torch.manual_seed(125)
    kept = la.dropout_mask(6, 6, p=0.5, stream="mkl")
    assert torch.equal(readings(page, "After dropout") != 0.0, kept.tril())


# A reader types, presses keys, points ---------------------------------------------------------------


def test_vectors_are_moved_by_arrow_keys_and_dragged(open_page) -> None:
    page = at_stop(open_page(), 4)
    handle = page.get_by_role("slider", name="one", exact=True)
    handle.focus()
    drawn(page)
    before = page.evaluate("scrollY")
    for keys, vector in (
        ("Shift+ArrowRight", [0.97, 0.25]),
        ("ArrowUp", [0.97, 0.3]),
        ("PageDown", [0.97, 0.1]),
        ("Home", [0.77, 0.1]),
        ("ArrowLeft", [0.72, 0.1]),
    ):
        page.keyboard.press(keys)
        assert assert_is_the_librarys(page)[4] == [*vector, 0.1]
        assert page.evaluate("scrollY") == before
    assert handle.get_attribute("aria-valuetext") == "number 1: 0.72, number 2: 0.10"
    wait_for_spoken(page, "one: context")
    page.get_by_label("The plane shows numbers").select_option("2 and 3")
    handle.press("ArrowRight")
    assert assert_is_the_librarys(page)[4] == [0.72, 0.15, 0.1]
    drawn(page)
    box = handle.locator(".pg-tip").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 80, box["y"] - 60, steps=3)
    page.mouse.up()
    rest, x, y = assert_is_the_librarys(page)[4]
    assert rest == 0.72 and x > 0.15 and y > 0.1  # noqa: PT018
    assert float(cell(page, "X: vectors: one, 2").input_value()) == x


def test_steps_are_switched_by_keyboard(open_page) -> None:
    """The equation follows, and a step that waits for another says so."""
    page = open_page("attention=1")
    formula, switch = page.locator(".pg-formulas"), partial(page.get_by_role, "switch")
    assert "softmax" in formula.inner_text()
    switch(name="Softmax").press("Space")
    assert "softmax" not in formula.inner_text()
    switch(name="Scaling").press("Space")
    assert formula.locator("mfrac msqrt").text_content() == "3"
    two_heads = switch(name="Two heads")
    two_heads.press("Space")
    assert two_heads.get_attribute("aria-disabled") == "true"
    assert not two_heads.is_checked()
    wait_for_spoken(page, "waits for projections")
    switch(name="Projections").press("Space")
    assert formula.locator("mfrac msqrt").text_content() == "2"
    two_heads.press("Space")
    assert readings(page).shape == (6, 4)


# Links ----------------------------------------------------------------------------------------------


def test_a_state_travels_as_a_link(open_page) -> None:
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    at_stop(page, 8)
    page.get_by_role("switch", name="Dropout").check()
    page.get_by_label("Dropout rate").fill("0.2")
    page.get_by_label("Random numbers of seed").select_option("130")
    cell(page, "X: vectors: one, 2").fill("-1.5")
    cell(page, "key weights: 2, 1").nth(1).fill("0.75")
    cell(page, "Word 5").fill("d\u00f6g & cat")
    cell(page, "Word 5").press("Enter")
    page.get_by_role("button", name="Copy link").click()
    page.locator(".pg-notice p", has_text="The link was copied").wait_for()
    link = page.get_by_label("Link to these settings").input_value()
    assert page.evaluate("navigator.clipboard.readText()") == page.url == link
    other = open_page(urlsplit(link).fragment)
    for caption in ("X: vectors", "Head 1", "Head 2", CONTEXT):
        assert texts(grid(other, caption)) == texts(grid(page, caption))
    other.get_by_role("button", name="Start over").press("Enter")
    assert "#" not in other.url
    assert_shows(other, stops()["1"], digits=2)
    assert other.evaluate("document.activeElement.textContent") == "Next"


def test_a_chapter_leads_to_a_stop(open_page) -> None:
    page = open_page("playground-stop-4")
    assert_shows(page, stops()["4"], digits=2)
    page.evaluate("location.hash = '#playground-stop-7'")
    page.get_by_text("Tour, 7 of 8:").first.wait_for()
    assert_shows(page, stops()["7"], digits=2)


BAD_LINKS = (
    *("attention=2", "attention=1&colour=red", "attention=1&steps=scores&steps=mask"),
    *("attention=1&steps=scores,magic", "attention=1&x=1,2,3", "attention=1&x=%3Cscript%3E"),
    *("attention=1&weights=toString", "attention=1&words=a,,c,d,e,f"),
    *("attention=1&dropout=0.5,1", "attention=1&dropout=1.5,123"),
)


def test_a_bad_link_is_refused_with_a_sentence(open_page) -> None:
    page = precise(open_page())
    for fragment in BAD_LINKS:
        page.evaluate("fragment => { location.hash = fragment; }", fragment)
        page.locator(".pg-notice p", has_text="This link cannot be opened: ").wait_for()
        assert_shows(page, stops()["4"])
        page.get_by_role("button", name="Close").click()
        assert page.locator(".pg-notice p").inner_text() == ""
