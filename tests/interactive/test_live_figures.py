"""Live figures can be used by everybody, everywhere, and what they start from is fresh."""

import pytest
from harness.reading import scripted_pages

from interactive import live_figures
from interactive.live_figures import FIGURES

browser_test = pytest.mark.browser
each_figure = pytest.mark.parametrize("figure", FIGURES)


# The library's numbers ------------------------------------------------------------------------------

TOY_NUMBERS = """
import json
x = 0.25
print(json.dumps({"x": x, "tables": [[["", "x"], ["one", f"{x:.4f}"]]]}))
"""


@pytest.fixture
def book(new_book, monkeypatch):
    """Return a book whose only figure has numbers of its own."""
    book = new_book("live-figures", extensions=("interactive.live_figures",))
    book.write("toy_numbers.py", TOY_NUMBERS)
    book.write("page.md", "# Page\n\n```{live-figure} toy\nWithout a script.\n```\n")
    book.write("another.md", "# Another page\n")
    monkeypatch.setattr(live_figures, "FIGURES", {"toy": ()})
    monkeypatch.setattr(live_figures, "module_of", lambda name: book.folder / "toy_numbers.py")
    return book


def test_numbers_follow_the_module_and_reach_readers_with_and_without_scripts(book) -> None:
    script = book.html / "_static" / "toy" / "toy_numbers.js"
    for before, now in (("0.25", "0.25"), ("0.25", "0.75")):
        book.change("toy_numbers.py", f"x = {before}", f"x = {now}")
        build = book.build()
        assert f"{now}00" in build.text("page")
        assert f'literateParts.numbers.toy = {{"x":{now},' in script.read_text()
        assert ("another" in build.written) == (before == now)
        assert book.build().written == []


def test_numbers_that_cannot_be_computed_are_said_at_every_build(book) -> None:
    book.change("toy_numbers.py", "x = 0.25", "raise ValueError('no numbers\\nfor you')")
    for _ in range(2):
        (warning,) = book.build().warnings
        assert "page.md:3: WARNING: toy_numbers.py failed: ValueError: no numbers" in warning
    book.put_back()
    build = book.build()
    assert (build.warnings, "0.2500" in build.html("page")) == ([], True)


# Everybody, everywhere ------------------------------------------------------------------------------


@browser_test
def test_only_a_page_with_a_figure_loads_its_scripts(figures_site) -> None:
    for figure in FIGURES:
        text = (figures_site / f"{figure}.html").read_text(encoding="utf-8")
        assert [name for name in FIGURES if f"_static/{name}/" in text] == [figure]
        assert "parts/elements.js" in text
    assert "_static/parts/" not in (figures_site / "index.html").read_text(encoding="utf-8")


@browser_test
@each_figure
def test_without_javascript_and_on_paper_its_place_is_taken(open_figure, figure) -> None:
    page = open_figure(figure, java_script_enabled=False)
    assert page.locator(".live-figure").inner_text().startswith("Without a script.")
    page = open_figure(figure)
    assert not page.get_by_text("Without a script.").is_visible()
    page.emulate_media(media="print")
    assert page.locator(".live-figure").inner_text().startswith("Without a script.")


@browser_test
def test_an_ebook_has_what_stands_there_and_no_scripts(figures_site) -> None:
    out = scripted_pages.build(figures_site.parents[1], "epub")
    text = (out / "playground.xhtml").read_text(encoding="utf-8")
    assert "Without a script." in text
    assert "0.2379" in text
    assert "_static/pa" not in text
    assert "live-figure" not in text
