"""The line at the foot of each executed page: what ran it, and how much of it is vouched for."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

from executable_book.check.source_ledger import report_of
from executable_book.placeholders import Placeholder
from executable_book.run.executed_cells import cells, executed_with


def make_room(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the foot of a page that has code cells."""
    if cells(app.env, doctree):
        chapter: nodes.Element = next(doctree.findall(nodes.section), doctree)
        chapter += Placeholder(kind="page foot")


def page_foot(app: Sphinx, docname: str, place: Placeholder) -> list[nodes.Node]:
    """Say on which device and versions the page ran, and how many source outputs it verifies."""
    checks = report_of(app.env).on_page(docname)
    failed = {check.output_id for check in checks if check.problem}
    claimed = {check.output_id for check in checks}
    count = len(claimed - failed) if claimed else None
    text = sentence(executed_with(app.env, docname), count)
    return [nodes.paragraph("", text, classes=["page-foot"])]


def sentence(about: dict[str, str], verified: int | None) -> str:
    """Put the facts in words.

    Args:
        about: the `device` and the versions that the page ran with, by name, as far as they are known.
        verified: how many source outputs were verified on the page; None where it claims to show none.
    """
    end = "."
    if verified is not None:
        end = f"; {verified} source output{'' if verified == 1 else 's'} verified on this page."
    if not about:
        return f"Not executed to its end{end}"
    names = {**about, "Python": about["python"]}
    device = f" on {names.pop('device')}" if "device" in names else ""
    *others, last = (f"{name} {version}" for name, version in names.items() if name != "python")
    versions = f"{', '.join(others)} and {last}" if others else last
    return f"Executed{device} with {versions}{end}"
