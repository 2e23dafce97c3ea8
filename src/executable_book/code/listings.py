"""The directive `{library}`: the code of something that the package defines, as a chapter shows it.

    ```{library} sieve
    From all numbers to the primes.
    ```

The text is the caption. Docstrings, types and refusals of bad input are left out (see `abridged`); the
caption says so, and leads to the API reference and to the file. Several names, of one file, make one listing.

* `:until: name` leaves out what uses a name that a later chapter adds.
* `:new: name` is that later listing: the lines that use the name are marked.
* `:folded:` is for what is no story: it is there, with its refusals, and closed.

While a page is read, it stores what its listings show, for the checks in `check.taught_code`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from executable_book.book_domain import set_page_data
from executable_book.code.abridged import Abridged, Place, abridge, new_lines
from executable_book.code.package_source import Item, Library, defined_in, library_in
from executable_book.html.foldable import folded
from executable_book.placeholders import Placeholder
from executable_book.publish.repository import source_link

LISTINGS = "listings"
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
        folded: whether it is closed.
    """

    line: int
    names: tuple[str, ...]
    file: Path
    places: frozenset[Place]
    code: str
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


@dataclass(frozen=True)
class Listing:
    """One or more definitions of one file, abridged."""

    items: tuple[Item, ...]
    until: tuple[str, ...] = ()
    refusals: bool = False

    @cached_property
    def parts(self) -> list[Abridged]:
        """The definitions."""
        text = self.items[0].file.read_text(encoding="utf-8")
        return [abridge(text, item.node, self.until, refusals=self.refusals) for item in self.items]

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
        items = listing.items
        self.env.note_dependency(items[0].file)
        code = nodes.literal_block(listing.code, listing.code, language="python")
        code["library"] = [item.name for item in items]
        code["shown"] = Shown(
            self.lineno,
            tuple(item.own for item in items),
            items[0].file,
            frozenset().union(*(part.statements for part in listing.parts)),
            listing.code,
            "folded" in self.options,
        )
        if new := self.options.get("new"):
            code["highlight_args"] = {"hl_lines": self._new_lines(listing, new)}
        text, messages = self.parse_inline(" ".join(self.content))
        named = [*self._names(items)]
        without = Placeholder(
            kind="left out",
            kinds=listing.left_out,
            file=repository_path(self.config, self.env.srcdir, items[0].file),
            lines=(items[0].first, items[-1].last),
        )
        block = nodes.container("", literal_block=True, classes=["literal-block-wrapper"])
        if "folded" in self.options:
            summary = "".join(part.astext() for part in text) or ", ".join(code["library"])
            # a paragraph takes no number away from the listings that are seen
            about = nodes.paragraph("", "", *named, without, classes=["caption"])
            block += folded(summary, about, code)
        else:
            colon = [nodes.Text(": ")] if text else []
            block += [nodes.caption("", "", *named, *colon, *text, without), code]
        self.set_source_info(block)
        self.set_source_info(code)
        self.add_name(block)
        return [block, *messages]

    def _listing(self) -> Listing:
        library = library_of(self.config, self.env.srcdir)
        items = tuple(library.find(name) for name in self.arguments[0].split())
        if len({item.file for item in items}) > 1:
            raise LookupError("a listing shows code of one file")
        until = self.options.get("until", ())
        for name in until:
            if not any(part.later for part in Listing(items, (name,)).parts):
                raise LookupError(f"nothing in the listing uses {name!r}, which it leaves out")
        return Listing(items, until, "folded" in self.options)

    def _new_lines(self, listing: Listing, new: tuple[str, ...]) -> list[int]:
        before = Listing(listing.items, (*listing.until, *new), listing.refusals)
        if not (lines := new_lines(before.code, listing.code)):
            raise self.error(f"nothing in the listing uses {', '.join(new)}, which is new")
        return lines

    def _names(self, items: tuple[Item, ...]) -> Iterator[nodes.Node]:
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


def left_out(app: Sphinx, docname: str, about: Placeholder) -> list[nodes.Node]:
    """Say in a caption what is left out, and lead to the file, as it was when the book was built."""
    *others, kind = about["kinds"] or [""]
    kinds = f"{', '.join(others)} and {kind}" if others else kind
    link = source_link(app.config, about["file"], *about["lines"])
    said = nodes.inline("", f" Without {kinds}, which are in " if kinds else " ")
    said += [nodes.reference("", "the file", refuri=link), nodes.Text(".")]
    said["classes"] = ["left-out"]
    return [said]


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Store what the listings of a page show, and what its cells define, in their order."""
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
