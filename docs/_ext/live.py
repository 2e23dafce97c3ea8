"""Serve the book and build it again at each save, in processes that have imported Sphinx already.

`sphinx-autobuild` starts Python anew for each build, and that spends more time on imports than on an
edited page. Here a build is a fork of what serves. Only what others wrote is imported beforehand, so an
edit of an extension in this folder, or of the library, takes effect like any other.

    python live.py SOURCES SITE [OPTIONS OF sphinx-autobuild]
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import sphinx_autobuild.__main__ as autobuild
from sphinx.cmd.build import main as build
from sphinx_autobuild.build import Builder
from sphinx_autobuild.utils import show_message

PRELOADED = (
    "docutils.languages.en",
    "docutils.parsers.rst.languages.en",
    "fontTools.subset",
    "jaxtyping",
    "jupyter_client.asynchronous.client",
    "jupyter_client.provisioning.local_provisioner",
    "matplotlib.pyplot",
    "myst_nb",
    "nbclient",
    "notfound.extension",
    "pygments.lexers.python",
    "sphinx.builders.html",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_book_theme",
    "sphinx_copybutton",
    "sphinx_exercise",
    "sphinxcontrib.bibtex",
    "tiktoken",
    "torch",
)


class ForkedBuilder(Builder):  # type: ignore[misc]  # it comes without types
    """Builds in a fork, where its base class would start an interpreter."""

    def __call__(self, *, changed_paths: Sequence[Path]) -> None:
        """Build, and say how it ended."""
        names = ", ".join(os.path.relpath(path) for path in changed_paths)
        show_message(f"Building after a change of {names}" if names else "Building")
        process = multiprocessing.get_context("fork").Process(target=self.build_and_exit)
        process.start()
        process.join()
        if process.exitcode:
            show_message(f"The build failed (exit {process.exitcode}); what is served may be old")
        show_message(f"Serving on {self.uri}")

    def build_and_exit(self) -> None:
        """Run Sphinx, and end this process with its exit status."""
        sys.exit(build(self.sphinx_args))


def main() -> None:
    """Serve, with the arguments of this process."""
    if sys.platform == "linux":  # elsewhere a fork of a process with threads may hang
        for name in PRELOADED:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        autobuild.Builder = ForkedBuilder
    autobuild.main()


if __name__ == "__main__":
    main()
