"""The shapes that the lines of a listing make, for readers who point at a line or go through the lines.

They are taken from an execution (see `run.traced_examples`). A listing is abridged and laid out anew, so its
lines are not those of the file: statements are recognized by what they say and by where they stand.
"""

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from executable_book.code.listings import LISTINGS, Shown, library_of
from executable_book.code.package_source import parsed
from executable_book.remembered import book_data, is_site, page_data, replace_book_data
from executable_book.run import page_execution, stored_prints, traced_examples

LOGGER = logging.getLogger(__name__)
SHAPES = "line-shapes"
NOTE = (
    '<p class="shapes-note">Where a line ends in ( ), point at it or tap it: you see the shape of what it '
    "makes, in the example of the docstring.</p>\n"
)
"""What stands below the first such listing of a page."""


def begin(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Begin to run the examples, if the library has changed."""
    if app.config.book_line_shapes and is_site(app):
        library = library_of(app.config, app.srcdir)
        program = Path(traced_examples.__file__)
        digest = page_execution.execution_digest(app.config, [program, library.folder])
        where = str(library.folder.parent), library.folder.name
        stored_prints.begin(app.outdir, SHAPES, digest, str(program), *where, *library.modules)


def update(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Have the shapes; return the pages that now show others."""
    found = stored_prints.finish(app.outdir, SHAPES) if app.config.book_line_shapes else {}
    if is_site(app) and (problem := found.get("problem")):
        said = "the examples cannot be run: %s"
        LOGGER.warning(said, problem, type="book", subtype="line-shapes")
    now = {tuple(statement): made for statement, made in found.get("printed", ())}
    before = replace_book_data(env, SHAPES, now) or {}
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
    if not (is_site(app) and (traced := book_data(app.env, SHAPES))):
        return
    by_code = {one.code: one for one in listings_on(app.env, docname)}
    note = True
    for block in doctree.findall(nodes.literal_block):
        if "library" in block and (shown := by_code.get(block.astext())):
            statements = traced_examples.statements_in(parsed(shown.code), (shown.module,))
            found = ((node.lineno, traced.get(statement)) for statement, node in statements)
            block["line_shapes"] = {line: made for line, made in found if made}
            block["line_shapes_note"] = note and bool(block["line_shapes"])
            note &= not block["line_shapes"]
