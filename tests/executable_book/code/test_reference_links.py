"""Names in code lead to the API reference; each entry there leads to code and pages."""

import re

import pytest
from sphinx.highlighting import PygmentsBridge

from executable_book.code.reference_links import with_links


def test_links_are_put_around_the_names_and_change_nothing_else() -> None:
    code = 'from literate_attention import softmax\nprint("<softmax> & é", softmax(x))\n'
    html = PygmentsBridge("html").highlight_block(code, "python")
    linked = with_links(html, {code.rindex("softmax"): "api.html#a&b"})
    (link,) = re.findall(r"<a.*?</a>", linked)
    assert link == '<a class="api-link" href="api.html#a&amp;b">softmax</a>'
    assert linked.replace(link, "softmax") == html
    assert linked.index(link) > linked.index("&lt;softmax&gt;")


@pytest.fixture
def book(new_book, tmp_path):
    """Return a book of a small package, with a reference."""
    source = tmp_path / "src" / "small"
    source.mkdir(parents=True)
    (source / "__init__.py").write_text("from small.one import act, other\n")
    (source / "one.py").write_text(
        'def act():\n    """Act."""\n    return other()\n\n\ndef other():\n    """Do else."""\n'
    )
    book = new_book()
    book.page("page", "# Using\n\n```{code-cell}\nfrom math import pi\n```\n")
    book.page("plain", "# Plain\n\n```python\nfrom small import other\n```\n")
    book.write(
        "api.md",
        "# Reference\n\n```{eval-rst}\n.. py:function:: small.one.act()\n\n   Act.\n\n"
        ".. py:function:: small.one.other()\n\n   Do else.\n```\n",
    )
    return book


SETTINGS = {
    "book_package": "../src/small",
    "book_commit": "c0ffee",
    "book_repository": "https://example.org/repo",
    "nb_custom_formats": {},
}


def cell(code):
    """Return a page with a cell, as myst-nb marks it once it has run."""
    return f"# Using\n\n```{{code-block}} ipython3\n{code}\n```\n"


def entry(html, name):
    return html.partition(f'id="small.one.{name}"')[2].partition('<dl class="py')[0]


def test_names_in_code_lead_to_their_entries(book) -> None:
    book.write("page.md", cell("from small import act\nact()\nact()"))
    book.write("shown.md", "# Shown\n\n```{library} act\nwhat it does.\n```\n")
    build = book.build(**SETTINGS)
    assert build.warnings == []
    assert (
        build.html("page").count('<a class="api-link" href="api.html#small.one.act">act</a>') == 1
    )
    assert '<a class="api-link" href="api.html#small.one.other">other</a>()' in re.sub(
        "</?span[^>]*>", "", build.html("shown")
    )
    assert "api-link" not in build.html("plain")


def test_an_entry_shows_code_and_pages(book) -> None:
    book.write("page.md", cell("from small import act"))
    html = entry(book.build(**SETTINGS).html("api"), "act")
    assert re.search(
        r'Used in <a class="reference internal" href="page.html"><span>Using</span></a>\.', html
    )
    assert '<details class="folded"><summary>Source</summary>' in html
    assert "https://example.org/repo/blob/c0ffee/src/small/one.py#L1-L3" in html
    assert "Act." not in html.partition("<summary>Source")[2]


def test_an_entry_follows_pages(book) -> None:
    """The reference is written again when another page begins to use a name."""
    book.write("page.md", cell("x = 1"))
    html = entry(book.build(**SETTINGS).html("api"), "other")
    assert "Used in" not in html
    book.write("page.md", cell("from small import other"))
    build = book.build(**SETTINGS)
    assert "Using" in entry(build.html("api"), "other")
    assert book.build(**SETTINGS).written == []
    book.write("page.md", cell("from small import other").replace("Using", "Taking"))
    assert "Taking" in entry(book.build(**SETTINGS).html("api"), "other")
