"""The directive `{library}`: the code of something that the package defines, as a chapter shows it.

    ```{library} sieve
    From all numbers to the primes.
    ```

The text is the caption. It says what is left out (see `abridged`). Several names make one listing.

* `:until: name` leaves out what uses a name that a later chapter adds.
* `:new: name` is that later listing: the lines that use the name are marked.
* `:folded:` is for what is no story: it is there, with its refusals, and closed.
"""

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

from executable_book.code.abridged import abridge, new_lines
from executable_book.code.package_source import Item, Library, defined_in, library_in
from executable_book.html.foldable import folded
from executable_book.remembered import Placeholder, set_page_data
from executable_book.repository import source_link

LISTINGS = "listings"
Defined = frozenset[str]
"""The names that a cell defines."""


class Shown(NamedTuple):
    """What a listing shows: definitions of one module, each by its name where it is defined."""

    line: int
    names: tuple[str, ...]
    module: str
    code: str
    is_whole: bool


_library = cache(library_in)
"""What reads the package once a build: it is asked for with each block of code."""


def forget_library(app: Sphinx, config: Config) -> None:
    """Forget what an earlier build in this process has read."""
    _library.cache_clear()


def library_of(config: Config, srcdir: str | Path) -> Library:
    """Return the package that a book teaches."""
    return _library(Path(srcdir, config.book_package or "no-package").resolve())


class LibraryCode(SphinxDirective):
    """Shows the code of what its argument names; its content is the caption."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "until": str.split,
        "new": str.split,
        "folded": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        """Find the code, and follow the file that it stands in."""
        library = library_of(self.config, self.env.srcdir)
        try:
            items = [library.find(name) for name in self.arguments[0].split()]
        except LookupError as error:
            raise self.error(str(error)) from None
        module, is_folded = items[0].module, "folded" in self.options
        if any(item.module != module for item in items):
            raise self.error("a listing shows code of one file")
        self.env.note_dependency(module.file)
        abridged = partial(abridge, module.text, [item.node for item in items], refusals=is_folded)
        until, new = self.options.get("until", []), self.options.get("new", [])
        listing = abridged(until)
        code = nodes.literal_block(listing.code, listing.code, language="python")
        code["library"], code["module"] = [item.name for item in items], module.name
        own = tuple(item.own for item in items)
        code["shown"] = Shown(self.lineno, own, module.name, listing.code, is_whole=not until)
        if until or new:
            lines = new_lines(abridged(until + new).code, abridged().code)
            if not lines:
                raise self.error(f"nothing in the listing uses {', '.join(until + new)}")
            if new:
                code["highlight_args"] = {"hl_lines": lines}
        text, messages = self.parse_inline(" ".join(self.content))
        firsts, lasts = zip(*(item.lines for item in items), strict=True)
        without = Placeholder(
            kind="left out",
            kinds=listing.left_out,
            file=library.path_of(module),
            lines=(min(firsts), max(lasts)),
        )
        block = nodes.container("", literal_block=True, classes=["literal-block-wrapper"])
        names = self._names(items)
        if is_folded:
            summary = "".join(part.astext() for part in text) or ", ".join(code["library"])
            # a paragraph takes no number away from the listings that are seen
            about = nodes.paragraph("", "", *names, without, classes=["caption"])
            block += folded(summary, about, code)
        else:
            colon = [nodes.Text(": ")] if text else []
            block += [nodes.caption("", "", *names, *colon, *text, without), code]
        self.set_source_info(block)
        self.set_source_info(code)
        return [block, *messages]

    def _names(self, items: list[Item]) -> Iterator[nodes.Node]:
        """Yield the names, as links if the API reference can have entries for them."""
        for item in items:
            if item is not items[0]:
                yield nodes.Text(", ")
            literal = nodes.literal("", item.name)
            if "._" in item.full:
                yield literal
            else:
                about = {"refdomain": "py", "reftype": "obj", "refdoc": self.env.docname}
                yield addnodes.pending_xref("", literal, reftarget=item.full, **about)


def left_out(app: Sphinx, docname: str, about: Placeholder) -> list[nodes.Node]:
    """Say in a caption what is left out, and lead to the file, as it was when the book was built."""
    *others, kind = about["kinds"] or ("",)
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
            found.append(frozenset(defined_in(block.astext())))
    if found:
        set_page_data(app.env, LISTINGS, app.env.docname, found)
