"""The shapes that the lines of a listing make, for readers who point at a line or go through the lines.

They are taken from an execution (see `run.traced_examples`). A listing is abridged and laid out anew, so its
lines are not those of the file: statements are recognized by what they say and by where they stand.
"""

import ast
import json
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from executable_book.book_domain import book_data, page_data, replace_book_data
from executable_book.code.listings import LISTINGS, Shown, library_of
from executable_book.code.package_source import parsed
from executable_book.files_on_disk import digest_of
from executable_book.run import traced_examples
from executable_book.run.kernels import start_python
from executable_book.site_builds import is_site

LOGGER = logging.getLogger(__name__)
SHAPES = "line-shapes"
NOTE = (
    '<p class="shapes-note">Where a line ends in ( ), point at it or tap it: you see the shape of what it '
    "makes, in the example of the docstring.</p>\n"
)
"""What stands below the first such listing of a page."""
Statement = tuple[str, ...]
"""What a statement says, after its module and the names of the definitions in which it stands."""


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
    found = {} if program.returncode else json.loads(printed)
    shown = {
        docname: {one.module for one in listings if isinstance(one, Shown)}
        for docname, listings in page_data(env, LISTINGS).items()
    }
    if failed := bool(set().union(*shown.values()) - found.keys()):
        why = errors.strip().rpartition("\n")[2]
        LOGGER.warning("the examples cannot be run: %s", why, type="book", subtype="line-shapes")
    now = {
        (module.name, *statement): ", ".join(
            f"{name or 'returns'} {tuple(sizes)}" for name, sizes in made
        )
        for module in library.modules.values()
        for statement, line in statements_in(parsed(module.text))
        if (made := found.get(module.name, {}).get(str(line)))
    }
    replace_book_data(env, SHAPES, (None if failed else state, now))
    changed = {statement[0] for statement, _ in now.items() ^ before.items()}
    return [docname for docname, modules in shown.items() if modules & changed]


def statements_in(node: ast.AST, within: Statement = ()) -> Iterator[tuple[Statement, int]]:
    """Yield the statements in some code that bind or return something, each with its line."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield from statements_in(child, (*within, name))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                says = f"{ast.unparse(target)} = {ast.unparse(value)}"
                yield (*within, says), child.lineno
            case ast.Assign() | ast.AugAssign() | ast.Return():
                yield (*within, ast.unparse(child)), child.lineno
            case ast.stmt():
                yield from statements_in(child, within)


def mark_listings(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give each listing of a page the shapes of its lines."""
    if not (traced := book_data(app.env, SHAPES)):
        return
    listings = page_data(app.env, LISTINGS).get(docname, ())
    by_code = {one.code: one for one in listings if isinstance(one, Shown)}
    is_first = True
    for block in doctree.findall(nodes.literal_block):
        if "library" in block and (shown := by_code.get(block.astext())):
            block["line_shapes"] = {
                line: traced[1][shown.module, *statement]
                for statement, line in statements_in(parsed(shown.code))
                if (shown.module, *statement) in traced[1]
            }
            block["line_shapes_note"] = is_first and bool(block["line_shapes"])
            is_first &= not block["line_shapes"]
