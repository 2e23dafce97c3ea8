"""Style sheets of all pages come as one, since each that is asked for alone delays the first paint."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from docutils import nodes
from pydata_sphinx_theme.pygments import (  # type: ignore[import-untyped]
    overwrite_pygments_css,
)
from sphinx.application import Sphinx
from sphinx.errors import SphinxError

from executable_book.files_on_disk import sha256, write_if_changed

JOINED = "_static/joined.css"
ADDRESS = re.compile(r"""url\((["']?)(?!data:|#|/|\w+:)([^"')]+)\1\)""")


def join_styles(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Tell the layout the address of the sheet that joins those which conf.py names, and which are left."""
    names = app.config.book_joined_styles
    if not names or app.builder.name == "epub":  # which has a sheet of its own
        return
    context["joined_styles"] = write_joined(app)
    context["css_files"][:] = [  # in place, as others may still add some for this page
        sheet
        for sheet in context["css_files"]
        if str(sheet.filename).removeprefix("_static/") not in names
    ]


@lru_cache(maxsize=1)
def write_joined(app: Sphinx) -> str:
    """Join the sheets, once in a build, which is one application's, and return the address for this one.

    Its first page asks for it: by then Sphinx has copied all sheets, as they are, whatever an earlier build
    has left of them, and no event comes between that and the pages.
    """
    names = app.config.book_joined_styles
    if "pygments.css" in names:  # the theme writes its own only when all pages are there
        overwrite_pygments_css(app)
    static = Path(app.outdir, "_static")
    if missing := [name for name in names if not (static / name).exists()]:
        raise SphinxError(f"book_joined_styles names {missing[0]}, but _static has no such file.")
    joined = "\n".join(moved((static / name).read_text(encoding="utf-8"), name) for name in names)
    write_if_changed(Path(app.outdir, JOINED), joined)
    return f"{JOINED}?v={sha256(joined)[:8]}"


def moved(css: str, name: str) -> str:
    """Return a sheet with the addresses in it as they are seen from the folder of all static files."""
    folder = posixpath.dirname(name)
    return ADDRESS.sub(
        lambda url: f"url({posixpath.normpath(posixpath.join(folder, url[2]))})", css
    )
