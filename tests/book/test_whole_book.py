"""The book as a whole: its own pages, built as `nox -s docs` builds them, in a copy that may be broken.

Two copies are built once, cold, side by side. Tests change one, build it again, and put back what they
changed. What is proved on small books already is not proved again: that a change of the library is published
(`test_second_book.py`), that builds may be killed at any moment (`test_interrupted_builds.py`), that damaged
executions are noticed (`test_execution_store.py`), and all that executions depend on (`test_fingerprint.py`).
"""

import runpy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness.places import DOCS, ROOT
from harness.whole_book import Book, Build, copied, line_of, plain

pytestmark = pytest.mark.whole


def differences(ours: dict[str, bytes], theirs: dict[str, bytes]) -> list[str]:
    """Name the files that are not the same, byte for byte."""
    return sorted(name for name in ours | theirs if ours.get(name) != theirs.get(name))


@dataclass
class Whole:
    """A book that was built once, cold; what it published, and what its twin did."""

    book: Book
    built: Build
    site: dict[str, bytes]
    twin_built: Build
    twin_site: dict[str, bytes]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = tmp_path_factory.mktemp("whole")
    book, twin = copied(folder / "book"), copied(folder / "twin")
    processes = book.start(), twin.start("-j", "2")
    built, twin_built = book.end(processes[0]), twin.end(processes[1])
    return Whole(book, built, book.published(), twin_built, twin.published())


@pytest.fixture
def book(whole: Whole) -> Iterator[Book]:
    """Return the book that was built. What a test changes is put back."""
    yield whole.book
    whole.book.put_back()


# Every build


def test_every_page_executes_and_every_source_output_is_verified(whole: Whole) -> None:
    """The build report says N of N source outputs verified, with N counted from the ledger."""
    assert whole.built.status == 0, whole.built.said
    assert whole.built.warnings == []
    assert whole.built.executed == {*map(whole.book.docname, whole.book.pages)}
    count = whole.book.text("docs/sources.toml").count("\n[[output]]\n")
    assert count > 0
    assert f"{count} of {count} source outputs verified" in whole.built.said


def test_two_cold_builds_give_the_same_bytes(whole: Whole) -> None:
    """HTML, figures, notebooks and the archive; from two folders, and with one reader or two."""
    assert whole.twin_built.status == 0, whole.twin_built.said
    assert whole.twin_built.executed == whole.built.executed
    kinds = {Path(name).suffix for name in whole.site}
    assert kinds >= {".html", ".svg", ".ipynb", ".zip", ".css", ".js", ".woff2", ".xml"}
    assert differences(whole.twin_site, whole.site) == []


def test_a_second_build_starts_no_kernel_and_leaves_the_site_as_it_was(
    book: Book, whole: Whole
) -> None:
    again = book.build()
    assert (again.status, again.warnings) == (0, [])
    assert again.executed == set()
    assert len(again.started) == 1  # the interpreter of Sphinx, and none for a kernel or a server
    assert len(whole.built.started) > 1
    assert differences(book.published(), whole.site) == []


# Fresh, whatever changed


def test_what_is_spoilt_fails_each_build_until_it_is_mended(book: Book, whole: Whole) -> None:
    """Faults are named as long as they last, and leave nothing behind."""
    faults = spoil(book)
    for _ in range(2):
        build = book.build()
        assert build.status == 1
        # What failed is never stored, and prose or claims that change execute nothing.
        assert build.executed == {"story/multi_head_attention"}
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
    typed = line_of(book.text("docs/causal_attention.md"), "0.25 of it")
    entry = line_of(book.text("docs/sources.toml"), 'id = "second-batch"')
    return [
        (
            f"simple_attention.md:{book.line('simple_attention', 'context-of-nobody')}",
            "claims 'context-of-nobody', which the ledger does not know",
        ),
        (f"sources.toml:{entry}", "output 'second-batch' is claimed by no cell"),
        (f"causal_attention.md:{typed}", "the number 0.25 is typed by hand"),
        (
            f"multi_head_attention.md:{book.line('multi_head_attention', 'no such key')}",
            "this cell failed: KeyError: 'no such key'",
        ),
        (
            f"self_attention.md:{book.line('self_attention', 'colours = {')}",
            "is not the one recorded",
        ),
    ]


def test_the_library_the_lock_and_the_device_are_part_of_every_key() -> None:
    """That what conf.py names is part of every key is proved on small books; here, that it names these."""
    conf = runpy.run_path(str(DOCS / "conf.py"))
    depends = {(DOCS / path).resolve() for path in conf["book_depends"]}
    assert depends >= {ROOT / "src" / "literate_attention", ROOT / ".ci" / "requirements.txt"}
    assert "LITERATE_DEVICE" in conf["book_variables"]
    assert "torch" in conf["book_versions"]
