"""The shapes that the lines of a listing make, for readers who point at a line or go through the lines.

They are taken from an execution (see `run.traced_examples`). A listing is abridged and laid out anew, so its
lines are not those of the file: statements are recognized by what they say and by where they stand.
"""

import json

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from executable_book.code.listings import LISTINGS, Shown, library_of
from executable_book.code.package_source import parsed
from executable_book.files_on_disk import digest_of
from executable_book.remembered import book_data, is_site, page_data, replace_book_data
from executable_book.run import traced_examples
from executable_book.run.kernels import start_python

LOGGER = logging.getLogger(__name__)
SHAPES = "line-shapes"
NOTE = (
    '<p class="shapes-note">Where a line ends in ( ), point at it or tap it: you see the shape of what it '
    "makes, in the example of the docstring.</p>\n"
)
"""What stands below the first such listing of a page."""


def update(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Run the examples, if the library has changed; return the pages that now show other shapes."""
    if not (app.config.book_line_shapes and is_site(app)):
        replace_book_data(env, SHAPES, None)
        return []
    library = library_of(app.config, app.srcdir)
    state = digest_of(library.folder), app.config.book_tools
    known, before = book_data(env, SHAPES) or (None, {})
    if state == known:
        return []
    where = str(library.folder.parent), library.folder.name
    program = start_python(traced_examples.__file__, *where, *library.modules)
    printed, errors = program.communicate()
    if program.returncode:
        why = errors.strip().rpartition("\n")[2]
        LOGGER.warning("the examples cannot be run: %s", why, type="book", subtype="line-shapes")
    now = {} if program.returncode else {tuple(key): made for key, made in json.loads(printed)}
    known = None if program.returncode else state  # or the next build would not say it again
    replace_book_data(env, SHAPES, (known, now))
    changed = {statement[0] for statement, _ in now.items() ^ before.items()}
    return [
        page
        for page in page_data(env, LISTINGS)
        if changed & {one.module for one in listings_on(env, page)}
    ]


def listings_on(env: BuildEnvironment, page: str) -> list[Shown]:
    """Return the listings of a page."""
    return [one for one in page_data(env, LISTINGS).get(page, ()) if isinstance(one, Shown)]


def mark_listings(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give each listing of a page the shapes of its lines."""
    if not (traced := book_data(app.env, SHAPES)):
        return
    by_code = {one.code: one for one in listings_on(app.env, docname)}
    note = True
    for block in doctree.findall(nodes.literal_block):
        if "library" in block and (shown := by_code.get(block.astext())):
            statements = traced_examples.statements_in(parsed(shown.code), (shown.module,))
            found = ((node.lineno, traced[1].get(statement)) for statement, node in statements)
            block["line_shapes"] = {line: made for line, made in found if made}
            block["line_shapes_note"] = note and bool(block["line_shapes"])
            note &= not block["line_shapes"]
