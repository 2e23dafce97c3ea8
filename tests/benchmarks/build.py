"""How long does it take to build the book, beside stock MyST-NB?

Every build is a process of its own, in a copy of the repository. The book is built with the same pages and
extensions by both sides: as `nox -s docs` builds it, or by MyST-NB alone in its mode `force`, one page after
the other, each in a new kernel. Cold means that nothing is there but the pages. Both ran in turns.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from measuring.circumstances import ROOT
from measuring.targets import target
from measuring.timing import interleaved, ratios, spread

from executable_book.run import warm_python

PACKAGES = ("sphinx", "myst-nb", "sphinx-book-theme", "ipykernel")
AS_NOX = ("-j", "auto")
STOCK = ("-D", "nb_execution_mode=force", "-D", "nb_execution_timeout=600")
# Cells that draw nothing make no figures to refer to, and a page with a warning is read again.
EXECUTION_OFF = (
    *AS_NOX,
    *("-D", "nb_execution_mode=off", "-D", "suppress_warnings=book.ledger,ref.numref,ref.ref"),
)
"""What a build says of a page whose cells ran: which, and for how many seconds."""
ROUNDS_COLD = 2
ROUNDS_UNCHANGED = 15
"""Two builds of two seconds differ by a tenth, by chance; a twentieth is to be seen."""
TARGETS = {
    "cold build, as a share of stock MyST-NB's": 0.35,
    "build after no change, as a share of Sphinx with execution off": 1.05,
}
EDITED = "story/summary"
EDITS = {
    "an edit of prose": ("```{code-cell}", "One more sentence.\n\n```{code-cell}"),
    "an edit of one page's code": ("import torch\n", "import torch\n\n"),
}


@dataclass
class Project:
    """A copy of what a build reads, and how it is built.

    Attributes:
        root: the folder of the copy.
        options: what Sphinx is called with.
        environment: variables that are set meanwhile.
        said: what each build said.
    """

    root: Path
    options: tuple[str, ...] = AS_NOX
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("docs", "src", ".ci", "tests"):
            ignored = shutil.ignore_patterns("_build", "__pycache__")
            shutil.copytree(ROOT / name, self.root / name, ignore=ignored)
        for name in ("pyproject.toml", "noxfile.py", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, self.root)

    @property
    def docs(self):
        return self.root / "docs"

    def build(self) -> None:
        """Build the book."""
        folders = ["-d", "docs/_build/doctrees", "docs", "docs/_build/html"]
        result = subprocess.run(
            [sys.executable, "-m", "sphinx", "-b", "html", *self.options, *folders],
            cwd=self.root,
            env=os.environ | self.environment,
            capture_output=True,
            text=True,
        )
        if result.returncode:
            raise RuntimeError(f"the build failed:\n{result.stdout}\n{result.stderr}")

    def build_cold(self) -> None:
        """Build with nothing left of an earlier build."""
        shutil.rmtree(self.docs / "_build", ignore_errors=True)
        self.build()

    def edit(self, old, new) -> None:
        """Change a page at one place."""
        page = self.docs / f"{EDITED}.md"
        page.write_text(page.read_text().replace(old, new, 1))


def measure():
    """Build the book cold, after no change, and after edits."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        return list(builds(Path(folder)))


def builds(folder):
    """Report what each kind of build takes."""
    whole = Project(folder / "whole")
    stock = Project(folder / "stock", STOCK, {warm_python.ADDRESS: os.devnull})
    off = Project(folder / "off", EXECUTION_OFF)

    cold = {"whole": whole.build_cold, "stock MyST-NB": stock.build_cold}
    times = interleaved(cold, rounds=ROUNDS_COLD, warm_up=0, named="the book, cold")
    yield from seconds("the book, cold", times)
    share = ratios(times["whole"], times["stock MyST-NB"])
    yield value("cold build, as a share of stock MyST-NB's", share)

    unchanged = {"whole": whole.build, "execution off": off.build}
    times = interleaved(unchanged, rounds=ROUNDS_UNCHANGED, named="the book, nothing changed")
    yield from seconds("the book, nothing changed", times)
    share = ratios(times["whole"], times["execution off"])
    yield value("build after no change, as a share of Sphinx with execution off", share)

    for what, (old, new) in EDITS.items():

        def build_edited(old=old, new=new) -> None:
            whole.edit(old, new)
            whole.build()

        times = interleaved({"whole": build_edited}, rounds=ROUNDS_COLD, warm_up=0, named=what)
        yield from seconds(f"the book, {what}", times)


def seconds(where, times):
    """Report how long builds took."""
    for name, values in times.items():
        yield {"measured": "seconds", "where": where, "contender": name, "seconds": spread(values)}


def value(measured, values):
    """Report a median and what it stands for."""
    summary = spread(values)
    return {"measured": measured, "where": "the book", "value": summary["median"], **summary}


def targets(results):
    """Hold the results against what was promised."""
    return [
        target(row["measured"], row["where"], row["value"], TARGETS[row["measured"]])
        for row in results
        if row["measured"] in TARGETS
    ]
