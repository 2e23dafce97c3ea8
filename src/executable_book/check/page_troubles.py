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

from executable_book.check import recorded_outputs, source_ledger
from executable_book.check.source_ledger import LEDGER, SUMMARY, all_checks, ledger_of, verified
from executable_book.remembered import (
    Placeholder,
    book_data,
    in_order,
    page_data,
    replace_book_data,
    set_page_data,
)
from executable_book.repeated_warnings import warn
from executable_book.repository import edition
from executable_book.run.executed_cells import (
    EXECUTED_WITH,
    EXECUTIONS,
    NOT_EXECUTED,
    Problem,
    cells,
    failed_pages,
)

LOGGER = logging.getLogger(__name__)
TROUBLES, TOLD = "troubles", "told"
STOPPED = "did not run to its end"


def compare(app: Sphinx, doctree: nodes.document) -> None:
    """Compare what a page prints with what vouches for it, and store what its readers are told."""
    page, found = app.env.docname, cells(app.env, doctree)
    executed: dict[str, Problem | None] = page_data(app.env, EXECUTIONS)
    differing = {"ledger": [*source_ledger.compare_page(app, found)]}
    if failure := executed.get(page):  # what did not come to be printed is no news
        if failure != NOT_EXECUTED:
            set_page_data(app.env, TROUBLES, page, [failure])
        return
    if page in executed:
        differing["recorded"] = [*recorded_outputs.compare_page(app, found)]
    told = []
    for check, problems in differing.items():
        for line, message in problems:
            warn(app, check, page, line, message)
            if line and recorded_outputs.NEW not in message:  # all else is no trouble of a reader
                told.append((line, message))
    if told:
        set_page_data(app.env, TROUBLES, page, told)


def update(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return the pages that tell how all others are, if there is something new to tell."""
    titles = [env.titles[page].astext() for page in all_checks(env)]
    now = ledger_of(env), all_checks(env), titles, page_data(env, TROUBLES)
    if replace_book_data(env, TOLD, now) in (None, now):
        return []
    return [page for told in (LEDGER, SUMMARY) for page in page_data(env, told)]


def troubles_of(env: BuildEnvironment) -> dict[str, str]:
    """Return what is to be said of each page on which something went wrong, in the order of the book."""
    found: dict[str, list[Problem]] = page_data(env, TROUBLES)
    said = {page: differ(len(found[page])) for page in in_order(env) if page in found}
    return said | {page: STOPPED for page in said if page in failed_pages(env)}


def differ(count: int) -> str:
    """Say how many outputs differ."""
    return f"{count} output{' differs' if count == 1 else 's differ'}"


def summary(env: BuildEnvironment) -> str:
    """Say how much of the ledger is verified, and what went wrong."""
    met = len(verified(*all_checks(env).values()))
    said = [f"{met} of {len(ledger_of(env).outputs)} source outputs verified"]
    found: dict[str, list[Problem]] = page_data(env, TROUBLES)
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
    found: list[Problem] = page_data(app.env, TROUBLES).get(docname, [])
    if not found:
        return []
    if docname in failed_pages(app.env):
        title = f"This page {STOPPED}"
        says = (
            f"On line {found[0][0]} of its file, {found[0][1]}. No cell below that one ran, so"
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
    report = report_on(app.config, book_data(app.env, EXECUTED_WITH) or {}, docname, found)
    block = nodes.literal_block(report, report, language="text")
    parts = nodes.title("", title), nodes.paragraph("", says), ask, block
    return [nodes.admonition("", *parts, classes=["warning"])]


def report_on(config: Config, about: dict[str, str], page: str, found: list[Problem]) -> str:
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
    way_out = f"; {recorded_outputs.WAY_OUT}"
    said += [f"{page}.md:{line}: {what.replace(way_out, '')}" for line, what in found]
    return "\n".join(said)


def say_at_the_end(app: Sphinx, exception: Exception | None) -> None:
    """End a build by saying how the book is, and where it lies, though something went wrong."""
    if exception:
        return
    found = troubles_of(app.env)
    if found or ledger_of(app.env).outputs:
        LOGGER.info(summary(app.env))
    if found:
        pages = "; ".join(f"{page} ({what})" for page, what in found.items())
        LOGGER.info(f"Not as it should be: {pages}.")
        LOGGER.info("The book was built all the same, and each of these pages says what happened.")
        LOGGER.info(f"It lies in {app.outdir}")
