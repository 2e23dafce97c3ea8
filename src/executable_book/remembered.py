"""What parts ask of the book that is built, and what they remember of it from build to build.

Sphinx does not read an unchanged page twice. So what a page says is stored while it is read, among what
Sphinx stores of it: dropped when the page is read again, and merged from parallel readers. What all pages say
together is stored for the book; a part that finds it changed has the pages written again that show it.

What can only be said once all pages are known has a `Placeholder` of its kind until then. `build_order` knows
which function says what comes in its place, and which kinds authors write as directives.
"""

from collections.abc import Callable, Iterable
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective


def page_data(env: BuildEnvironment, subject: str) -> dict[str, Any]:
    """Return what is stored of each page, in the order of their names."""
    key = f"book {subject}"
    return {page: said[key] for page, said in sorted(env.metadata.items()) if key in said}


def set_page_data(env: BuildEnvironment, subject: str, docname: str, value: Any) -> None:
    """Store something about a page, until the page is read again."""
    env.metadata[docname][f"book {subject}"] = value


def book_data(env: BuildEnvironment, subject: str) -> Any:
    """Return what these tools have stored of the book; None if there is nothing."""
    tools, value = vars(env).get(f"book_{subject}", (None, None))
    return value if tools == env.config.book_tools else None


def replace_book_data(env: BuildEnvironment, subject: str, value: Any) -> Any:
    """Store something about the book, and return what was stored before; None if there was nothing."""
    before = book_data(env, subject)
    vars(env)[f"book_{subject}"] = env.config.book_tools, value
    return before


def in_order(env: BuildEnvironment) -> list[str]:
    """Return the pages in the order of the contents."""
    return [*env.collect_relations()]


def is_site(app: Sphinx) -> bool:
    """Tell whether a build makes a site, as opposed to an e-book."""
    return app.builder.name == "html"


class Placeholder(nodes.General, nodes.Inline, nodes.Element):
    """Stands for something of a `kind`; further attributes say of what."""


Fill = Callable[[Sphinx, str, Placeholder], Iterable[nodes.Node]]
"""Given the page's name and the placeholder, returns the nodes that come in its place."""


class PlaceholderDirective(SphinxDirective):
    """Puts a placeholder of its name on a page, and notes that the page shows it."""

    def run(self) -> list[nodes.Node]:
        """Put the placeholder."""
        set_page_data(self.env, self.name, self.env.docname, True)
        return [Placeholder(kind=self.name)]
