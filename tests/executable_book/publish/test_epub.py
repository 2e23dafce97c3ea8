"""What the e-book holds, in this book's own templates; epubcheck knows the rules (`nox -s editions`)."""

import re
from pathlib import Path
from zipfile import ZipFile

import pytest
from harness.books import make_book
from harness.paths import ROOT

SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>\n'
SQUARE = r"""# Square

Let $x < 1$, and see {doc}`other`.

$$
f(x) = \begin{cases} \frac{x}{2} & x < 1 \\ \tfrac12 & \text{else} \end{cases}
$$

$$
a = b , \qquad c = d
$$

![A black triangle](drawn.svg)

```{raw} html
<details class="folded"><summary>More</summary>
```

Folded on a screen.

```{raw} html
</details>
```
"""
INDEX = """# Little Book

```{toctree}
square
```

```{toctree}
:caption: Part & rest

other
```
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """Return the folder of an e-book."""
    book = make_book(
        tmp_path_factory.mktemp("book"),
        project="Little Book",
        author="those who write it",
        copyright="2026, those who write it",
        version="1.0",
        html_math_renderer="mathml",
        html_static_path=["_static"],
        html_css_files=["site.css"],
        templates_path=[str(ROOT / "docs/_templates")],
        myst_heading_anchors=2,
        epub_cover=("_static/cover.svg", "cover.html"),
        epub_css_files=["ebook.css"],
        epub_contributor="those who correct it",
        epub_identifier="address",
        epub_description="A little book.",
        epub_show_urls="no",
        epub_tocdup=False,
        epub_uid="address",
    )
    for name in ("cover", "other"):
        book.write(f"_static/{name}.svg", SVG)
    book.write("drawn.svg", SVG)
    book.write("_static/site.css", ".site {}")
    book.write("_static/ebook.css", '@font-face { src: url("stix-two-math.woff2") }')
    book.page("index", INDEX, head="")
    book.page("square", SQUARE, head="")
    for words in ("Words.", "Other words."):  # the second build finds what the first left
        book.page("other", f"# Other\n\n## Root\n\n{words}\n", head="")
        built = book.build(builder="epub")
        assert built.warnings == []
    return built.out


def test_it_brings_the_font_for_formulas_and_no_file_that_nothing_names(book) -> None:
    with ZipFile(next(book.glob("*.epub"))) as archive:
        brought = {Path(name).name for name in archive.namelist()}
    assert brought >= {"cover.svg", "ebook.css", "stix-two-math.woff2"}
    assert not brought & {"other.svg", "site.css"}


def test_nothing_is_folded_as_not_every_reader_can_unfold_it(book) -> None:
    page = (book / "square.xhtml").read_text(encoding="utf-8")
    assert re.findall("<details[^>]*>", page) == ['<details open="open" class="folded">']


def test_formulas_that_share_a_line_may_stand_below_each_other(book) -> None:
    """A page may be narrower than both, and not every reader can scroll a formula."""
    page = (book / "square.xhtml").read_text(encoding="utf-8")
    shared = page.partition('<span class="part">')[2].partition("</div>")[0]
    assert shared.count('<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">') == 2
    assert "mspace" not in shared


def test_chapters_stand_below_their_parts_and_the_index_is_last(book) -> None:
    text = (book / "nav.xhtml").read_text(encoding="utf-8").partition("<nav")[2]
    text = text.replace("&amp;", "&")
    titles = re.findall(r"<a\b[^>]*>([^<]*)<", text)
    assert titles == ["Little Book", "Square", "Part & rest", "Other", "Root", "Index"]
    before = [text[: text.index(f">{title}<")] for title in titles]
    assert [one.count("<li>") - one.count("</li>") for one in before] == [1, 1, 1, 2, 3, 1]
