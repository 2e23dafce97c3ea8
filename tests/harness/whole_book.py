"""This book, copied, so that it may be broken; and built as `nox -s docs` builds it."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

from harness.books import Book, Build
from harness.paths import DOCS, ROOT

from executable_book.repository import commit_of, date_of, release_of
from executable_book.run import stored_prints
from executable_book.run.page_execution import CACHES

NOT_COPIED = (".git", ".nox", ".venv", ".*_cache", "__pycache__", "_build")


@dataclass
class WholeBook(Book):
    """A copy of this book."""

    def run(self, *options):
        """Build by the modules of the copy, as `nox -s docs` does, with the edition of the original."""
        edition = {
            "book_commit": commit_of(ROOT),
            "book_release": release_of(ROOT),
            "book_date": date_of(ROOT),
        }
        switches = [part for name, value in edition.items() for part in ("-D", f"{name}={value}")]
        strictly = ["-W", "--keep-going", "--nitpicky", "-j", "auto", "-b", "html"]
        places = ["-d", "docs/_build/doctrees-html", *options, "docs", "docs/_build/html"]
        ran = subprocess.run(
            [sys.executable, "-m", "sphinx", *strictly, *switches, *places],
            cwd=self.root,
            env=os.environ | {"PYTHONPATH": str(self.root / "src")},
            capture_output=True,
            text=True,
        )
        return Build(ran.returncode, ran.stdout, ran.stderr, self.html)


def copied(folder):
    """Copy this book, with what was computed here, which is found as far as it is not stale."""
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*NOT_COPIED))
    for name in (CACHES, stored_prints.FOLDER):
        if (computed := DOCS / "_build" / name).exists():
            shutil.copytree(computed, folder / "docs/_build" / name)
    return WholeBook(folder)
