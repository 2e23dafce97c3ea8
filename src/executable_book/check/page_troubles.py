"""What readers are told of the state of the book: what was executed and verified, and what went wrong.

Where a page did not run to its end, or outputs differ, a book is built all the same, and whoever reads it is
not told that all is well: the page says at its top what happened, and how to tell us; the pages that speak of
the whole book count what went wrong; and so do the last lines of the build.
"""

import platform
import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from executable_book.check.recorded_outputs import NEW, WAY_OUT, judge_records
from executable_book.check.repeated_warnings import Finding
from executable_book.check.source_ledger import LEDGER, SUMMARY, judge_ledger, report_of
from executable_book.publish.repository import edition
from executable_book.remembered import (
    Placeholder,
    book_data,
    in_order,
    page_data,
    replace_book_data,
)
from executable_book.run.executed_cells import EXECUTED_WITH, EXECUTIONS, failed_pages

LOGGER = logging.getLogger(__name__)
TROUBLES = "troubles"
STOPPED = "did not run to its end"


def update(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Find how each page is, and what went wrong; return the pages that now say something else."""
    executed = page_data(env, EXECUTIONS)
    now = {
        page: [Finding(page, *executed[page].problems[-1])]
        for page in failed_pages(env)
        if executed[page].problems  # or it was not to be executed
    }
    for judge in (judge_ledger, judge_records)[: 1 if app.config.book_record else 2]:
        for finding in sorted(set(judge(app))):
            if finding.where in env.found_docs and NEW not in finding.message:
                now.setdefault(finding.where, []).append(finding)
    before = replace_book_data(env, TROUBLES, now)
    if before in (None, now):
        return []
    changed = {page for page in before | now if before.get(page) != now.get(page)}
    return [
        *(changed & env.found_docs),
        *(page for told in (LEDGER, SUMMARY) for page in page_data(env, told)),
    ]


def troubles_of(env: BuildEnvironment) -> dict[str, str]:
    """Return what is to be said of each page on which something went wrong, in the order of the book."""
    found: dict[str, list[Finding]] = book_data(env, TROUBLES)
    said = {page: differ(len(found[page])) for page in in_order(env) if page in found}
    return said | {page: STOPPED for page in said if page in failed_pages(env)}


def differ(count: int) -> str:
    """Say how many outputs differ."""
    return f"{count} output{' differs' if count == 1 else 's differ'}"


def summary(env: BuildEnvironment) -> str:
    """Say how much of the ledger is verified, and what went wrong."""
    said = [report_of(env).summary]
    found: dict[str, list[Finding]] = book_data(env, TROUBLES)
    if stopped := len(found.keys() & failed_pages(env)):
        said += [f"{stopped} page{f' {STOPPED}' if stopped == 1 else 's did not run to their end'}"]
    if count := sum(len(found[page]) for page in found.keys() - failed_pages(env)):
        said += [f"{differ(count)} from what was printed or recorded before"]
    return "; ".join(said)


def say_summary(app: Sphinx, docname: str, place: Placeholder) -> list[nodes.Node]:
    """Say on a page how the whole book is."""
    text = f"On this build, {summary(app.env)}."
    return [nodes.paragraph("", text, classes=["source-outputs-summary"])]


def page_note(app: Sphinx, docname: str, place: Placeholder) -> list[nodes.Node]:
    """Say at the top of a page what went wrong on it, and how to tell us; nothing if all went well."""
    found: list[Finding] = book_data(app.env, TROUBLES).get(docname)
    if not found:
        return []
    if docname in failed_pages(app.env):
        title = f"This page {STOPPED}"
        says = (
            f"On line {found[0].line} of its file, {found[0].message}. No cell below that one ran, so"
            " what the text says of them was not computed here."
        )
    else:
        title = f"On this page, {differ(len(found))}"
        says = (
            "What some cells printed here is not what the sources print, or what was recorded when somebody"
            " last looked at it; the text speaks of those older outputs."
        )
    ask = nodes.paragraph("", "If you have changed nothing in the book, please ")
    if repository := app.config.book_repository:
        ask += nodes.reference("", "tell us", refuri=f"{repository}/issues/new", internal=False)
    else:
        ask += nodes.Text("tell us")
    ask += nodes.Text(". These lines say all that we need to know:")
    report = report_on(app.config, book_data(app.env, EXECUTED_WITH) or {}, found)
    block = nodes.literal_block(report, report, language="text")
    parts = nodes.title("", title), nodes.paragraph("", says), ask, block
    return [nodes.admonition("", *parts, classes=["warning"])]


def report_on(config: Config, about: dict[str, str], found: list[Finding]) -> str:
    """Return what we need to know of a machine and of what went wrong on a page, to be copied."""
    cpuinfo = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*:\s*(.*)", cpuinfo.read_text() if cpuinfo.exists() else "")
    lines = {
        "book": f"{config.project}. {edition(config)}",
        "processor": named[1] if named else platform.processor() or platform.machine(),
        "system": platform.platform(),
        **about,
    }
    said = [f"{name}: {what}" for name, what in lines.items()]
    said += [
        f"{where}.md:{line}: {what.replace(f'; {WAY_OUT}', '')}" for where, line, what in found
    ]
    return "\n".join(said)


def say_at_the_end(app: Sphinx, exception: Exception | None) -> None:
    """End a build by saying how the book is, and where it lies, though something went wrong."""
    if exception:
        return
    found = troubles_of(app.env)
    if found or report_of(app.env).ledger.outputs:
        LOGGER.info(summary(app.env))
    if found:
        pages = "; ".join(f"{page} ({what})" for page, what in found.items())
        LOGGER.info(f"Not as it should be: {pages}.")
        LOGGER.info("The book was built all the same, and each of these pages says what happened.")
        LOGGER.info(f"It lies in {app.outdir}")
