"""Another book: a library and a ledger of its own, no torch; nothing but a conf.py tells of it."""

import shutil
from pathlib import Path

import pytest
from harness.books import Book, unversioned
from harness.paths import ROOT

from executable_book.run.warm_python import ADDRESS

BOOK = Path(__file__).with_name("second_book")
LIBRARY = "src/little_numbers/sieves/eratosthenes.py"
OTHERS = ("torch", "matplotlib", "tiktoken", "literate_attention", "interactive")
"""What the other book needs; whoever imports it here fails."""


@pytest.fixture(scope="module")
def nothing_else(tmp_path_factory):
    """Return a path of modules under which what only the other book needs cannot be imported."""
    folder = tmp_path_factory.mktemp("absent")
    for name in OTHERS:
        (folder / f"{name}.py").write_text(f"raise ImportError('the second book needs no {name}')")
    return f"{folder}:{ROOT / 'src'}"


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """Return a copy of the book."""
    book = Book(tmp_path_factory.mktemp("second") / "book")
    shutil.copytree(BOOK, book.root)
    return book


@pytest.fixture(scope="module")
def environment(book, nothing_else):
    """Return the environment in which it is built: with its library, and no warm server of others."""
    return {"PYTHONPATH": f"{nothing_else}:{book.root / 'src'}", ADDRESS: "none"}


@pytest.fixture(scope="module")
def built(book, environment):
    """Return its first build, in a process that has imported nothing before."""
    return book.run(**environment)


def test_it_builds_and_verifies(book, built) -> None:
    assert (built.status, built.err) == (0, "")
    assert built.executed == ["primes"]
    assert "1 of 1 source outputs verified" in built.said
    page = built.text("primes")
    assert "[2, 3, 5, 7, 11, 13, 17, 19]" in page
    assert "Executed with Python 3" in page
    assert "Verified on this build, reproduced in" in built.html("sources")
    assert (book.html / "notebooks/primes.ipynb").exists()


@pytest.mark.usefixtures("built")
def test_it_fails_while_its_library_is_wrong_and_recovers(book, environment) -> None:
    before = book.published()
    book.change(f"../{LIBRARY}", "number % first]", "number % first != 1]")
    for _ in range(2):
        wrong = book.run_forked(**environment)
        assert wrong.status == 1
        assert "does not reproduce 'primes-below-twenty'" in wrong.err
        assert "the output of `from fractions import Fraction` is not the one recorded" in wrong.err
        assert "0 of 1 source outputs verified" in wrong.said
    book.put_back()
    mended = book.run_forked(**environment)
    assert (mended.status, mended.err) == (0, "")
    after = book.published()
    # Of words that were there in between, Sphinx keeps empty entries, which makes another edition.
    changed = {name for name in before if unversioned(before[name]) != unversioned(after[name])}
    assert changed <= {"searchindex.js", "offline.json", "worker.js"}
