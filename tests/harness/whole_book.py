"""This book, copied, so that it may be broken; and built as `nox -s docs` builds it."""

import contextlib
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import MagicMock, patch

from harness import forks
from harness.books import executed_in
from harness.paths import DOCS, ROOT
from jupyter_cache import get_cache
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
from sphinx.util.console import strip_escape_sequences

from executable_book.publish.repository import commit_of, date_of, release_of
from executable_book.run.page_execution import CACHES

NOT_COPIED = (".git", ".nox", ".venv", ".*_cache", "__pycache__", "_build")
BESIDE_THE_PAGES = '"../'
"""What the code of a page has in it that reads files of the repository."""


def command(builder: str, *options: str) -> list[str]:
    """Return what `nox -s docs` runs, as the noxfile has it."""
    session = MagicMock()
    with patch.dict(sys.modules, nox=MagicMock()):
        runpy.run_path(str(ROOT / "noxfile.py"))["sphinx"](session, builder, *options)
    python, *arguments = session.run.call_args.args
    assert python == "python"
    return [sys.executable, *arguments]


@dataclass
class Build:
    """A build that has ended: its exit status, and what it said."""

    status: int
    said: str

    @property
    def executed(self) -> set[str]:
        return set(executed_in(self.said))

    @property
    def warnings(self) -> list[str]:
        """Each warning with the lines below it."""
        found = re.split(r"^(?=/\S+:\d+: WARNING: )", self.said, flags=re.MULTILINE)
        return [one for one in found if one.startswith("/")]

    def names(self, place: str, message: str) -> bool:
        """Tell whether a warning about a place, as in `page.md:7`, says something."""
        return any(f"/{place}: WARNING: " in one and message in one for one in self.warnings)

    def of_page(self, page: str) -> list[str]:
        """Return the warnings about a page, each of which names a line."""
        return [one for one in self.warnings if re.match(rf"/\S*/{page}\.md:\d+: ", one)]


@dataclass
class Book:
    """A copy of this book."""

    root: Path
    before: dict[Path, str] = field(default_factory=dict)

    @property
    def written(self) -> list[Path]:
        """The pages, as their authors wrote them."""
        pages = sorted((self.root / "docs").rglob("*.md"))
        return [page for page in pages if "_build" not in page.parts]

    @property
    def pages(self) -> list[Path]:
        """The pages that execute something."""
        return [page for page in self.written if is_myst_markdown_notebook(page.read_text("utf-8"))]

    def docname(self, page: Path) -> str:
        return page.relative_to(self.root / "docs").with_suffix("").as_posix()

    def find(self, name: str) -> Path:
        """Return the path of a file, also of one that lies in a part, such as the story."""
        path = self.root / name
        if path.exists():
            return path
        (found,) = path.parent.glob(f"*/{path.name}")
        return found

    def text(self, name: str) -> str:
        return self.find(name).read_text(encoding="utf-8")

    def change(self, name: str, old: str, new: str) -> None:
        """Replace a text that stands in a file once."""
        text = self.text(name)
        assert text.count(old) == 1, f"{name} holds {text.count(old)} times {old!r}"
        self.write(name, text.replace(old, new))

    def write(self, name: str, text: str) -> None:
        path = self.find(name)
        self.before.setdefault(path, path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")

    def put_back(self) -> None:
        for path, text in self.before.items():
            path.write_text(text, encoding="utf-8")
        self.before.clear()

    def line(self, page: str, text: str) -> int:
        """Return the line that opens the cell in which a text stands, the last one of the page."""
        lines = self.text(f"docs/{page}.md").splitlines()
        found = max(number for number, line in enumerate(lines) if text in line)
        return max(n for n in range(found + 1) if lines[n].startswith("```{code-cell}")) + 1

    def build(self, *options: str) -> Build:
        """Build in a process of its own, by the modules of the copy."""
        edition = {"book_release": release_of(ROOT), "book_date": date_of(ROOT)}
        switches = [part for name, value in edition.items() for part in ("-D", f"{name}={value}")]
        own = {"PYTHONPATH": str(self.root / "src"), "SOURCE_COMMIT": commit_of(ROOT)}
        ran = subprocess.run(
            command("html", *switches, *options),
            cwd=self.root,
            env=os.environ | own,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return Build(ran.returncode, strip_escape_sequences(ran.stdout))

    def forget(self, page: Path) -> None:
        """Remove the stored outputs of a page."""
        notebook = read_myst_markdown_notebook(page.read_text("utf-8"), path=str(page))
        for folder in (self.root / "docs/_build" / CACHES).iterdir():
            cache = get_cache(str(folder))
            with contextlib.suppress(KeyError):
                cache.remove_cache(cache.match_cache_notebook(notebook).pk)

    def draft(self, pages: Iterable[str], **environment: str) -> Build:
        """Read and check pages, and write none: a build that is quick, and judges as every build.

        Args:
            pages: names of pages, without folders, the first of which stands for the contents.
            environment: variables to set.
        """
        all_pages = {path.relative_to(self.root / "docs") for path in self.written}
        chosen = {path for path in all_pages if path.stem in pages}
        others = {path.as_posix() for path in all_pages - chosen}
        options = ["-D", f"exclude_patterns={','.join(sorted({'_build', *others}))}"]
        options += ["-D", f"root_doc={min(chosen).with_suffix('').as_posix()}"]
        status, *said = forks.build(self.root, command("dummy", *options)[3:], environment)
        return Build(status, strip_escape_sequences("".join(said)))

    def published(self) -> dict[str, bytes]:
        """Return all that readers can get."""
        return published(self.root / "docs/_build")


def published(built: Path) -> dict[str, bytes]:
    """Return all that readers can get: the site, with figures and notebooks, and the archive of it."""
    files = [path for path in (built / "html").rglob("*") if path.is_file()]
    site = {path.relative_to(built).as_posix(): path.read_bytes() for path in files}
    archives = {path.name: path.read_bytes() for path in built.glob("*.zip")}
    return archives | {
        name: content for name, content in site.items() if not Path(name).name.startswith(".")
    }


def differences(ours: dict[str, bytes], theirs: dict[str, bytes]) -> list[str]:
    """Name the files that are not the same, byte for byte."""
    return sorted(name for name in ours | theirs if ours.get(name) != theirs.get(name))


def copied(folder: Path, *, tests: bool = False) -> Book:
    """Copy this book, with what was executed here, which is found as far as it is not stale.

    Args:
        folder: where to.
        tests: whether its tests come along, which entries of the API reference name.
    """
    left_out = NOT_COPIED if tests else (*NOT_COPIED, "tests")
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*left_out))
    executions = DOCS / "_build" / CACHES
    if executions.exists():
        shutil.copytree(executions, folder / "docs/_build" / CACHES)
    return Book(folder)


def plain(page: bytes) -> str:
    """Return the text of a page, without its tags."""
    return re.sub("<[^>]*>", "", page.decode())


def line_of(text: str, part: str) -> int:
    """Return the number of the line in which a part of a text begins."""
    return text[: text.index(part)].count("\n") + 1
