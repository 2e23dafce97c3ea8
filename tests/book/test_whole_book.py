"""The book as a whole: its own pages, built as `nox -s docs` builds them, in a copy that may be broken.

The copy is built once, from what was executed when the site was built: `test_downloads.py` executes all pages
again. Tests change the copy, build it again, and put back what they changed. What small books prove is not
proved again: that builds may be killed at any moment (`test_build_folder.py`), and all that executions depend
on (`test_page_execution.py`).
"""

import re
import runpy
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest
from harness.books import Build, published
from harness.paths import DOCS, ROOT
from harness.whole_book import WholeBook, copied

from executable_book.code import package_source

pytestmark = pytest.mark.whole


@dataclass
class Whole:
    """A book that was built once, and what it published."""

    book: WholeBook
    built: Build
    site: dict[str, bytes]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    book = copied(tmp_path_factory.mktemp("whole") / "book")
    return Whole(book, book.run("-j", "2"), book.published())


@pytest.fixture
def book(whole):
    """Return the book that was built. What a test changes is put back."""
    yield whole.book
    whole.book.put_back()


# Every build


def test_every_source_output_is_verified(whole) -> None:
    """The build report says N of N source outputs verified, with N counted from the ledger."""
    count = whole.book.text("sources.toml").count("\n[[output]]\n")
    assert count > 0
    assert (whole.built.status, whole.built.warnings) == (0, []), whole.built.said
    assert f"{count} of {count} source outputs verified" in whole.built.said


def test_two_builds_give_the_same_bytes(whole, site) -> None:
    """HTML, figures and notebooks; from two folders, and with one reader or two."""
    kinds = {Path(name).suffix for name in whole.site}
    assert kinds >= {".html", ".svg", ".ipynb", ".css", ".js", ".woff2"}
    assert differences(whole.site, published(site)) == [], (
        "If the site in docs/_build/html is older than the book's files, or holds pages that are gone,"
        " remove it and build the book: nox -s docs"
    )


def test_the_reference_has_an_entry_for_every_public_name(whole) -> None:
    pages = [text for name, text in whole.site.items() if re.match(r"reference/api/.*\.html", name)]
    html = b"".join(pages).decode()
    public = package_source.library_in(ROOT / "src" / "literate_attention").public
    assert [name for name, item in public.items() if f'id="{item.full}"' not in html] == []
    assert "Float[Tensor, '*batch q_len head_dim']" in unescape(re.sub(r"<[^>]*>", "", html))


def test_a_second_build_executes_nothing_and_leaves_the_site_as_it_was(book, whole) -> None:
    again = book.run()
    assert (again.status, again.warnings) == (0, [])
    assert again.executed == []
    assert differences(book.published(), whole.site) == []


# Fresh, whatever changed


def test_what_is_spoilt_fails_the_build_until_it_is_mended(book, whole) -> None:
    """Faults are named, and leave nothing behind; that they are named again, small books prove."""
    faults = spoil(book)
    build = book.run()
    assert build.status == 1
    # Options of cells are part of what MyST-NB executes; prose that changes executes nothing.
    assert build.executed == ["models/rotary_embeddings", "story/inputs"]
    for place, message in faults:
        assert any(message in one for one in build.about(place)), (place, build.err)
    assert "So 0.25 of it" in build.text("story/causal_attention")

    book.put_back()
    mended = book.run()
    assert (mended.status, mended.warnings, mended.executed) == (0, [], [])
    assert differences(book.published(), whole.site) == []


def spoil(book):
    """Spoil pages, one each in its own way; return each place, and what has to be said of it."""
    inputs, causal = "story/inputs.md", "story/causal_attention.md"
    rotary = "models/rotary_embeddings.md"
    book.change(inputs, ":verifies: first-batch second-", ":verifies: first-batch nobodys-")
    book.change(causal, "So each token may attend", "So 0.25 of it may attend")
    book.change(rotary, "print(frequencies)", 'print({}["no such key"])')

    def line_of(name, part, opening=""):
        text = book.text(name)
        place = text.index(part)
        number = text[: text.rindex(opening, 0, place) if opening else place].count("\n") + 1
        return f"{name}:{number}"

    return [
        (
            line_of(inputs, "nobodys-", "```{code-cell}"),
            "claims 'nobodys-batch', which the ledger does not know",
        ),
        (line_of(causal, "0.25 of it"), "the number 0.25 is typed by hand"),
        (
            line_of(rotary, "no such key", "```{code-cell}"),
            "this cell failed: KeyError: 'no such key'",
        ),
    ]


def differences(ours, theirs):
    """Name the files that are not the same, byte for byte."""
    return sorted(name for name in ours | theirs if ours.get(name) != theirs.get(name))


def test_the_library_the_lock_and_the_device_are_part_of_every_key() -> None:
    """That what conf.py names is part of every key is proved on small books; here, that it names these."""
    conf = runpy.run_path(str(DOCS / "conf.py"))
    depends = {(DOCS / path).resolve() for path in conf["book_depends"]}
    assert depends >= {ROOT / "src" / "literate_attention", ROOT / ".ci" / "requirements.txt"}
    assert "LITERATE_DEVICE" in conf["book_variables"]
    assert "torch" in conf["book_versions"]
