"""The directive `{library}`: the code of something that the package defines, as a chapter shows it.

    ```{library} sieve
    From all numbers to the primes.
    ```

The text is the caption. Docstrings, types and refusals of bad input are left out (see `abridged`); the
caption says so, and leads to the API reference and to the file. Several names, of one file, make one listing.

* `:until: name` leaves out what uses a name that a later chapter adds; the caption says where it comes.
* `:new: name` is that later listing: the lines that use the name are marked.
* `:folded:` is for what is no story: it is there, with its refusals, and closed.

While a page is read, it *keeps* what its listings show, for the checks in `check.taught_code`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

from docutils import nodes
from docutils.parsers.rst import directives
from myst_nb.sphinx_ import HideCodeCellNode  # type: ignore[import-untyped]
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from executable_book.book_domain import book_data, page_data, replace_book_data, set_page_data
from executable_book.code.abridged import Abridged, Place, abridge, new_lines
from executable_book.code.package_source import Item, Library, defined_in, library_in
from executable_book.placeholders import Placeholder
from executable_book.publish.repository import source_link

LISTINGS, ARRIVALS = "listings", "listings-arrivals"
Defined: TypeAlias = frozenset[str]
"""The names that a cell defines."""


class Shown(NamedTuple):
    """What a listing shows.

    Attributes:
        line: where the listing stands in its page.
        names: the definitions, each by its name where it is defined.
        file: the file that they stand in.
        places: where the statements begin that are shown whole.
        code: the code.
        until: the names that a later chapter adds.
        new: the names that an earlier listing left out.
        folded: whether it is closed.
    """

    line: int
    names: tuple[str, ...]
    file: Path
    places: frozenset[Place]
    code: str
    until: tuple[str, ...]
    new: tuple[str, ...]
    folded: bool


def library_of(config: Config, srcdir: str | Path) -> Library:
    """Return the package that a book teaches."""
    return library_in(folder_of_package(config, srcdir))


def folder_of_package(config: Config, srcdir: str | Path) -> Path | None:
    """Return where the package is that a book teaches; None if it teaches none."""
    return Path(srcdir, config.book_package).resolve() if config.book_package else None


def repository_path(config: Config, srcdir: str | Path, file: Path) -> str:
    """Return the path of a file of the package within the repository."""
    folder = folder_of_package(config, srcdir)
    return file.relative_to(folder.parents[1]).as_posix() if folder else file.name


def _words(argument: str | None) -> tuple[str, ...]:
    return tuple((argument or "").split())


class LibraryCode(SphinxDirective):
    """Shows the code of what its argument names; its content is the caption."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "until": _words,
        "new": _words,
        "folded": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        """Find the code, and follow the file that it stands in."""
        try:
            listing = self._listing()
        except LookupError as error:
            raise self.error(str(error)) from None
        first, last = listing.items[0], listing.items[-1]
        self.env.note_dependency(first.file)
        until, new = (self.options.get(name, ()) for name in ("until", "new"))
        text, messages = self.parse_inline(" ".join(self.content))
        about = Placeholder(
            kind="left out",
            kinds=listing.left_out,
            until=until,
            names=listing.names,
            file=first.file,
            lines=(first.first, last.last),
        )
        named = [*self._names(listing.items)]
        folded = "folded" in self.options
        said = [about] if folded else [*([nodes.Text(": ")] if text else []), *text, about]
        # a paragraph takes no number away from the listings that are seen
        caption = (nodes.paragraph if folded else nodes.caption)("", "", *named, *said)
        code = nodes.literal_block(listing.code, listing.code, language="python")
        code["library"] = [item.name for item in listing.items]
        code["shown"] = Shown(
            self.lineno,
            listing.names,
            first.file,
            listing.places,
            listing.code,
            until,
            new,
            folded,
        )
        if new:
            code["highlight_args"] = {"hl_lines": self._new_lines(listing, new)}
        block = nodes.container(
            "", caption, code, literal_block=True, classes=["literal-block-wrapper"]
        )
        if folded:
            caption["classes"] = ["caption"]
            block["folds"] = "".join(part.astext() for part in text) or ", ".join(code["library"])
        self.set_source_info(block)
        self.set_source_info(code)
        self.add_name(block)
        return [block, *messages]

    def _listing(self) -> Listing:
        library = library_of(self.config, self.env.srcdir)
        items = [library.find(name) for name in self.arguments[0].split()]
        if len({item.file for item in items}) > 1:
            raise LookupError("a listing shows code of one file")
        listing = Listing(items, self.options.get("until", ()), "folded" in self.options)
        for name in self.options.get("until", ()):
            if not any(abridged_item(item, (name,)).later for item in items):
                raise LookupError(f"nothing in the listing uses {name!r}, which it leaves out")
        return listing

    def _new_lines(self, listing: Listing, new: tuple[str, ...]) -> list[int]:
        before = Listing(listing.items, (*listing.until, *new), listing.refusals)
        if not (lines := new_lines(before.code, listing.code)):
            raise self.error(f"nothing in the listing uses {', '.join(new)}, which is new")
        return lines

    def _names(self, items: list[Item]) -> Iterator[nodes.Node]:
        """Yield the names, as links if the API reference can have entries for them."""
        for item in items:
            if item is not items[0]:
                yield nodes.Text(", ")
            literal = nodes.literal("", item.name)
            documented = item.full.removesuffix(".__init__")
            if any(part.startswith("_") for part in documented.split(".")):
                yield literal
            else:
                yield addnodes.pending_xref(
                    "",
                    literal,
                    refdomain="py",
                    reftype="obj",
                    reftarget=documented,
                    refdoc=self.env.docname,
                )


def abridged_item(item: Item, until: tuple[str, ...] = (), *, refusals: bool = False) -> Abridged:
    """Abridge something that the package defines."""
    return abridge(item.file.read_text(encoding="utf-8"), item.node, until, refusals=refusals)


@dataclass
class Listing:
    """One or more definitions of one file, abridged."""

    items: list[Item]
    until: tuple[str, ...]
    refusals: bool = False
    parts: list[Abridged] = field(init=False)

    def __post_init__(self) -> None:
        self.parts = [
            abridged_item(item, self.until, refusals=self.refusals) for item in self.items
        ]

    @property
    def code(self) -> str:
        """The code of all."""
        code = self.parts[0].code
        for before, part in zip(self.parts, self.parts[1:], strict=False):
            short = "\n" not in before.code and "\n" not in part.code
            code += ("\n" if short else "\n\n\n") + part.code
        return code

    @property
    def left_out(self) -> list[str]:
        """What kinds of things are left out."""
        return list(dict.fromkeys(kind for part in self.parts for kind in part.left_out))

    @property
    def names(self) -> tuple[str, ...]:
        """The names, each where it is defined."""
        return tuple(item.own for item in self.items)

    @property
    def places(self) -> frozenset[Place]:
        """Where the statements begin that are shown whole."""
        return frozenset().union(*(part.statements for part in self.parts))


# What is known once all pages have been read


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Keep what the listings of a page show, and what its cells define, in their order."""
    found: list[Shown | Defined] = []
    for block in doctree.findall(nodes.literal_block):
        if "shown" in block:
            found.append(block.attributes.pop("shown"))
        elif block.get("language") == "ipython3":
            found.append(defined_in(block.astext()))
    if found:
        set_page_data(app.env, LISTINGS, app.env.docname, found)


def reading_order(env: BuildEnvironment) -> list[str]:
    """Return all pages, in the order of the table of contents; what it leaves out comes last."""
    order: list[str] = []

    def walk(docname: str) -> None:
        if docname not in order:
            order.append(docname)
            for child in env.toctree_includes.get(docname, ()):
                walk(child)

    walk(env.config.root_doc)
    return [*order, *sorted(env.found_docs - set(order))]


def arrivals(env: BuildEnvironment) -> dict[tuple[tuple[str, ...], str], str]:
    """Return, for each listing and each name that it leaves out, the page where it comes."""
    facts = page_data(env, LISTINGS)
    shown = [
        (docname, one)
        for docname in reading_order(env)
        for one in facts.get(docname, ())
        if isinstance(one, Shown)
    ]
    found = {}
    for _, early in shown:
        for name in early.until:
            same = [(page, one) for page, one in shown if set(one.names) & set(early.names)]
            again = (page for page, one in same if name in one.new)
            itself = (
                page for page, one in shown if name in {n.rpartition(".")[2] for n in one.names}
            )
            whole = (page for page, one in same if name not in one.until)
            if page := next(again, None) or next(itself, None) or next(whole, None):
                found[early.names, name] = page
    return found


def update(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Find out where later code comes; return the pages that now say otherwise."""
    now = {key: (page, env.titles[page].astext()) for key, page in arrivals(env).items()}
    before = replace_book_data(env, ARRIVALS, now)
    before = now if before is None else before
    changed = {key for key, value in {*before.items()} ^ {*now.items()}}
    return [
        docname
        for docname, shown in page_data(env, LISTINGS).items()
        if any(
            (one.names, name) in changed
            for one in shown
            if isinstance(one, Shown)
            for name in one.until
        )
    ]


def left_out(app: Sphinx, docname: str, about: Placeholder) -> Iterator[nodes.Node]:
    """Say in a caption what is left out, and where it stands."""
    kinds = about["kinds"]
    said = nodes.inline("", " ", classes=["left-out"])
    if kinds:
        said += nodes.Text("Without ")
        said += nodes.Text(" and ".join(filter(None, [", ".join(kinds[:-1]), kinds[-1]])))
        said += nodes.Text(", which are in ")
    where = repository_path(app.config, app.srcdir, about["file"])
    said += nodes.reference("", "the file", refuri=source_link(app.config, where, *about["lines"]))
    said += nodes.Text(".")
    found = book_data(app.env, ARRIVALS)
    later: dict[tuple[str, str], list[str]] = {}
    for name in about["until"]:
        if arrival := found.get((tuple(about["names"]), name)):
            later.setdefault(arrival, []).append(name)
    for (page, title), names in later.items():
        for place, name in enumerate(names):
            between = " " if not place else " and " if name is names[-1] else ", "
            said += [nodes.Text(between), nodes.literal("", name)]
        said += nodes.Text(" comes in " if len(names) == 1 else " come in ")
        said += make_refnode(app.builder, docname, page, "", nodes.inline("", title))
        said += nodes.Text(".")
    yield said


class FoldListings(SphinxPostTransform):
    """Closes the listings that are no story, where the format can."""

    default_priority = 199
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Run over one page."""
        for block in self.document.findall(nodes.container):
            if summary := block.attributes.pop("folds", ""):
                fold = HideCodeCellNode(prompt_show=summary, prompt_hide=summary)
                fold += block.children
                block.children = []
                block += fold


class OpenListings(SphinxPostTransform):
    """Makes folded listings like all others, where a format cannot close them."""

    default_priority = 200

    def run(self, **kwargs: Any) -> None:
        """Run over one page."""
        for block in self.document.findall(nodes.container):
            if block.attributes.pop("folds", ""):
                block[0] = nodes.caption("", "", *block[0].children)
