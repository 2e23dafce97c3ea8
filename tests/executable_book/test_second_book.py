"""Another book: a library and a ledger of its own, no torch; nothing but a conf.py tells of it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.books import Book, Build, unversioned
from harness.paths import ROOT

from executable_book.run.warm_python import ADDRESS

BOOK = Path(__file__).with_name("second_book")
LIBRARY = "src/little_numbers/sieves/eratosthenes.py"
OTHERS = ("torch", "matplotlib", "tiktoken", "literate_attention", "interactive")
"""What the other book needs; whoever imports it here fails."""


@pytest.fixture(scope="module")
def nothing_else(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a path of modules under which what only the other book needs cannot be imported."""
    folder = tmp_path_factory.mktemp("absent")
    for name in OTHERS:
        (folder / f"{name}.py").write_text(f"raise ImportError('the second book needs no {name}')")
    return f"{folder}:{ROOT / 'src'}"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, nothing_else: str) -> tuple[Book, Build]:
    """Return the book, built once. Tests copy it."""
    book = Book(tmp_path_factory.mktemp("second") / "book")
    shutil.copytree(BOOK, book.root)
    return book, book.run(**environment_of(book, nothing_else))


@pytest.fixture
def book(built: tuple[Book, Build], tmp_path: Path) -> Book:
    """Return a copy of the book, with what was built."""
    return Book(Path(shutil.copytree(built[0].root, tmp_path / "book")))


@pytest.fixture
def build(book: Book, nothing_else: str) -> Callable[..., Build]:
    """Return a function that builds the copy."""
    own = environment_of(book, nothing_else)
    return lambda *options, **environment: book.run_forked(*options, **own, **environment)


def environment_of(book: Book, nothing_else: str) -> dict[str, str]:
    """Return the environment in which the book is built: with its library, and no warm server of others."""
    return {"PYTHONPATH": f"{nothing_else}:{book.root / 'src'}", ADDRESS: "none"}


def test_it_builds_and_verifies(built: tuple[Book, Build]) -> None:
    book, build = built
    assert (build.status, build.err) == (0, "")
    assert build.executed == ["primes"]
    assert "1 of 1 source outputs verified" in build.said
    page = build.text("primes")
    assert "[2, 3, 5, 7, 11, 13, 17, 19]" in page
    assert "Executed with Python 3" in page
    assert "Verified on this build, reproduced in" in build.html("sources")
    assert (book.html / "notebooks/primes.ipynb").exists()


def test_nothing_runs_when_nothing_changed(book: Book, nothing_else: str) -> None:
    again = book.run(**environment_of(book, nothing_else))
    assert (again.status, again.err, again.executed) == (0, "", [])


@pytest.mark.parametrize("file", ["src/little_numbers/__init__.py", LIBRARY, "src/new/at/depth.py"])
def test_it_goes_stale_when_any_file_of_its_library_changes(
    book: Book, build: Callable[..., Build], file: str
) -> None:
    path = book.root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(path.read_text() + "\n# changed\n" if path.exists() else "")
    stale = build()
    assert (stale.status, stale.executed) == (0, ["primes"])


def test_it_fails_while_its_library_is_wrong_and_recovers(
    book: Book, build: Callable[..., Build]
) -> None:
    before = book.published()
    book.change(f"../{LIBRARY}", "number % first]", "number % first != 1]")
    for _ in range(2):
        wrong = build()
        assert wrong.status == 1
        assert "does not reproduce 'primes-below-twenty'" in wrong.err
        assert "the output of `from fractions import Fraction` is not the one recorded" in wrong.err
        assert "0 of 1 source outputs verified" in wrong.said
    book.put_back()
    mended = build()
    assert (mended.status, mended.err) == (0, "")
    after = book.published()
    # Of words that were there in between, Sphinx keeps empty entries, which makes another edition.
    changed = {name for name in before if unversioned(before[name]) != unversioned(after[name])}
    assert changed <= {"searchindex.js", "offline.json", "worker.js"}


def test_a_variable_that_it_names_is_part_of_every_key(build: Callable[..., Build]) -> None:
    assert build(LITTLE_DEVICE="abacus").executed == ["primes"]


def test_it_records(book: Book, build: Callable[..., Build]) -> None:
    book.change("primes.md", "primes_below(100)), 100", "primes_below(1000)), 1000")
    assert build().status == 1
    assert build("-D", "book_record=1").status == 0
    assert "    one in 6 or 0.168\n" in book.text("recorded/primes.txt")
    assert build().status == 0
