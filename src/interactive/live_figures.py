"""Figures that readers can touch: their places on pages, their scripts, and the library's numbers for them.

In a page stands

    ```{live-figure} cache_stepper
    What readers see who have no script, or paper: any Markdown, if it is not above the figure already.
    ```

The option `:begin:` tells the script how to begin, as `name=value` pairs with `&` between them.

The scripts are in `_static/parts/`, which all live figures share, and in `_static/NAME/`. If there is a
module `NAME_numbers.py` beside this one, the build runs it when the library has changed. What it prints
becomes a script, which the page asks for when the reader comes near: a page that was opened from file:// can
fetch nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from sphinx.util.osutil import relative_uri
from sphinx.writers.html5 import HTML5Translator

from executable_book.book_domain import page_data, set_page_data
from executable_book.check.repeated_warnings import Finding, judge
from executable_book.files_on_disk import write_if_changed
from interactive import number_store, scripted_element
from interactive.number_store import stored

CHECK = "live-figures"
FIGURES: dict[str, tuple[str, ...]] = {
    "cache_stepper": ("counts", "page"),
    "head_browser": ("heads", "page"),
    "induction_lab": ("model", "curve", "page"),
}
"""The live figures, and the files of their scripts, each of which needs those before it."""


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


def numbers_of(app: Sphinx, name: str) -> Path:
    """Return where a figure's numbers are kept: beside the output folder, so that all builders share them."""
    return app.outdir.parent / "live_figures" / f"{name}.json"


def script_of(app: Sphinx, name: str) -> Path:
    """Return the script that brings a figure's numbers to readers."""
    return Path(app.outdir, "_static", name, f"{name}_numbers.js")


def begin(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Begin to compute the numbers of all figures: which pages show one is known when all have been read."""
    for name in FIGURES:
        if module_of(name).exists():
            number_store.begin(app, module_of(name), numbers_of(app, name))


def update(app: Sphinx, env: BuildEnvironment) -> Iterable[str]:
    """Have the numbers of all figures; return the pages whose numbers are new."""
    new = {
        name for name in FIGURES if number_store.finish(app, module_of(name), numbers_of(app, name))
    }
    return [page for name, pages in shown(env).items() if name in new for page in pages]


def shown(env: BuildEnvironment) -> dict[str, list[str]]:
    """Return the figures that are shown, with the pages they are shown on."""
    places: dict[str, list[str]] = {}
    for docname, figures in page_data(env, CHECK).items():
        for _, name in figures:
            places.setdefault(name, []).append(docname)
    return dict(sorted(places.items()))


def publish(app: Sphinx, exception: Exception | None) -> None:
    """Write the scripts that bring the numbers to readers."""
    if exception or app.builder.format != "html" or app.builder.name == "epub":
        return
    for name in shown(app.env):
        if text := script(app, name):
            write_if_changed(script_of(app, name), text)


def script(app: Sphinx, name: str) -> str:
    """Return a figure's numbers as a script that hands them over; nothing, if there are none."""
    found = stored(numbers_of(app, name))
    if "numbers" not in found:
        return ""
    return (
        f"literateParts.numbers.{name} = {json.dumps(found['numbers'], separators=(',', ':'))};\n"
    )


def judge_numbers(app: Sphinx) -> Iterator[Finding]:
    """Report the pages whose figures have no numbers."""
    for docname, figures in page_data(app.env, CHECK).items():
        for line, name in figures:
            if problem := stored(numbers_of(app, name)).get("problem"):
                yield Finding(docname, line, problem)


# The page


def explain(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Say in a figure's place why it has no numbers, where the book may lack what makes them."""
    for element in doctree.findall(LiveFigure):
        if sentence := stored(numbers_of(app, element["figure"])).get("lacks"):
            element += nodes.paragraph("", sentence)


def attributes_of(self: HTML5Translator, node: LiveFigure) -> dict[str, str]:
    """Return what the element tells its script: which figure it is, and where its numbers are."""
    name = node["figure"]
    attributes = {"CLASS": f"live-figure {name}", "data-figure": name}
    if "begin" in node:
        attributes["data-begin"] = node["begin"]
    if text := script(self.builder.app, name):
        here = self.builder.get_target_uri(self.builder.current_docname)
        there = script_of(self.builder.app, name).relative_to(self.builder.outdir).as_posix()
        version = sha256(text.encode()).hexdigest()[:8]
        attributes["data-numbers"] = f"{relative_uri(here, there)}?v={version}"
    return attributes


def load_scripts(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Load scripts and styles on pages that have live figures, and on no other."""
    found = scripted_element.found_in(app, doctree, LiveFigure)
    if names := dict.fromkeys(element["figure"] for element in found):
        scripts = (f"{name}/{file}" for name in names for file in FIGURES[name])
        scripted_element.load(app, scripts)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.setup_extension("executable_book")
    scripted_element.add_element(app, LiveFigure, attributes_of)
    app.add_directive("live-figure", LiveFigureDirective)
    app.connect("doctree-read", collect)
    app.connect("env-before-read-docs", begin)
    app.connect("env-updated", update)
    app.connect("html-page-context", load_scripts)
    app.connect("doctree-resolved", explain)
    app.connect("build-finished", publish)
    judge(app, CHECK, judge_numbers)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
