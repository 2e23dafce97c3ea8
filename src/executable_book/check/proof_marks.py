"""What vouches for a cell, as a small mark beside it that unfolds; and for a page, as a line at its foot.

A cell that reproduces outputs of the sources has a check mark: unfolded, it says where they print them, and
leads to the ledger. A cell that cannot print the same twice says why. There is at most one mark a cell. It is
a `<details>`, so it needs no script; on paper, in e-books and in notebooks there is its short form, a line.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from executable_book.check.page_troubles import STOPPED, troubles_of
from executable_book.check.source_ledger import (
    Check,
    Output,
    all_checks,
    anchor_of,
    ledger_link,
    ledger_of,
    verified,
)
from executable_book.remembered import Placeholder
from executable_book.run.executed_cells import cells, executed_with, is_cell

MET, NOT_MET, VARIES = "✓", "✗", "≈"


class ProofMark(nodes.General, nodes.Element):
    """A mark: its sign, what it says in short, and what it says unfolded."""


def add_marks(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put a mark after each cell that has something to show for itself."""
    for cell in list(doctree.findall(is_cell)):
        assert isinstance(cell, nodes.container)
        if mark := _mark(app, docname, cell):
            cell.parent.insert(cell.parent.index(cell) + 1, mark)


def _mark(app: Sphinx, docname: str, cell: nodes.container) -> nodes.Element | None:
    checks = [one for one in all_checks(app.env).get(docname, ()) if one.anchor in cell["ids"]]
    outputs = ledger_of(app.env).outputs if checks else {}
    if claimed := [(one, outputs[one.output_id]) for one in checks if one.output_id in outputs]:
        return _of_sources(app, docname, claimed)
    if reason := str(cell["cell_metadata"].get("nondeterministic") or "").strip():
        says = f"Yours may differ: {reason}"
        return _in_format(app, VARIES, says, nodes.paragraph("", f"{says}."))
    return None


def _of_sources(app: Sphinx, docname: str, claimed: list[tuple[Check, Output]]) -> nodes.Element:
    met = not any(check.problem for check, _ in claimed)
    sources = sorted({place.source for _, output in claimed for place in output.places})
    says = f"{'As' if met else 'Not as'} printed in source{'s' * (len(sources) > 1)} {', '.join(sources)}"
    found = nodes.bullet_list()
    for _, output in claimed:
        link = ledger_link(app, docname, anchor_of(output.id), output.id)
        places = nodes.bullet_list()
        for place in output.places:
            text = f"source {place.source}, line {place.line}: {place.section}"
            misprint = ", with a misprint" * bool(place.misprint)
            places += nodes.list_item("", nodes.paragraph("", text + misprint))
        found += nodes.list_item("", nodes.paragraph("", "", link), places)
    return _in_format(app, MET if met else NOT_MET, says, nodes.paragraph("", f"{says}:"), found)


def _in_format(app: Sphinx, sign: str, says: str, *unfolded: nodes.Node) -> nodes.Element:
    if app.builder.name == "epub":
        return nodes.paragraph("", f"{sign} {says}.", classes=["proof"])
    return ProofMark("", *unfolded, sign=sign, says=says)


def visit(self: HTML5Translator, node: nodes.Element) -> None:
    """Open a mark; what it says is heard at once, and seen once it is unfolded."""
    sign, says = self.encode(node["sign"]), self.encode(node["says"])
    self.body.append('<details class="proof">')
    self.body.append(f'<summary>{sign}<span class="says"> {says}</span></summary>\n<div>\n')


def depart(self: HTML5Translator, node: nodes.Element) -> None:
    """Close a mark."""
    self.body.append("</div>\n</details>\n")


def mark_ends(app: Sphinx, doctree: nodes.document) -> None:
    """Mark where a page that has code cells says at its top what went wrong, and at its foot what ran it."""
    if cells(app.env, doctree):
        chapter: nodes.Element = next(doctree.findall(nodes.section), doctree)
        chapter.insert(isinstance(chapter[0], nodes.title), Placeholder(kind="page note"))
        chapter += Placeholder(kind="page foot")


def page_foot(app: Sphinx, docname: str, place: Placeholder) -> list[nodes.Node]:
    """Say on which device and versions the page ran, and how many source outputs it verifies."""
    foot = nodes.paragraph("", what_ran(executed_with(app.env, docname)), classes=["page-foot"])
    if checks := all_checks(app.env).get(docname):
        count = len(verified(checks))
        says = f"{count} source output{'' if count == 1 else 's'} verified"
        link = ledger_link(app, docname, "", says)
        foot.extend([nodes.Text("; "), link, nodes.Text(" on this page")])
    trouble = troubles_of(app.env).get(docname, STOPPED)
    foot.append(nodes.Text("" if trouble == STOPPED else f"; {trouble}"))
    foot.append(nodes.Text("."))
    return [foot]


def what_ran(about: dict[str, str]) -> str:
    """Say which `device` and versions a page ran with, by name, as far as they are known."""
    if not about:
        return "Not executed to its end"
    names = [name for name in about if name not in ("device", "python")]
    versions = [*(f"{name} {about[name]}" for name in names), f"Python {about['python']}"]
    device = f" on {about['device']}" if "device" in about else ""
    return f"Executed{device} with {' and '.join(versions)}"
