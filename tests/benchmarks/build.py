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
from functools import partial
from pathlib import Path

from harness.whole_book import copied
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
ROUNDS_COLD = 2
ROUNDS_UNCHANGED = 15
"""Two builds of two seconds differ by a tenth, by chance; a twentieth is to be seen."""
MOST = {"stock MyST-NB": 0.35, "execution off": 1.05}
"""The time of a whole build, cold or after no change, as a share of that of another."""
EDITS = {
    "an edit of prose": ("```{code-cell}", "One more sentence.\n\n```{code-cell}"),
    "an edit of one page's code": ("import torch\n", "import torch\n\n"),
}


def measure():
    """Build the book cold, after no change, and after edits."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        return list(builds(Path(folder)))


def builds(folder):
    """Report what each kind of build takes."""
    whole, stock, off = (copied(folder / name).root for name in ("whole", "stock", "off"))
    build_whole = partial(build, whole, AS_NOX)
    build_stock = partial(build, stock, STOCK, {warm_python.ADDRESS: os.devnull})
    cold = {
        "whole": partial(build_cold, whole, build_whole),
        "stock MyST-NB": partial(build_cold, stock, build_stock),
    }
    yield from timed("cold", cold, rounds=ROUNDS_COLD, warm_up=0)
    unchanged = {"whole": build_whole, "execution off": partial(build, off, EXECUTION_OFF)}
    yield from timed("nothing changed", unchanged, rounds=ROUNDS_UNCHANGED)
    page = whole / "docs/story/summary.md"
    for what, (old, new) in EDITS.items():

        def build_edited(old=old, new=new) -> None:
            page.write_text(page.read_text().replace(old, new, 1))
            build_whole()

        yield from timed(what, {"whole": build_edited}, rounds=ROUNDS_COLD, warm_up=0)


def build(root, options, environment=None) -> None:
    """Build the book that was copied to a folder."""
    folders = ["-d", "docs/_build/doctrees", "docs", "docs/_build/html"]
    result = subprocess.run(
        [sys.executable, "-m", "sphinx", "-b", "html", *options, *folders],
        cwd=root,
        env=os.environ | (environment or {}),
        capture_output=True,
        text=True,
    )
    if result.returncode:
        raise RuntimeError(f"the build failed:\n{result.stdout}\n{result.stderr}")


def build_cold(root, build_it) -> None:
    """Build with nothing left of an earlier build."""
    shutil.rmtree(root / "docs/_build", ignore_errors=True)
    build_it()


def timed(what, runs, **options):
    """Report how long builds took, and as what share of each one's time the whole build."""
    times = interleaved(runs, named=what, **options)
    for name, each in times.items():
        row = {"where": f"the book, {what}", "contender": name, "seconds": spread(each)}
        yield row | {"share": spread(ratios(times["whole"], each))}


def targets(results):
    """Hold the results against what was promised."""
    return [
        (f"at most {MOST[name]} of {name}", row["where"], row["share"]["median"], MOST[name])
        for row in results
        if (name := row["contender"]) in MOST
    ]
