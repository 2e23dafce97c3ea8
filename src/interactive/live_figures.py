"""Figures that readers can touch: their places on pages, their scripts, and the library's numbers for them.

In a page stands

    ```{live-figure} cache_stepper
    What readers see who have no script, or paper: any Markdown, if it is not above the figure already.
    ```

The option `:begin:` tells the script how to begin, as `name=value` pairs with `&` between them.

The scripts are in `_static/parts/`, which all live figures share, and in `_static/NAME/`, with `NAME.css`
where a figure needs styles of its own. If there is a module `NAME_numbers.py` beside this one, the build runs
it when the library has changed. What it prints becomes a script, `NAME_numbers.js`, which the page asks for
when the reader comes near: a page that was opened from file:// can fetch nothing else. Readers
without scripts see those of its numbers that are called "tables".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from sphinx.util.osutil import relative_uri
from sphinx.writers.html5 import HTML5Translator

from executable_book.files_on_disk import digest_of, sha256, write_if_changed
from executable_book.remembered import is_site, page_data, replace_book_data, set_page_data
from executable_book.repeated_warnings import Finding, reporter
from executable_book.run import stored_prints
from executable_book.run.page_execution import execution_digest

CHECK = "live-figures"
PARTS = ("numbers", "elements", "matrix", "reader", "stepper", "language_model")
"""The scripts that all live figures share, each of which needs those before it."""
FIGURES: dict[str, tuple[str, ...]] = {
    "cache_stepper": ("counts", "page"),
    "head_browser": ("heads", "page"),
    "induction_lab": ("curve", "page"),
    "learning_to_write": ("world", "page"),
    "playground": (
        *("playground_numbers", "arithmetic", "links", "state", "announcements", "fields"),
        *("settings", "equation", "matrices", "plane", "explanation", "page"),
    ),
    "training_lab": ("learning", "drawings", "page"),
}
"""The live figures, and the files of their scripts, each of which needs those before it. A figure that is
seen at once has its numbers among them."""


class LiveFigure(nodes.container):
    """The element that a script fills. Its children are for readers without it."""


class LiveFigureDirective(SphinxDirective):
    """Marks where on a page a live figure is."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[Any] = {"begin": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return the element, with what stands there for readers without scripts."""
        name = directives.choice(self.arguments[0], tuple(FIGURES))
        element = LiveFigure(figure=name, **self.options)
        self.set_source_info(element)
        element += self.parse_content_to_nodes()
        return [element]


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Remember the live figures of a page that was read."""
    found = [(one.line, one["figure"]) for one in doctree.findall(LiveFigure)]
    set_page_data(app.env, CHECK, app.env.docname, found)


# The library's numbers


def module_of(name: str) -> Path:
    """Return the module that prints a figure's numbers, if it has any."""
    return Path(__file__).with_name(f"{name}_numbers.py")


def begin(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Begin to compute the numbers of all figures: which pages show one is known when all have been read.

    A build that writes nothing shows none.
    """
    depends = [Path(app.confdir, name) for name in app.config.book_depends]
    digest = execution_digest(app.config, depends)
    for name in FIGURES if app.builder.format else ():
        if (module := module_of(name)).exists():
            stored_prints.begin(app.outdir, name, f"{digest_of(module)} {digest}", str(module))


def update(app: Sphinx, env: BuildEnvironment) -> Iterable[str]:
    """Have the numbers of all figures, publish those that are shown, and return the pages with new ones."""
    for name in FIGURES:
        stored_prints.finish(app.outdir, name)
    pages = shown(env)
    scripts = {name: script(app.outdir, name) for name in pages}
    for name, text in scripts.items():
        if text and is_site(app):
            write_if_changed(script_of(app.outdir, name), text)
    now = {name: sha256(text) for name, text in scripts.items()}
    before = replace_book_data(env, CHECK, now) or {}
    return [page for name in pages if now[name] != before.get(name) for page in pages[name]]


def shown(env: BuildEnvironment) -> dict[str, list[str]]:
    """Return the figures that are shown, with the pages they are shown on."""
    places: dict[str, list[str]] = {}
    for docname, figures in page_data(env, CHECK).items():
        for _, name in figures:
            places.setdefault(name, []).append(docname)
    return dict(sorted(places.items()))


def script(outdir: Path, name: str) -> str:
    """Return a figure's numbers as a script that hands them over; nothing, if there are none."""
    found = stored_prints.stored(outdir, name)
    if "printed" not in found:
        return ""
    numbers = json.dumps(found["printed"], separators=(",", ":"))
    return f"literateParts.numbers.{name} = {numbers};\n"


def script_of(outdir: Path, name: str) -> Path:
    """Return the file that brings a figure's numbers to readers."""
    return Path(outdir, "_static", name, f"{name}_numbers.js")


def judge_numbers(app: Sphinx) -> Iterator[Finding]:
    """Report the pages whose figures have no numbers."""
    for docname, figures in page_data(app.env, CHECK).items():
        for line, name in figures:
            if problem := stored_prints.stored(app.outdir, name).get("problem"):
                yield Finding(docname, line, f"{module_of(name).name} failed: {problem}")


# The page


def complete(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Add the numbers that readers without scripts see; an e-book has them alone."""
    for element in [*doctree.findall(LiveFigure)]:
        numbers = stored_prints.stored(app.outdir, element["figure"]).get("printed")
        for head, *rows in numbers.get("tables", []) if isinstance(numbers, dict) else []:
            element += new_table(head, rows)
        if app.builder.name == "epub":
            element.replace_self(element.children)


def new_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> nodes.table:
    """Return a table whose first column labels its rows."""
    columns = [nodes.colspec(colwidth=1, stub=int(number == 0)) for number in range(len(head))]
    body = [nodes.thead("", row(head)), nodes.tbody("", *map(row, lines))]
    return nodes.table("", nodes.tgroup("", *columns, *body, cols=len(head)), classes=["output"])


def row(cells: Sequence[str]) -> nodes.row:
    """Return a row of a table."""
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", cell)) for cell in cells))


def visit(self: HTML5Translator, node: LiveFigure) -> None:
    """Open the element, which tells its script where its numbers are."""
    name = node["figure"]
    attributes: dict[str, Any] = {"CLASS": f"live-figure {name}"}
    if "begin" in node:
        attributes["data-begin"] = node["begin"]
    if text := script(self.builder.outdir, name):
        here = self.builder.get_target_uri(self.builder.current_docname)
        there = script_of(self.builder.outdir, name).relative_to(self.builder.outdir).as_posix()
        attributes["data-numbers"] = f"{relative_uri(here, there)}?v={sha256(text)[:8]}"
    self.body.append(self.starttag(node, "div", **attributes))


def depart(self: HTML5Translator, node: LiveFigure) -> None:
    """Close the element."""
    self.body.append("</div>\n")


def load(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Load scripts and styles on pages that have live figures, and on no other."""
    elements = doctree.findall(LiveFigure) if doctree else ()
    figures = {element["figure"]: FIGURES[element["figure"]] for element in elements}
    if not figures:
        return
    for name, files in {"parts": PARTS, **figures}.items():
        for file in files:
            app.add_js_file(f"{name}/{file}.js", loading_method="defer")
        if Path(app.confdir, "_static", name, f"{name}.css").exists():
            app.add_css_file(f"{name}/{name}.css")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.setup_extension("executable_book")
    app.add_node(LiveFigure, html=(visit, depart))
    app.add_directive("live-figure", LiveFigureDirective)
    app.connect("doctree-read", collect)
    app.connect("env-before-read-docs", begin)
    app.connect("env-updated", update)
    app.connect("html-page-context", load)
    app.connect("doctree-resolved", complete)
    app.connect("build-finished", reporter(CHECK, judge_numbers))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
