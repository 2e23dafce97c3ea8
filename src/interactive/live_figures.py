"""Figures that readers can touch: their places on pages, their scripts, and the library's numbers for them.

In a page stands

    ```{live-figure} cache_stepper
    What readers see who have no script, or paper: any Markdown, if it is not above the figure already.
    ```

The scripts are in `_static/parts/`, which all live figures share, and in `_static/NAME/`. If there is a
module `NAME_numbers.py` beside this one, the build runs it when the library has changed, in a process of its
own, as the one that builds the book never imports torch. What it prints becomes a script, which the page asks
for when the reader comes near: a page that was opened from file:// can fetch nothing else.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from sphinx.util.osutil import relative_uri
from sphinx.writers.html5 import HTML5Translator

from executable_book.check.repeated_warnings import Finding, judge
from executable_book.files_on_disk import write_atomically
from executable_book.page_facts import keep, kept
from executable_book.run.fingerprint import fingerprint
from interactive.playground import error_in

CHECK = "live-figures"
PARTS = ("elements", "matrix", "reader", "stepper")
FIGURES: dict[str, tuple[str, ...]] = {
    "cache_stepper": ("counts", "page"),
    "head_browser": ("heads", "page"),
    "induction_lab": ("model", "page"),
}
"""The live figures, and the files of their scripts, each of which needs those before it."""


class LiveFigure(nodes.container):
    """The element that a script fills. Its children are for readers without it."""


class LiveFigureDirective(SphinxDirective):
    """Marks where on a page a live figure is."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the element, with what stands there for readers without scripts."""
        name = directives.choice(self.arguments[0], tuple(FIGURES))
        element = LiveFigure(figure=name)
        self.set_source_info(element)
        element += self.parse_content_to_nodes()
        return [element]


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Remember the live figures of a page that was read."""
    found = [(one.line, one["figure"]) for one in doctree.findall(LiveFigure)]
    keep(app.env, CHECK, app.env.docname, found)


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


def compute(app: Sphinx, env: BuildEnvironment) -> Iterable[str]:
    """Have the numbers of all figures that pages show; return the pages whose numbers are new."""
    changed = []
    for name, docnames in shown(env).items():
        if module_of(name).exists() and compute_one(app, name):
            changed += docnames
    return changed


def shown(env: BuildEnvironment) -> dict[str, list[str]]:
    """Return the figures that are shown, with the pages they are shown on."""
    places: dict[str, list[str]] = {}
    for docname, figures in kept(env, CHECK).items():
        for _, name in figures:
            places.setdefault(name, []).append(docname)
    return dict(sorted(places.items()))


def compute_one(app: Sphinx, name: str) -> bool:
    """Have a figure's numbers in the build folder, or why there are none; tell whether they are new."""
    path, module = numbers_of(app, name), module_of(name)
    now = fingerprint([module, *(Path(app.confdir, each) for each in app.config.book_depends)])
    before = stored(path)
    if before.get("fingerprint") == now:
        return False
    run = subprocess.run([sys.executable, module], capture_output=True, text=True, check=False)
    if run.returncode:
        made: dict[str, Any] = {"problem": f"{module.name} failed: {error_in(run.stderr)}"}
    else:
        made = {"fingerprint": now, "numbers": json.loads(run.stdout)}
    write_atomically(path, json.dumps(made))
    return made.get("numbers") != before.get("numbers")


def stored(path: Path) -> dict[str, Any]:
    """Return what is kept in a file: nothing, if it is damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def publish(app: Sphinx, exception: Exception | None) -> None:
    """Write the scripts that bring the numbers to readers."""
    if exception or app.builder.format != "html" or app.builder.name == "epub":
        return
    for name in shown(app.env):
        if module_of(name).exists():
            path, text = script_of(app, name), script(app, name)
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                write_atomically(path, text)


def script(app: Sphinx, name: str) -> str:
    """Return a figure's numbers as a script that hands them over."""
    numbers = stored(numbers_of(app, name)).get("numbers")
    return f"literateParts.numbers.{name} = {json.dumps(numbers, separators=(',', ':'))};\n"


def judge_numbers(app: Sphinx) -> Iterator[Finding]:
    """Report the pages whose figures have no numbers."""
    for docname, figures in kept(app.env, CHECK).items():
        for line, name in figures:
            if problem := stored(numbers_of(app, name)).get("problem"):
                yield Finding(docname, line, problem)


# The page


def visit_html(self: HTML5Translator, node: LiveFigure) -> None:
    """Open the element, which knows where its numbers are; in an e-book its children stand for themselves."""
    if self.builder.name == "epub":
        return
    name = node["figure"]
    attributes = {"data-figure": name}
    if module_of(name).exists():
        here = self.builder.get_target_uri(self.builder.current_docname)
        there = script_of(self.builder.app, name).relative_to(self.builder.outdir).as_posix()
        version = sha256(script(self.builder.app, name).encode()).hexdigest()[:8]
        attributes["data-numbers"] = f"{relative_uri(here, there)}?v={version}"
    self.body.append(self.starttag(node, "div", CLASS=f"live-figure {name}", **attributes))


def depart_html(self: HTML5Translator, node: LiveFigure) -> None:
    """Close the element."""
    if self.builder.name != "epub":
        self.body.append("</div>\n")


def pass_by(self: Any, node: LiveFigure) -> None:
    """On paper the children stand for themselves."""


def load_scripts(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Load scripts and styles on pages that have live figures, and on no other."""
    if app.builder.name == "epub" or doctree is None:
        return
    names = dict.fromkeys(element["figure"] for element in doctree.findall(LiveFigure))
    if names:
        files = [f"parts/{part}" for part in PARTS]
        files += [f"{name}/{file}" for name in names for file in FIGURES[name]]
        for file in files:
            app.add_js_file(f"{file}.js", loading_method="defer")
        app.add_css_file("parts/parts.css")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.setup_extension("executable_book")
    # A visitor for "epub" by name would make Sphinx forget those that others have for HTML.
    visitors: dict[str, Any] = dict.fromkeys(("latex", "text"), (pass_by, pass_by))
    app.add_node(LiveFigure, html=(visit_html, depart_html), **visitors)
    app.add_directive("live-figure", LiveFigureDirective)
    app.connect("doctree-read", collect)
    app.connect("env-updated", compute)
    app.connect("html-page-context", load_scripts)
    app.connect("build-finished", publish)
    judge(app, CHECK, judge_numbers)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
