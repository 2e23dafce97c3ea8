"""A reference shows what it leads to: by mouse, keyboard and touch, and never in the way."""

import json
import re

import pytest
from harness.books import INDEX, make_book, settings_for
from harness.browser import chromium
from harness.paths import DOCS
from harness.reading.axe import axe_finds
from harness.reading.frames import boxes, drawn
from harness.reading.scripted_pages import opening

THERE = """(there)=
# There

It all begins here. See [](#deep).

## Deep

The first *words* of a section, and $\\sqrt{2}$.

```{math}
:label: eq-root
x = \\sqrt{2}
```

### Listed

You can

- add.

### Shown

Look at this:

```python
x = 3
```

### Deeper

:::{figure} dot.svg
:name: fig-dot
:alt: a dot

A dot.
:::

```{glossary}
token
  What a text is cut into.

piece
  Another word.
```

:::{exercise}
:label: ex-count

Count to three.
:::

:::{solution} ex-count
One, two, three.
:::

```{eval-rst}
.. py:function:: small.act(x)

   Act on it.

   .. math:: y = x

   .. py:method:: inner()

      Not this.
```
"""
HERE = """# Here

Of {ref}`there`, {ref}`the dot <fig-dot>`, {eq}`eq-root`, {numref}`fig-dot`, {term}`token`,
{cite:p}`one2000`, {numref}`ex-count`, {py:func}`small.act` and [deep](../there.md#deep).
And [listed](../there.md#listed) and [shown](../there.md#shown).
"""
BOOKS = "# Books\n\n```{bibliography}\n```\n"
BIB = "@book{one2000, author={Ann One}, title={Ones}, publisher={P}, year={2000}}\n"
DOT = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200"><circle r="90"/></svg>'


FILES = {
    "there.md": THERE,
    "below/here.md": HERE,
    "books.md": BOOKS,
    "one.bib": BIB,
    "dot.svg": DOT,
}
REFERENCES = {
    "#there": ("There", "It all begins here. See Deep."),
    "#fig-dot": ("Fig. 1 A dot.",),
    "#equation-eq-root": ("(1)",),
    "#term-token": ("token", "What a text is cut into."),
    "books.html#": ("Ann One. Ones. P, 2000.",),
    "#ex-count": ("Exercise 1", "Count to three."),
    "#small.act": ("small.act(x)", "Act on it."),
    "#listed": ("Listed", "You can add."),
    "#shown": ("Shown", "Look at this:", "x = 3"),
    "#deep": ("Deep", "The first words of a section, and"),
}
"""What a reference must show, by the end of its address."""
ELSEWHERE = ("Another word", "One, two, three", "Not this", "A dot.", "#")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return a built book of pages that looks like ours, and has our scripts."""
    look = {
        "book_cut_assets": True,
        "bibtex_bibfiles": ["one.bib"],
        "html_theme": "sphinx_book_theme",
        "html_static_path": [str(DOCS / "_static")],
        "html_theme_options": {"use_download_button": False, "use_fullscreen_button": False},
        "templates_path": [str(DOCS / "_templates")],
        "html_css_files": ["book.css"],
        "html_js_files": ["previews.js"],
        "myst_enable_extensions": ["colon_fence", "dollarmath"],
        "myst_heading_anchors": 3,
        "numfig": True,
        "html_math_renderer": "mathml",
        "copyright": "nobody",
    }
    settings = settings_for() | look
    book = make_book(tmp_path_factory.mktemp("book"), "sphinxcontrib.bibtex", **settings)
    for name, text in (FILES | {"index.md": INDEX.replace(":glob:", ":glob:\n:hidden:")}).items():
        book.write(name, text)
    build = book.run_forked(
        "-q"
    )  # in a process: sphinx-exercise uses what Sphinx is about to give up
    assert build.warnings == []
    return build.out


def previews(site, page):
    """Return the pieces that the script of a page brings."""
    script = (site / "previews" / f"{page}.js").read_text(encoding="utf-8")
    detail = script.removeprefix('dispatchEvent(new CustomEvent("previews", {detail: ')
    found: dict[str, str] = json.loads(detail.removesuffix("}));\n"))["pieces"]
    return found


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture
def here(site, browser):
    """Return a function that opens the page of references from its file."""
    with opening(browser) as open_page:
        yield lambda *size, **options: open_page(
            (site / "below" / "here.html").as_uri(), *size, **options
        )


def reference(page, address):
    return page.locator(f"article a.internal[href*='{address}']").first


def seen(page, *texts) -> None:
    """Wait until a preview with all of the texts is seen."""
    box = page.locator(".preview:popover-open")
    for text in texts:
        box.filter(has_text=text).wait_for()


def unseen(page) -> None:
    page.locator(".preview").wait_for(state="hidden")


def focused(page):
    """Return the address of the link that has the focus, without the page's folder."""
    found: str = page.evaluate("document.activeElement.href.split('/').at(-1)")
    return found


# What is cut -----------------------------------------------------------------------------------


def test_what_pages_refer_to_is_cut_and_nothing_else(site) -> None:
    there = previews(site, "there")
    assert {f"#{anchor}" for anchor in there} == {*REFERENCES} - {"books.html#"}
    assert len(previews(site, "books")) == 1
    assert previews(site, "below/here") == {}


def test_a_piece_has_no_link_no_name_and_nothing_of_its_neighbours(site) -> None:
    for anchor, piece in previews(site, "there").items():
        assert not re.search(r"<a\b|\b(?:id|role)=", piece)
        text = " ".join(re.sub("<[^>]*>", "", piece).split())
        own = "".join(REFERENCES[f"#{anchor}"])
        assert [one for one in ELSEWHERE if one in text and one not in own] == []


# What readers see ------------------------------------------------------------------------------


@pytest.mark.browser
def test_pointing_at_a_reference_shows_what_it_leads_to(here) -> None:
    page = here()
    assert page.locator("script[src*='previews/']").count() == 0  # nothing before it is asked for
    for address, texts in REFERENCES.items():
        reference(page, address).hover()
        seen(page, *texts)
    reference(page, "#fig-dot").hover()
    picture = page.locator(".preview img")
    picture.wait_for()
    assert picture.evaluate("picture => picture.decode().then(() => picture.naturalWidth)") == 300
    page.locator(".preview").hover()
    page.wait_for_timeout(400)
    seen(page, "A dot.")
    page.mouse.move(5, 5)
    unseen(page)


@pytest.mark.browser
def test_the_keyboard_shows_a_preview_enters_it_and_leaves_it(here) -> None:
    page = here()
    reference(page, "#there").evaluate("link => link.focus({focusVisible: true})")
    seen(page, "It all begins here.")
    page.keyboard.press("Escape")  # or the next key would lead into it
    unseen(page)
    page.keyboard.press("Tab")
    seen(page, "Fig. 1")
    described = page.locator("[aria-describedby=preview-text]")
    assert described.get_attribute("href") == "../there.html#fig-dot"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Go to it in “There”"
    page.keyboard.press("Escape")
    page.wait_for_timeout(400)  # what has the focus again is not shown again
    unseen(page)
    assert focused(page) == "there.html#fig-dot"
    assert described.count() == 0
    page.keyboard.press("Tab")
    seen(page, "(1)")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert focused(page) == "there.html#fig-dot"
    seen(page, "Fig. 1")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/there.html#fig-dot")


@pytest.mark.browser
def test_a_first_tap_shows_and_a_second_goes(here) -> None:
    page = here("phone", has_touch=True)
    link = reference(page, "#ex-count")
    link.tap()
    seen(page, "Count to three.")
    assert page.url.endswith("here.html")
    box, text = boxes(page.locator(".preview"), link)
    assert box["x"] == 0
    assert box["width"] == 360
    assert box["y"] + box["height"] < text["y"] or text["y"] + text["height"] < box["y"]
    page.get_by_role("button", name="Close the preview").tap()
    unseen(page)
    link.tap()
    seen(page, "Count to three.")
    page.locator("h1").dispatch_event("pointerdown")  # of which a tap may come, or scrolling
    unseen(page)
    link.tap()
    seen(page, "Count to three.")
    link.tap()
    page.wait_for_url("**/there.html#ex-count")


@pytest.mark.browser
@pytest.mark.parametrize("size", ["phone", "desk"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_preview_can_be_read_by_everybody(scheme, size, site, here) -> None:
    page = here(size, color_scheme=scheme)
    reference(page, "#deep").evaluate("link => link.focus({focusVisible: true})")
    seen(page, "Deep")
    pieces = "".join([*previews(site, "there").values(), *previews(site, "books").values()])
    pieces = pieces.replace('src="', 'src="../')  # as the page lies in a folder
    page.locator("#preview-text").evaluate("(text, all) => { text.innerHTML = all; }", pieces)
    drawn(page)
    assert axe_finds(page, ".preview") == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
