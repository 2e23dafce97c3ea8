"""What the search knows of pages that a build does not write: the entries of the general index.

Sphinx reads back from `searchindex.js` what it knew of unchanged pages, but for these. So a second build
would find less than the first. That is sphinx-doc/sphinx#12599, and this can go when it is closed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.environment import BuildEnvironment
from sphinx.search import js_index

Entries = dict[str, list[tuple[str, str, str]]]


def entries_in(frozen: dict[str, Any], pages: set[str]) -> Entries:
    """Return the entries that an index holds for each of some pages: name, target, main or not."""
    found: Entries = {page: [] for page in frozen["docnames"] if page in pages}
    for name, targets in frozen["indexentries"].items():
        for page, target, is_main in targets:
            found.get(frozen["docnames"][page], []).append((name, target, "main" * is_main))
    return found


def restore(app: Sphinx, env: BuildEnvironment) -> None:
    """Give Sphinx the entries of the pages that are still there, before it makes the new index."""
    if isinstance(app.builder, StandaloneHTMLBuilder):
        try:
            text = Path(app.outdir, app.builder.searchindex_filename).read_text(encoding="utf-8")
            env._search_index_index_entries = entries_in(js_index.loads(text), env.found_docs)
        except (OSError, ValueError, LookupError):
            return  # there is no index yet: all pages are written
