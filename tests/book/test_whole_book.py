"""The book as a whole: its own pages, built as `nox -s docs` builds them, in a copy that may be broken.

The copy is built once, from what was executed when the site was built, if it was. It executes and computes
anew only what `test_downloads.py` does not: pages that read files of the repository or glue values into
sentences, and the numbers of live figures. Tests change the copy, build it again, and put back what they
changed. What is proved on small books already is not proved again: that a change of the library is published
(`test_second_book.py`), that builds may be killed at any moment (`test_interrupted_builds.py`), and all that
executions depend on (`test_page_execution.py`).
"""

import runpy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness.paths import DOCS, ROOT
from harness.whole_book import (
    BESIDE_THE_PAGES,
    Book,
    Build,
    copied,
    differences,
    line_of,
    plain,
    published,
)

pytestmark = pytest.mark.whole


@dataclass
class Whole:
    """A book that was built once, what had to be executed for that, and what it published."""

    book: Book
    anew: set[str]
    built: Build
    site: dict[str, bytes]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    book = copied(tmp_path_factory.mktemp("whole") / "book", tests=True)
    texts = {page: page.read_text(encoding="utf-8") for page in book.pages}
    anew = {page for page, text in texts.items() if BESIDE_THE_PAGES in text or "{glue" in text}
    for page in anew:
        book.forget(page)
    built = book.build("-j", "2")
    return Whole(book, {*map(book.docname, anew)}, built, book.published())


@pytest.fixture
def book(whole: Whole) -> Iterator[Book]:
    """Return the book that was built. What a test changes is put back."""
    yield whole.book
    whole.book.put_back()


# Every build


def test_every_source_output_is_verified(whole: Whole) -> None:
    """The build report says N of N source outputs verified, with N counted from the ledger."""
    count = whole.book.text("docs/sources.toml").count("\n[[output]]\n")
    assert count > 0
    assert (whole.built.status, whole.built.warnings) == (0, []), whole.built.said
    assert f"{count} of {count} source outputs verified" in whole.built.said
    assert len(whole.anew) > 1
    assert whole.built.executed >= whole.anew


def test_two_builds_give_the_same_bytes(whole: Whole, site: Path) -> None:
    """HTML, figures, notebooks and the archive; from two folders, and with one reader or two."""
    kinds = {Path(name).suffix for name in whole.site}
    assert kinds >= {".html", ".svg", ".ipynb", ".css", ".js", ".woff2", ".xml"}
    theirs = published(site.parent)
    assert differences(whole.site, theirs) == [], (
        "If the site in docs/_build/html is older than the book's files, or holds pages that are gone,"
        " remove it and build the book: nox -s docs"
    )


def test_a_second_build_executes_nothing_and_leaves_the_site_as_it_was(
    book: Book, whole: Whole
) -> None:
    again = book.build()
    assert (again.status, again.warnings) == (0, [])
    assert again.executed == set()
    assert differences(book.published(), whole.site) == []


# Fresh, whatever changed


def test_what_is_spoilt_fails_each_build_until_it_is_mended(book: Book, whole: Whole) -> None:
    """Faults are named as long as they last, and leave nothing behind."""
    faults = spoil(book)
    changed = {
        "story/inputs",
        "story/simple_attention",
    }  # in options of cells, which MyST-NB executes
    for executed in (changed, set()):
        build = book.build()
        assert build.status == 1
        # What failed is never stored, and prose that changes executes nothing.
        assert build.executed == {"story/multi_head_attention"} | executed
        for place, message in faults:
            assert build.names(place, message), (place, build.warnings)
    assert "So 0.25 of it" in plain(book.published()["html/story/causal_attention.html"])

    book.put_back()
    mended = book.build()
    assert (mended.status, mended.warnings, mended.executed) == (0, [], set())
    assert differences(book.published(), whole.site) == []


def spoil(book: Book) -> list[tuple[str, str]]:
    """Spoil pages, one each in its own way; return each place, and what has to be said of it."""
    book.change("docs/simple_attention.md", "s: context-of-journey\n", "s: context-of-nobody\n")
    book.change("docs/inputs.md", ":verifies: first-batch second-batch\n", "")
    book.change("docs/causal_attention.md", "So each token may attend", "So 0.25 of it may attend")
    book.change(
        "docs/multi_head_attention.md",
        'print("context_vecs.shape:", side_by_side.shape)',
        'print({}["no such key"])',
    )
    book.change("docs/recorded/self_attention.txt", "    #FFD700\n", "    #FFD701\n")
    book.change("docs/errata.md", "{source}`002`, line 20,", "{source}`005`, line 20,")
    typed = line_of(book.text("docs/causal_attention.md"), "0.25 of it")
    named = line_of(book.text("docs/errata.md"), "`005`")
    return [
        (
            f"simple_attention.md:{book.line('simple_attention', 'context-of-nobody')}",
            "claims 'context-of-nobody', which the ledger does not know",
        ),
        ("sources.toml:1", "output 'second-batch' is claimed by no cell"),
        (f"causal_attention.md:{typed}", "the number 0.25 is typed by hand"),
        (
            f"multi_head_attention.md:{book.line('multi_head_attention', 'no such key')}",
            "this cell failed: KeyError: 'no such key'",
        ),
        (
            f"self_attention.md:{book.line('self_attention', 'colours = {')}",
            "is not the one recorded",
        ),
        (f"errata.md:{named}", "undefined label: 'source-005'"),
    ]


def test_the_library_the_lock_and_the_device_are_part_of_every_key() -> None:
    """That what conf.py names is part of every key is proved on small books; here, that it names these."""
    conf = runpy.run_path(str(DOCS / "conf.py"))
    depends = {(DOCS / path).resolve() for path in conf["book_depends"]}
    assert depends >= {ROOT / "src" / "literate_attention", ROOT / ".ci" / "requirements.txt"}
    assert "LITERATE_DEVICE" in conf["book_variables"]
    assert "torch" in conf["book_versions"]
