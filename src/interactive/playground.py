"""The playground: its place on the page, the numbers that it starts from, and those it is proved by.

The directive writes what every reader sees first, and what is all without a script or on paper: a
sentence and three tables. The scripts in `_static/playground/` put the live one in their place. It finds its
starting numbers in an attribute of the element, as a page opened from file:// can fetch nothing and a
strict policy forbids inline scripts.

All numbers are the library's. `playground_vectors.py` computes them, in a process of its own, when the
library has changed. They are kept in the build folder, together with the settings and results that the
page's script is compared with by `tests/test_playground.py`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from executable_book.check.repeated_warnings import Finding, judge
from executable_book.files_on_disk import write_atomically
from executable_book.html.table_nodes import new_table
from executable_book.page_facts import keep, kept
from executable_book.run.fingerprint import fingerprint

CHECK = "playground"
SCRIPT = Path(__file__).with_name("playground_numbers.py")
SCRIPTS = (
    *("arithmetic", "links", "state", "elements", "announcements", "tables"),
    *("settings", "equation", "matrices", "explanation", "page"),
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


def compute(app: Sphinx) -> None:
    """Have the library's numbers in the build folder, fresh; or, until the next build, why there are none."""
    path = numbers_of(app)
    now = fingerprint([SCRIPT, *(Path(app.confdir, name) for name in app.config.book_depends)])
    if is_made_by(path, now):
        return
    run = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False)
    if run.returncode:
        made = {"problem": f"{SCRIPT.name} failed: {error_in(run.stderr)}"}
    else:
        made = {"fingerprint": now, **json.loads(run.stdout)}
    write_atomically(path, json.dumps(made))


def error_in(said: str) -> str:
    """Return the line of a traceback that names the error."""
    errors = re.findall(r"^[\w.]+(?:Error|Exception|Exit)\b.*", said, re.MULTILINE)
    return errors[-1] if errors else said.strip()


def is_made_by(path: Path, now: str) -> bool:
    """Tell whether the numbers are those of this library; a damaged file is not."""
    try:
        return bool(json.loads(path.read_text(encoding="utf-8"))["fingerprint"] == now)
    except (OSError, ValueError, LookupError, TypeError):
        return False


def fill(app: Sphinx, doctree: nodes.document) -> None:
    """Give each playground of a page its starting numbers, and what readers see without a script."""
    path = numbers_of(app)
    for element in doctree.findall(Playground):
        app.env.note_dependency(str(path))
        numbers = json.loads(path.read_text(encoding="utf-8"))
        if "problem" in numbers:
            keep(app.env, CHECK, app.env.docname, (element.line, numbers["problem"]))
            continue
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
    for docname, (line, problem) in kept(app.env, CHECK).items():
        yield Finding(docname, line, problem)


def visit_html(self: HTML5Translator, node: Playground) -> None:
    """Open the element, with its starting numbers; in an e-book its children stand for themselves."""
    if self.builder.name == "epub":
        return
    attributes: dict[str, Any] = {"data-beginning": json.dumps(node.get("beginning"))}
    self.body.append(self.starttag(node, "div", CLASS="playground", **attributes))


def depart_html(self: HTML5Translator, node: Playground) -> None:
    """Close the element."""
    if self.builder.name != "epub":
        self.body.append("</div>\n")


def pass_by(self: Any, node: Playground) -> None:
    """On paper the children stand for themselves."""


def load_script(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Load the script and its styles on pages that have a playground, and on no other."""
    if app.builder.name == "epub" or doctree is None:
        return
    if any(doctree.findall(Playground)):
        for name in SCRIPTS:
            app.add_js_file(f"playground/{name}.js", loading_method="defer")
        app.add_css_file("playground/playground.css")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.setup_extension("executable_book")
    # A visitor for "epub" by name would make Sphinx forget those that others have for HTML.
    visitors: dict[str, Any] = dict.fromkeys(("latex", "text"), (pass_by, pass_by))
    app.add_node(Playground, html=(visit_html, depart_html), **visitors)
    app.add_directive("playground", PlaygroundDirective)
    app.connect("builder-inited", compute)
    app.connect("doctree-read", fill)
    app.connect("html-page-context", load_script)
    judge(app, CHECK, judge_numbers)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
