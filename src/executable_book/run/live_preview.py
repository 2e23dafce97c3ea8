"""Serve the book and build it again at each save, in processes that have built it before.

`sphinx-autobuild` starts Python anew for each build, and that spends more time on imports than on an
edited page. Here the first build runs in the server itself, and every later one in a fork of it, as
`sphinx-autobuild` forks for each change. There, what we wrote is imported anew, so an edit of an extension
takes effect like any other.

    python -m executable_book.run.live_preview SOURCES SITE [OPTIONS OF sphinx-autobuild]

One warm server serves all builds; it ends with this process.
"""

import multiprocessing
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import sphinx_autobuild.__main__ as autobuild  # type: ignore[import-untyped]
from sphinx.cmd.build import main as build
from sphinx_autobuild.build import Builder  # type: ignore[import-untyped]
from sphinx_autobuild.utils import show_message  # type: ignore[import-untyped]

from executable_book.run.kernels import warm_server

OURS = Path(__file__).parents[2]
OPTIONS = (
    *("--re-ignore", "/(_build|__pycache__)(/|$)"),  # what builds write
    *("-A", "reloads=1"),  # a policy of the page has to allow the script that sphinx-autobuild adds
    *("-D", "book_cut_assets=0"),  # to cut them takes as long as to show a save
    # Every page names the edition, so the first save after a commit would write them all.
    *(f"-Dbook_{name}=" for name in ("commit", "date", "release")),
)


class WarmBuilder(Builder):  # type: ignore[misc]  # it comes without types
    """Builds in this process, where its base class would start an interpreter."""

    def __call__(self, *, changed_paths: Sequence[Path]) -> None:
        """Build, and say how it ended."""
        if changed_paths:
            forget_modules()
        if status := build(self.sphinx_args):
            show_message(f"The build failed (exit {status}); what is served may be old")
        show_message(f"Serving on {self.uri}")


def forget_modules() -> None:
    """Have what we wrote imported anew."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name != "__main__" and file and OURS in Path(file).parents:
            del sys.modules[name]


def preload_of(folder: str) -> list[str]:
    """Return the modules that a book has its kernels import, without building it."""
    found: list[str] = runpy.run_path(f"{folder}/conf.py").get("book_kernel_preload", [])
    return found


def main() -> None:
    """Serve, with the arguments of this process."""
    if sys.platform == "linux":
        multiprocessing.set_start_method("fork")
    autobuild.Builder = WarmBuilder
    with warm_server(preload_of(sys.argv[1])):
        autobuild.main([*sys.argv[1:], *OPTIONS])


if __name__ == "__main__":
    main()
