"""This book, copied, so that it may be broken; and built as `nox -s docs` builds it."""

import shutil
import sys
from dataclasses import dataclass

from harness.books import Book
from harness.paths import DOCS, ROOT
from myst_nb.core.read import is_myst_markdown_notebook

from executable_book.publish.repository import commit_of, date_of, release_of
from executable_book.run import stored_prints
from executable_book.run.page_execution import CACHES

NOT_COPIED = (".git", ".nox", ".venv", ".*_cache", "__pycache__", "_build")


def command(builder, *options):
    """Return what `nox -s docs` runs."""
    strictly = ["-m", "sphinx", "-W", "--keep-going", "--nitpicky", "-j", "auto", "-b", builder]
    places = ["-d", f"docs/_build/doctrees-{builder}", *options, "docs", f"docs/_build/{builder}"]
    return [sys.executable, *strictly, *places]


@dataclass
class WholeBook(Book):
    """A copy of this book."""

    @property
    def written(self):
        """The pages, as their authors wrote them, by name."""
        pages = sorted(self.folder.rglob("*.md"))
        return {
            page.relative_to(self.folder).with_suffix("").as_posix(): page.read_text("utf-8")
            for page in pages
            if "_build" not in page.parts
        }

    @property
    def pages(self):
        """The pages that execute something."""
        return {
            name: text for name, text in self.written.items() if is_myst_markdown_notebook(text)
        }

    def command(self, *options):
        """Return the command that builds in a process of its own, with the edition of the original."""
        edition = {
            "book_commit": commit_of(ROOT),
            "book_release": release_of(ROOT),
            "book_date": date_of(ROOT),
        }
        switches = [part for name, value in edition.items() for part in ("-D", f"{name}={value}")]
        return command("html", *switches, *options)

    def run(self, *options, **environment):
        """Build in a process of its own, by the modules of the copy."""
        return super().run(*options, PYTHONPATH=str(self.root / "src"), **environment)


def copied(folder):
    """Copy this book, with what was computed here, which is found as far as it is not stale."""
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*NOT_COPIED))
    for name in (CACHES, stored_prints.FOLDER):
        if (computed := DOCS / "_build" / name).exists():
            shutil.copytree(computed, folder / "docs/_build" / name)
    return WholeBook(folder)
