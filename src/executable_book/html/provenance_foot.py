"""The line at the foot of each executed page: what ran it, and how much of it is vouched for."""

from docutils import nodes
from sphinx.application import Sphinx

from executable_book.check.source_ledger import ledger_link, report_of
from executable_book.placeholders import Placeholder
from executable_book.run.executed_cells import cells, executed_with


def mark_foot(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the foot of a page that has code cells."""
    if cells(app.env, doctree):
        chapter: nodes.Element = next(doctree.findall(nodes.section), doctree)
        chapter += Placeholder(kind="page foot")


def page_foot(app: Sphinx, docname: str, place: Placeholder) -> list[nodes.Node]:
    """Say on which device and versions the page ran, and how many source outputs it verifies."""
    checks = report_of(app.env).on_page(docname)
    failed = {output.id for check, output in checks if check.problem}
    claimed = {output.id for _, output in checks}
    foot = nodes.paragraph("", what_ran(executed_with(app.env, docname)), classes=["page-foot"])
    if claimed:
        count = len(claimed - failed)
        says = f"{count} source output{'' if count == 1 else 's'} verified"
        link = ledger_link(app, docname, "", says)
        foot.extend([nodes.Text("; "), link, nodes.Text(" on this page")])
    foot.append(nodes.Text("."))
    return [foot]


def what_ran(about: dict[str, str]) -> str:
    """Say which `device` and versions a page ran with, by name, as far as they are known."""
    if not about:
        return "Not executed to its end"
    names = {**about, "Python": about["python"]}
    device = f" on {names.pop('device')}" if "device" in names else ""
    *others, last = (f"{name} {version}" for name, version in names.items() if name != "python")
    versions = f"{', '.join(others)} and {last}" if others else last
    return f"Executed{device} with {versions}"
