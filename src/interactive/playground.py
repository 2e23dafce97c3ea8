"""The playground: its place on the page, the numbers that it starts from, and those it is proved by.

The directive writes what every reader sees first, and what is all without a script or on paper: a
sentence and three tables. The scripts in `_static/playground/`, made of the parts that all live figures
share, put the live one in their place. It finds its starting numbers in an attribute of the element, as a
page opened from file:// can fetch nothing and a strict policy forbids inline scripts.

All numbers are the library's. `playground_numbers.py` computes them when the library has changed, and they
are kept in the build folder. `tests/interactive/test_playground.py` compares the script with the library.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from executable_book.book_domain import page_data, set_page_data
from executable_book.check.repeated_warnings import Finding, judge
from executable_book.html.table_nodes import new_table
from interactive import number_store, scripted_element

CHECK = "playground"
SCRIPT = Path(__file__).with_name("playground_numbers.py")
SCRIPTS = (
    *("arithmetic", "links", "state", "announcements", "fields", "settings"),
    *("equation", "matrices", "plane", "explanation", "page"),
)
"""The files of the page's script, each of which needs those before it."""
WITHOUT_SCRIPT = (
    "The playground is alive in a web browser with JavaScript. Without it, here is what it starts from, "
    "and what the library makes of it."
)


class Playground(nodes.container):
    """The element that the script takes over. Its children are for readers without it."""


class PlaygroundDirective(SphinxDirective):
    """Marks where on a page the playground is."""

    def run(self) -> list[nodes.Node]:
        """Return the element, which `fill` fills."""
        element = Playground()
        self.set_source_info(element)
        return [element]


def numbers_of(app: Sphinx) -> Path:
    """Return where the numbers are: beside the output folder, so that all builders share them."""
    return app.outdir.parent / "playground.json"


def outdated(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Have pages with a playground read again when the numbers are stale."""
    now = number_store.fingerprint_of(app, SCRIPT)
    stale = number_store.are_stale(app, numbers_of(app), now)
    return [*(page_data(env, CHECK).keys() - removed)] if stale else []


def begin(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Begin to compute the library's numbers, if they are stale; pages that wait for them are read last."""
    number_store.begin(app, SCRIPT, numbers_of(app))
    docnames.sort(key=lambda name: b"{playground}" in Path(env.doc2path(name)).read_bytes())
    if app.parallel > 1:  # readers that are forks cannot wait for a program
        number_store.finish(app, SCRIPT, numbers_of(app))


def fill(app: Sphinx, doctree: nodes.document) -> None:
    """Give each playground of a page its starting numbers, and what readers see without a script."""
    path = numbers_of(app)
    for element in doctree.findall(Playground):
        app.env.note_dependency(str(path))  # another builder may compute it
        number_store.finish(app, SCRIPT, path)
        made = number_store.stored(path)
        set_page_data(app.env, CHECK, app.env.docname, (element.line, made.get("problem")))
        if "numbers" not in made:
            continue
        numbers = made["numbers"]
        example = numbers["example"]
        element["beginning"] = numbers["beginning"]
        tokens = numbers["beginning"]["tokens"]
        element += nodes.paragraph(text=WITHOUT_SCRIPT)
        for title, columns, rows in (
            ("Embeddings", ["1", "2", "3"], numbers["beginning"]["embeddings"]),
            ("Attention weights", tokens, example["weights"]),
            ("Context vectors", ["1", "2", "3"], example["context"]),
        ):
            lines = [
                [token, *(f"{x:.4f}" for x in row)] for token, row in zip(tokens, rows, strict=True)
            ]
            element += new_table([title, *columns], lines, "output")


def judge_numbers(app: Sphinx) -> Iterator[Finding]:
    """Report the pages that have no numbers to start from."""
    for docname, (line, problem) in page_data(app.env, CHECK).items():
        if problem:
            yield Finding(docname, line, problem)


def attributes_of(self: HTML5Translator, node: Playground) -> dict[str, str]:
    """Return what the element tells its script: the starting numbers."""
    beginning = json.dumps(node.get("beginning"))
    return {"CLASS": "live-figure playground", "data-beginning": beginning}


def load_script(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Load the script and its styles on pages that have a playground, and on no other."""
    if scripted_element.found_in(app, doctree, Playground):
        scripts = (f"playground/{name}" for name in SCRIPTS)
        scripted_element.load(app, scripts, "playground/playground.css")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.setup_extension("executable_book")
    scripted_element.add_element(app, Playground, attributes_of)
    app.add_directive("playground", PlaygroundDirective)
    app.connect("env-get-outdated", outdated)
    app.connect("env-before-read-docs", begin)
    app.connect("doctree-read", fill)
    app.connect("html-page-context", load_script)
    judge(app, CHECK, judge_numbers)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
