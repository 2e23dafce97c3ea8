"""The shapes that the lines of a listing make, for readers who point at a line or go through the lines.

They are taken from an execution (see `run.traced_examples`). A listing is abridged and laid out anew, so its
lines are not those of the file: statements are recognized by what they say and by where they stand.
"""

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from executable_book.code.listings import library_of
from executable_book.code.package_source import parsed
from executable_book.remembered import is_site
from executable_book.run import page_execution, stored_prints, traced_examples

LOGGER = logging.getLogger(__name__)
SHAPES = "line-shapes"
NOTE = (
    '<p class="shapes-note">Where a line ends in ( ), point at it or tap it: you see the shape of what it '
    "makes, in the example of the docstring.</p>\n"
)
"""What stands below the first such listing of a page."""


def are_shown(app: Sphinx) -> bool:
    """Tell whether readers see shapes."""
    return app.config.book_line_shapes and is_site(app)


def begin(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Begin to run the examples, if the library has changed: then all pages are read again, too."""
    if are_shown(app):
        library = library_of(app.config, app.srcdir)
        program = Path(traced_examples.__file__)
        digest = page_execution.execution_digest(app.config, [program, library.folder])
        where = str(library.folder.parent), library.folder.name
        stored_prints.begin(app.outdir, SHAPES, digest, str(program), *where, *library.modules)


def have(app: Sphinx, env: BuildEnvironment) -> None:
    """Have the shapes before pages are written."""
    if are_shown(app) and (problem := stored_prints.finish(app.outdir, SHAPES).get("problem")):
        said = "the examples cannot be run: %s"
        LOGGER.warning(said, problem, type="book", subtype="line-shapes")


def mark_listings(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give each listing of a page the shapes of its lines."""
    listings = [block for block in doctree.findall(nodes.literal_block) if "library" in block]
    if not (listings and are_shown(app)):
        return
    printed = stored_prints.stored(app.outdir, SHAPES).get("printed", ())
    traced = {tuple(statement): made for statement, made in printed}
    for block in listings:
        statements = traced_examples.statements_in(parsed(block.astext()), (block["module"],))
        found = ((node.lineno, traced.get(statement)) for statement, node in statements)
        block["line_shapes"] = {line: made for line, made in found if made}
    for block in [block for block in listings if block["line_shapes"]][:1]:
        block["line_shapes_note"] = True
