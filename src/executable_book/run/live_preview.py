"""Serve the book and build it again at each save, in processes that have built it before.

`sphinx-autobuild` starts Python anew for each build, and that spends more time on imports than on an
edited page. Here the first build runs in the server itself, and every later one in a fork of it, as
`sphinx-autobuild` forks for each change. What we wrote is imported anew once it has changed, so an edit of
the library or of an extension takes effect like any other.

    python -m executable_book.run.live_preview SOURCES SITE [OPTIONS OF sphinx-autobuild]

One warm server serves all builds; it ends with this process.
"""

import contextlib
import gc
import multiprocessing
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import sphinx_autobuild.__main__ as autobuild  # type: ignore[import-untyped]
from sphinx.cmd.build import main as build
from sphinx.config import Config
from sphinx.errors import ConfigError
from sphinx.util.tags import Tags
from sphinx_autobuild.build import Builder  # type: ignore[import-untyped]
from sphinx_autobuild.utils import show_message  # type: ignore[import-untyped]

from executable_book.run.kernels import warm_server

OURS = Path(__file__).parents[2]
WHAT_BUILDS_WRITE = "/(_build|__pycache__)(/|$)"
NO_EDITION = [f"-Dbook_{name}=" for name in ("commit", "date", "release")]
"""A preview is of no edition: every page names it, so the first save after a commit would write them all."""


class WarmBuilder(Builder):  # type: ignore[misc]  # it comes without types
    """Builds in this process, where its base class would start an interpreter."""

    def __call__(self, *, changed_paths: Sequence[Path]) -> None:
        """Build, and say how it ended."""
        names = ", ".join(os.path.relpath(path) for path in changed_paths)
        show_message(f"Building after a change of {names}" if names else "Building")
        if not changed_paths:
            self.imported = times_saved()
        else:
            gc.disable()  # this process ends with the build
            if self.imported != times_saved():
                forget_modules()
        status = build(self.sphinx_args)
        if status:
            show_message(f"The build failed (exit {status}); what is served may be old")
        show_message(f"Serving on {self.uri}")


def times_saved() -> dict[Path, int]:
    """Return when each module that we wrote was saved."""
    return {path: path.stat().st_mtime_ns for path in OURS.rglob("*.py") if path.is_file()}


def forget_modules() -> None:
    """Have what we wrote imported anew."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name != "__main__" and file and OURS in Path(file).parents:
            del sys.modules[name]


def preload_of(folder: str) -> list[str]:
    """Return the modules that a book has its kernels import, without building it."""
    config = Config.read(folder, overrides={}, tags=Tags())
    config.add("book_kernel_preload", [], "", list)
    return list(config.book_kernel_preload)


def main() -> None:
    """Serve, with the arguments of this process."""
    arguments = sys.argv[1:]
    with contextlib.ExitStack() as stack:
        if sys.platform == "linux":
            multiprocessing.set_start_method("fork")
            with contextlib.suppress(ConfigError):  # which the first build reports
                folder = autobuild._parse_args(arguments)[0].sourcedir
                stack.enter_context(warm_server(preload_of(folder)))
        autobuild.Builder = WarmBuilder
        whole_assets = ("-D", "book_cut_assets=0")  # to cut them takes as long as to show a save
        options = ("--re-ignore", WHAT_BUILDS_WRITE, *whole_assets, *NO_EDITION)
        autobuild.main([*options, *arguments])


if __name__ == "__main__":
    main()
