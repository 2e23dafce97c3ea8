"""Ties pages and API reference together: names in code lead to their entries, entries to code and use.

Names in the cells of a page, and in the library's code that a page shows, link to the API reference. There,
each entry shows its source, the tests that use the name, and the pages that do. All of it is read from
files; nothing is imported.

sphinx-codeautolink does the first part too. But it decides which pages to link before our pages are known to
be outdated, so that a page which runs again because the library changed would lose its links.
"""

import re
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode
from sphinx.writers.html5 import HTML5Translator

from executable_book.book_domain import book_data, page_data, replace_book_data, set_page_data
from executable_book.code.line_shapes import NOTE, with_shapes
from executable_book.code.listings import library_of, repository_path
from executable_book.code.name_usage import Scope, UnitTest, Use, find_tests
from executable_book.code.package_source import Item, Library
from executable_book.html.code_lines import in_lines
from executable_book.html.foldable import folded
from executable_book.placeholders import Placeholder
from executable_book.publish.repository import source_link

USES, REFERENCES = "api-uses", "api-references"
PUBLIC, ENTRIES = "api-public", "api-entries"
PIECE = re.compile(r"<[^>]*>|[^<]+")


# Reading


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Find the public names in a page's code, and the entries of an API reference."""
    library = library_of(app.config, app.srcdir)
    page = Scope(library.folder.name, frozenset(library.public))
    names: set[str] = set()
    for block in doctree.findall(nodes.literal_block):
        if block.get("language") == "ipython3":
            uses = uses_in(block.astext(), page)
        elif "library" in block:
            items = [library.find(name) for name in block["library"]]
            uses = uses_in(block.astext(), scope_of(items[0], library))
            names |= {item.name for item in items} & library.public.keys()
        else:
            continue
        first = {use.name: use for use in reversed(uses)}  # one link is enough for a block
        block["api_uses"] = list(first.values())
        names |= first.keys()
    set_page_data(app.env, USES, app.env.docname, sorted(names))
    if add_placeholders(doctree, {item.full: item.name for item in library.public.values()}):
        set_page_data(app.env, REFERENCES, app.env.docname, True)


def uses_in(code: str, scope: Scope) -> list[Use]:
    """Return the uses in a block of code; there are none in what is no Python, on purpose."""
    try:
        return scope.uses(code)
    except SyntaxError:
        return []


def scope_of(item: Item, library: Library) -> Scope:
    """Return what names mean where an item of the package stands."""
    scope = Scope(library.folder.name, frozenset(library.public))
    scope.read_imports(item.file.read_text(encoding="utf-8"))
    for name, other in library.public.items():
        if other.file == item.file:
            scope.meaning[name.rpartition(".")[2]] = name
    return scope


def add_placeholders(doctree: nodes.document, names: dict[str, str]) -> bool:
    """Put a placeholder into each entry that describes a public name; tell whether there was one."""
    found = False
    for signature in [*doctree.findall(addnodes.desc_signature)]:
        if name := names.get(next(iter(signature["ids"]), "")):
            found = True
            content = next(
                part for part in signature.parent if isinstance(part, addnodes.desc_content)
            )
            parts = [isinstance(part, addnodes.desc) for part in content]
            place = parts.index(True) if True in parts else len(parts)
            content.insert(place, Placeholder(kind="api entry", name=name))
    return found


# What is known of all names, once all pages have been read


def outdated(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Have all pages read again once other names are public: they were read with the names of before."""
    now = {name: item.full for name, item in library_of(app.config, app.srcdir).public.items()}
    before = replace_book_data(env, PUBLIC, now)
    return [] if before in (None, now) else sorted(page_data(env, USES).keys() - removed)


def update(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Gather who uses and who tests each name; return the references, if that has changed."""
    pages: dict[str, list[str]] = {}
    for docname, names in page_data(env, USES).items():
        for name in names:
            pages.setdefault(name, []).append(docname)
    titles = {page: env.titles[page].astext() for page in page_data(env, USES)}
    now = (pages, tests_of(app), titles)
    before = replace_book_data(env, ENTRIES, now)
    return [] if before in (None, now) else list(page_data(env, REFERENCES))


def tests_of(app: Sphinx) -> dict[str, dict[str, list[UnitTest]]]:
    """Return the tests of each public name, by the file that they stand in."""
    library = library_of(app.config, app.srcdir)
    public = frozenset(library.public)
    found: dict[str, dict[str, list[UnitTest]]] = {}
    if app.config.book_tests and public:
        root = Path(app.srcdir, app.config.book_tests).resolve()
        for path in sorted(root.rglob("test_*.py")):
            file, code = path.relative_to(root.parent).as_posix(), path.read_text(encoding="utf-8")
            for name, tests in find_tests(code, library.folder.name, public).items():
                found.setdefault(name, {})[file] = tests
    return found


# Writing: entries of the reference


def entry_details(app: Sphinx, docname: str, place: Placeholder) -> Iterator[nodes.Node]:
    """Yield what an entry shows of a public name: the pages that use it, its source, its tests."""
    name = place["name"]
    used, tested, _ = book_data(app.env, ENTRIES)
    item = library_of(app.config, app.srcdir).public[name]
    if pages := [page for page in used.get(name, ()) if page != docname]:
        yield used_in(app, docname, pages)
    where = repository_path(app.config, app.srcdir, item.file)
    code = nodes.literal_block(item.code, item.code, language="python")
    link = repository_link(app, where, item.first, item.last, where)
    yield from folded("Source", code, nodes.paragraph("", "", link))
    if tests := tested.get(name):
        count = sum(map(len, tests.values()))
        yield from folded(f"Tests ({count})", tests_list(app, tests))


def used_in(app: Sphinx, docname: str, pages: list[str]) -> nodes.paragraph:
    """Return a line that leads to the pages that use a name."""
    line = nodes.paragraph("", "Used in ", classes=["api-used-in"])
    for page in pages:
        title = nodes.inline("", app.env.titles[page].astext())
        line += make_refnode(app.builder, docname, page, "", title)
        line += nodes.Text("." if page == pages[-1] else ", ")
    return line


def tests_list(app: Sphinx, tests: dict[str, list[UnitTest]]) -> nodes.bullet_list:
    """List tests by the file that they stand in."""
    files = nodes.bullet_list(classes=["tests"])
    for file, of_file in tests.items():
        links = nodes.bullet_list()
        for test in of_file:
            text = test.name.removeprefix("test_").replace("_", " ")
            link = repository_link(app, file, test.first, test.last, text)
            links += nodes.list_item("", nodes.paragraph("", "", link))
        files += nodes.list_item("", nodes.paragraph("", "", nodes.literal("", file)), links)
    return files


def repository_link(app: Sphinx, path: str, first: int, last: int, text: str) -> nodes.reference:
    """Return a link to lines of a file, as they were when the book was built."""
    return nodes.reference("", text, refuri=source_link(app.config, path, first, last))


# Writing: code


def visit_literal_block(self: HTML5Translator, node: nodes.literal_block) -> None:
    """Write a block of code in lines, with its names as links."""
    try:
        HTML5Translator.visit_literal_block(self, node)
    except nodes.SkipNode:
        if uses := node.get("api_uses"):
            self.body[-1] = with_links(self.body[-1], list(links_of(self, uses)))
        self.body[-1] = in_lines(self.body[-1])
        if shapes := node.get("line_shapes"):
            self.body[-1] = with_shapes(self.body[-1], shapes) + NOTE * node["line_shapes_note"]
        raise


def links_of(self: HTML5Translator, uses: list[Use]) -> Iterator[tuple[int, str]]:
    """Yield where a link begins, and where it leads."""
    env, builder = self.builder.env, self.builder
    public = book_data(env, PUBLIC)
    documented = env.domains.python_domain.objects
    for use in uses:
        if entry := documented.get(public.get(use.name, "")):
            page = builder.get_relative_uri(builder.current_docname, entry.docname)
            yield use.start, f"{page.partition('#')[0]}#{entry.node_id}"


def with_links(html: str, links: list[tuple[int, str]]) -> str:
    """Make links of the tokens of highlighted code that begin at given characters of the code."""
    start, opening, highlighted = html.partition("<pre>")
    wanted = dict(links)
    position, pieces = 0, []
    for piece in PIECE.findall(highlighted):
        if not piece.startswith("<"):
            target = wanted.get(position)
            position += len(unescape(piece))
            piece = f'<a class="api-link" href="{escape(target)}">{piece}</a>' if target else piece
        pieces.append(piece)
    return start + opening + "".join(pieces)
