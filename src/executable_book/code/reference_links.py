"""Ties pages and API reference together: names in code lead to their entries, entries to code and use.

Names in the cells of a page, and in the library's code that a page shows, link to the API reference. There,
each entry shows its source, and the pages that use the name. All of it is read from files.

sphinx-codeautolink does the first part too. But it imports the library into each build, stumbles over the
exercises of sphinx-exercise, and links only the pages that Sphinx found outdated before the build began, so
that one that is written again for another reason would lose its links.
"""

import re
from collections.abc import Iterator
from html import escape, unescape

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode
from sphinx.writers.html5 import HTML5Translator

from executable_book.code.line_shapes import NOTE
from executable_book.code.listings import library_of
from executable_book.code.name_usage import Scope
from executable_book.code.package_source import Library, Module
from executable_book.html.foldable import folded
from executable_book.html.page_body import in_lines, with_width
from executable_book.remembered import (
    Placeholder,
    page_data,
    replace_book_data,
    set_page_data,
)
from executable_book.repository import source_link

USES, REFERENCES = "api-uses", "api-references"
PIECE = re.compile(r"<[^>]*>|[^<]+")


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Find the public names in a page's code, and the entries of an API reference."""
    library = library_of(app.config, app.srcdir)
    page = Scope(library.folder.name, library.public)
    names: set[str] = set()
    for block in doctree.findall(nodes.literal_block):
        scope = page
        if "library" in block:
            items = [library.find(name) for name in block["library"]]
            names |= {item.name for item in items} & library.public.keys()
            scope = scope_of(items[0].module, library)
        elif block.get("language") != "ipython3":
            continue
        uses = scope.uses(block.astext())
        block["api_uses"] = {use.name: use.start for use in reversed(uses)}  # one link for a name
        names |= block["api_uses"].keys()
    set_page_data(app.env, USES, app.env.docname, sorted(names))
    entries = {item.full: item.name for item in library.public.values()}
    for signature in doctree.findall(addnodes.desc_signature):
        if name := entries.get(next(iter(signature["ids"]), "")):
            set_page_data(app.env, REFERENCES, app.env.docname, True)
            content = next(signature.findall(addnodes.desc_content, descend=False, siblings=True))
            parts = (n for n, part in enumerate(content) if isinstance(part, addnodes.desc))
            content.insert(next(parts, len(content)), Placeholder(kind="api entry", name=name))


def scope_of(module: Module, library: Library) -> Scope:
    """Return what names mean in a module of the package."""
    scope = Scope(library.folder.name, library.public)
    scope.read_imports(module.text)
    public = (item for item in library.public.values() if item.module == module)
    scope.meaning |= {item.own.rpartition(".")[2]: item.name for item in public}
    return scope


def update(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return the references, if other pages use names than before, or are called otherwise."""
    using = {page: names for page, names in page_data(env, USES).items() if names}
    now = {page: (env.titles[page].astext(), names) for page, names in using.items()}
    return [] if replace_book_data(env, USES, now) in (None, now) else [*page_data(env, REFERENCES)]


def entry_details(app: Sphinx, docname: str, place: Placeholder) -> Iterator[nodes.Node]:
    """Yield what an entry shows of a public name: the pages that use it, and its source."""
    name = place["name"]
    library = library_of(app.config, app.srcdir)
    item = library.public[name]
    if links := [
        make_refnode(
            app.builder, docname, page, "", nodes.inline("", app.env.titles[page].astext())
        )
        for page, names in page_data(app.env, USES).items()
        if name in names and page != docname
    ]:
        line = nodes.paragraph("", "Used in ", classes=["api-used-in"])
        for link in links:
            line += [link, nodes.Text("." if link is links[-1] else ", ")]
        yield line
    where = library.path_of(item.module)
    source = item.module.sources[item.own.rpartition(".")[2]]
    code = nodes.literal_block(source, source, language="python")
    address = source_link(app.config, where, *item.lines)
    link = nodes.reference("", where, refuri=address)
    yield from folded("Source", code, nodes.paragraph("", "", link))


def visit_literal_block(self: HTML5Translator, node: nodes.literal_block) -> None:
    """Write a block of code in lines, with its names as links."""
    try:
        HTML5Translator.visit_literal_block(self, node)
    except nodes.SkipNode:
        code = with_links(self.body[-1], links_of(self, node.get("api_uses", {})))
        self.body[-1] = in_lines(code, node.get("line_shapes", {}))
        if "output" in node["classes"]:
            self.body[-1] = with_width(self.body[-1])
        self.body[-1] += NOTE * node.get("line_shapes_note", False)
        raise


def links_of(self: HTML5Translator, uses: dict[str, int]) -> dict[int, str]:
    """Return where links lead, by the characters of the code at which they begin."""
    builder = self.builder
    public = library_of(builder.config, builder.srcdir).public
    documented = builder.env.domains.python_domain.objects
    links = {}
    for name, start in uses.items():
        if entry := documented.get(public[name].full):
            page = builder.get_relative_uri(builder.current_docname, entry.docname)
            links[start] = f"{page.partition('#')[0]}#{entry.node_id}"
    return links


def with_links(html: str, links: dict[int, str]) -> str:
    """Make links of the tokens of highlighted code that begin at given characters of the code."""
    start, opening, highlighted = html.partition("<pre>")
    position, pieces = 0, []
    for piece in PIECE.findall(highlighted):
        if not piece.startswith("<"):
            target = links.get(position)
            position += len(unescape(piece))
            piece = f'<a class="api-link" href="{escape(target)}">{piece}</a>' if target else piece
        pieces.append(piece)
    return start + opening + "".join(pieces)
