"""The playground: its place on the page, the numbers that it starts from, and those it is proved by.

The directive writes what every reader sees first, and what is all without a script or on paper: a
sentence and two tables. `_static/playground.js` puts the live playground in their place. It finds its
starting numbers in an attribute of the element, as a page opened from file:// can fetch nothing and a
strict policy forbids inline scripts.

All numbers are the library's. `playground_vectors.py` computes them, in a process of its own, when the
library has changed. They are kept in the build folder, together with the settings and results that the
page's script is compared with by `tests/test_playground.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from execution import fingerprint
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

SCRIPT = Path(__file__).with_name("playground_vectors.py")
WITHOUT_SCRIPT = (
    "The playground is alive in a web browser with JavaScript. Without it, here is what it starts from, "
    "and what the library makes of it."
)


class Playground(nodes.container):
    """The element that the script takes over. Its children are for readers without it."""


class PlaygroundDirective(SphinxDirective):
    """Puts the playground on the page."""

    def run(self) -> list[nodes.Node]:
        """Build the element from the library's numbers."""
        path = numbers_of(self.env.app)
        self.env.note_dependency(str(path))
        beginning = json.loads(path.read_text(encoding="utf-8"))["beginning"]
        tokens = beginning["tokens"]
        element = Playground("", nodes.paragraph(text=WITHOUT_SCRIPT), beginning=beginning)
        for title, columns, rows in (
            ("Embeddings", range(1, 4), beginning["embeddings"]),
            ("Attention weights", tokens, beginning["weightsOfExample"]),
            ("Context vectors", range(1, 4), beginning["contextOfExample"]),
        ):
            element += table(title, [str(column) for column in columns], tokens, rows)
        return [element]


def table(title: str, columns: list[str], labels: list[str], rows: list[list[float]]) -> nodes.table:
    """Return a table of numbers, with a label for each column and each row."""

    def line(cells: list[str]) -> nodes.row:
        return nodes.row("", *(nodes.entry("", nodes.paragraph(text=cell)) for cell in cells))

    group = nodes.tgroup("", cols=len(columns) + 1, stub=1)
    group += [nodes.colspec(colwidth=1, stub=int(first)) for first in (True, *[False] * len(columns))]
    group += nodes.thead("", line(["", *columns]))
    group += nodes.tbody(
        "",
        *(line([label, *(f"{x:.4f}" for x in row)]) for label, row in zip(labels, rows, strict=True)),
    )
    return nodes.table("", nodes.title(text=title), group, classes=["output"])


def numbers_of(app: Sphinx) -> Path:
    """Return where the numbers are: beside the output folder, so that all builders share them."""
    return app.outdir.parent / "playground.json"


def compute(app: Sphinx) -> None:
    """Have the library's numbers in the build folder, fresh."""
    path = numbers_of(app)
    now = fingerprint([SCRIPT, *(Path(app.confdir, name) for name in app.config.execution_depends)])
    if path.is_file() and json.loads(path.read_text(encoding="utf-8")).get("fingerprint") == now:
        return
    run = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False)
    if run.returncode:
        raise ExtensionError(f"{SCRIPT.name} failed:\n{run.stderr}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"fingerprint": now, **json.loads(run.stdout)}), encoding="utf-8")


def visit_html(self: HTML5Translator, node: Playground) -> None:
    """Open the element, with its starting numbers."""
    numbers = json.dumps(node["beginning"])
    self.body.append(self.starttag(node, "div", CLASS="playground", **{"data-beginning": numbers}))


def depart_html(self: HTML5Translator, node: Playground) -> None:
    """Close the element."""
    self.body.append("</div>\n")


def pass_by(self: Any, node: Playground) -> None:
    """On paper the children stand for themselves."""


def load_script(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Load the script and its styles on pages that have a playground, and on no other."""
    if doctree is not None and next(doctree.findall(Playground), None) is not None:
        app.add_js_file("playground.js", loading_method="defer")
        app.add_css_file("playground.css")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.setup_extension("execution")
    on_paper = (pass_by, pass_by)
    app.add_node(
        Playground,
        html=(visit_html, depart_html),
        **{builder: on_paper for builder in ("latex", "text", "man", "texinfo")},
    )
    app.add_directive("playground", PlaygroundDirective)
    app.connect("builder-inited", compute)
    app.connect("html-page-context", load_script)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
