"""The ledger: every output that the sources print, and the cells that reproduce them.

`docs/sources.toml` holds the outputs. A cell claims some with `:verifies: id other-id`: it must
print exactly their values, in that order. An entry that no cell claims is as much an error as a value that
differs.

The directive `{source-outputs}` shows the ledger to readers, and the role `{source}` names a source. The
mark beside a claiming cell leads to the ledger (`html.proof_marks`), and from there a link leads back.
"""

import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import make_refnode

from executable_book.check.printed_values import DECIMAL, difference, values_in
from executable_book.check.recorded_outputs import CLAIMS, Printed
from executable_book.check.repeated_warnings import Finding
from executable_book.html.foldable import folded
from executable_book.remembered import (
    Placeholder,
    book_data,
    page_data,
    replace_book_data,
    set_page_data,
)
from executable_book.run.executed_cells import executed_with, failed_pages

REPORT = "ledger-report"
LEDGER, SUMMARY = "source-outputs", "source-outputs-summary"
"""The directives that show the ledger; each is the subject under which its pages are stored, too."""


class Source(NamedTuple):
    """One of the texts that this book follows."""

    id: str
    kind: str
    what: str
    lines: int
    sha256: str
    title: str = ""
    published: str = ""


class Place(NamedTuple):
    """Where a source prints an output; `printed` only where it is printed otherwise there."""

    source: str
    line: int
    section: str
    label: str = ""
    printed: str = ""
    misprint: str = ""


class Output(NamedTuple):
    """One value that the sources print, and all the places where they do."""

    id: str
    printed: str
    places: tuple[Place, ...]


class Ledger(NamedTuple):
    """All sources, and all their outputs by their ids."""

    sources: tuple[Source, ...]
    outputs: dict[str, Output]

    @property
    def titles(self) -> dict[str, str]:
        """What each source is called, by its id."""
        return {source.id: source.title or source.kind for source in self.sources}


def ledger_path(env: BuildEnvironment) -> Path:
    """Return where the ledger is."""
    return Path(env.srcdir, env.config.book_ledger)


def ledger_of(env: BuildEnvironment) -> Ledger:
    """Return the ledger of a book; one that names none has an empty one. A page that asks depends on it."""
    if env.current_document.docname:
        env.note_dependency(ledger_path(env))
    return _read(ledger_path(env).read_text(encoding="utf-8") if env.config.book_ledger else "")


@lru_cache(maxsize=1)
def _read(text: str) -> Ledger:
    data = tomllib.loads(text)
    outputs = (
        Output(**{**table, "places": tuple(Place(**one) for one in table["places"])})
        for table in data.get("output", ())
    )
    sources = tuple(Source(**table) for table in data.get("source", ()))
    return Ledger(sources, {output.id: output for output in outputs})


class Check(NamedTuple):
    """One claim of one entry, and what is wrong with it (nothing if it agrees)."""

    docname: str
    line: int
    anchor: str
    output_id: str
    problem: str


@dataclass(frozen=True)
class Report:
    """What this build found out about the ledger."""

    ledger: Ledger
    checks: tuple[Check, ...]
    titles: dict[str, str]
    """Of the pages that claim entries."""

    def claims_of(self, output_id: str) -> list[Check]:
        """Return the checks of one entry."""
        return [check for check in self.checks if check.output_id == output_id]

    def is_verified(self, output_id: str) -> bool:
        """Tell whether an entry is claimed, and met wherever it is."""
        claims = self.claims_of(output_id)
        return bool(claims) and not any(check.problem for check in claims)

    @property
    def summary(self) -> str:
        """How much of the ledger is verified."""
        verified = sum(map(self.is_verified, self.ledger.outputs))
        return f"{verified} of {len(self.ledger.outputs)} source outputs verified"

    def on_page(self, docname: str) -> list[tuple[Check, Output]]:
        """Return what a page claims: the checks of its cells, with the entries that they name."""
        outputs = self.ledger.outputs
        return [
            (check, outputs[check.output_id])
            for check in self.checks
            if check.docname == docname and check.output_id in outputs
        ]

    def verified_on(self, docname: str) -> set[str]:
        """Return the entries that a page claims, and which differ in none of its cells."""
        failed = {output.id for check, output in self.on_page(docname) if check.problem}
        return {output.id for _, output in self.on_page(docname)} - failed


def compare(claim: Printed, ledger: Ledger, device: str) -> Iterator[tuple[str, str]]:
    """Yield each entry that a cell claims with what is wrong, nothing if it agrees."""
    got, labels = values_in(claim.text)
    unchecked = next((found[0] for one in labels if (found := DECIMAL.search(one))), "")
    problem = ""
    if not claim.ids:
        yield "", "`:verifies:` names no entry"
    elif unknown := [one for one in claim.ids if one not in ledger.outputs]:
        problem = f"the cell claims {unknown[0]!r}, which the ledger does not know"
    elif len(got) != len(claim.ids):
        count = f"{len(got)} value{'s' * (len(got) != 1)}" if got else "nothing that is a value"
        problem = f"the cell claims {len(claim.ids)} ({', '.join(claim.ids)}) but prints {count}"
    elif unchecked:
        problem = f"the cell also prints {unchecked}, which no entry checks"
    for number, output_id in enumerate(claim.ids):
        shown = problem or difference(ledger.outputs[output_id].printed, got[number], device)
        differs = f"the cell does not reproduce {output_id!r}:\n{shown}" if shown else ""
        yield output_id, problem or differs


def report_of(env: BuildEnvironment) -> Report:
    """Return what the build found out, once all pages have been read."""
    report: Report = book_data(env, REPORT)
    return report


def update(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Compare all claims with all entries; return the pages that now show something else."""
    ledger = ledger_of(env)
    pages: dict[str, list[Printed]] = page_data(env, CLAIMS)
    checks = (
        Check(docname, one.line, one.key, *found)
        for docname, printed in pages.items()
        for device in [executed_with(env, docname).get("device", "cpu")]
        for one in printed
        for found in compare(one, ledger, device)
    )
    report = Report(ledger, (*checks,), {page: env.titles[page].astext() for page in pages})
    before: Report | None = replace_book_data(env, REPORT, report)
    if before in (None, report):
        return []
    changed = [page for page in pages if before.on_page(page) != report.on_page(page)]
    return [*changed, *page_data(env, LEDGER), *page_data(env, SUMMARY)]


def judge_ledger(app: Sphinx) -> Iterator[Finding]:
    """Say all that is wrong."""
    report = report_of(app.env)
    failed = failed_pages(app.env)  # what they did not come to print is no news
    for check in report.checks:
        if check.problem and check.docname not in failed:
            yield Finding(check.docname, check.line, check.problem)
    for output_id in report.ledger.outputs:
        if not report.claims_of(output_id):
            message = f"output {output_id!r} is claimed by no cell"
            yield Finding(str(ledger_path(app.env)), 0, message)


class SourceOutputs(SphinxDirective):
    """Shows the ledger: the sources, and every output with its places and its result."""

    def run(self) -> list[nodes.Node]:
        """Build what the file says; results are filled in after all pages have been read."""
        ledger = ledger_of(self.env)
        set_page_data(self.env, LEDGER, self.env.docname, True)
        parts = {
            "The sources": map(self._about_source, ledger.sources),
            "The outputs": (_about_output(one, ledger.titles) for one in ledger.outputs.values()),
        }
        sections = [
            nodes.section("", nodes.title("", title), *content, ids=[name], names=[name])
            for title, content in parts.items()
            for name in [nodes.make_id(title)]
        ]
        return [Placeholder(kind=SUMMARY), *sections]

    def _about_source(self, source: Source) -> nodes.Node:
        about = (source.kind, source.published, f"{source.lines} lines")
        title = f"{source.id} · {source.title}" if source.title else source.id
        term = nodes.term("", title, names=[f"source-{source.id}"])
        self.state.document.note_explicit_target(term)
        text = f"{source.what} ({', '.join(filter(None, about))})"
        definition = nodes.definition("", nodes.paragraph("", text))
        return nodes.definition_list("", nodes.definition_list_item("", term, definition))


class SourceRole(SphinxRole):
    """Names sources in a sentence, with links: "Sources 000 and 003 (their title)" for {source}`000 003`."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Look the title up; a label that the ledger does not have is reported by Sphinx."""
        first, *others = self.text.split()
        title = ledger_of(self.env).titles.get(first, "unknown")
        named = [self._label(first, f"Source{'s' * bool(others)} {first}")]
        for number in others:
            named += [nodes.Text(" and "), self._label(number, number)]
        return [nodes.inline("", "", *named, nodes.Text(f" ({title})"))], []

    def _label(self, number: str, text: str) -> nodes.Node:
        about = {"refdomain": "std", "reftype": "ref", "refexplicit": True, "refwarn": True}
        about |= {"refdoc": self.env.docname, "reftarget": f"source-{number}"}
        label = addnodes.pending_xref("", nodes.inline("", text), **about)
        self.set_source_info(label)
        return label


def _about_output(output: Output, titles: dict[str, str]) -> nodes.Node:
    places = nodes.bullet_list("", *(_about_place(place, titles) for place in output.places))
    return nodes.container(
        "",
        nodes.rubric("", "", nodes.literal("", output.id), **{"heading-level": 3}),
        places,
        Placeholder(kind="output status", output_id=output.id),
        *_folded("As printed", output.printed),
        ids=[anchor_of(output.id)],
        classes=["source-output"],
    )


def _about_place(place: Place, titles: dict[str, str]) -> nodes.Node:
    text = f"Source {place.source} ({titles[place.source]}), line {place.line}: {place.section}"
    label = [nodes.Text(", after "), nodes.literal("", place.label)] if place.label else []
    item = nodes.list_item("", nodes.paragraph("", text, *label))
    if place.misprint:
        item += nodes.paragraph("", f"Misprint: {place.misprint}.")
    if place.printed:
        item += _folded("As printed there", place.printed)
    return item


def _folded(summary: str, text: str) -> list[nodes.Node]:
    block = nodes.literal_block(text, text, language="text")
    return folded(summary, block, kind="as-printed")


def anchor_of(output_id: str) -> str:
    """Return the anchor of an entry on the ledger's page."""
    return f"source-output-{output_id}"


def ledger_link(app: Sphinx, docname: str, anchor: str, text: str) -> nodes.Node:
    """Return a link to a place of the ledger's page, or to it as a whole; the text alone if there is none."""
    page = next(iter(page_data(app.env, LEDGER)), None)
    if page is None:
        return nodes.Text(text)
    return make_refnode(app.builder, docname, page, anchor, nodes.inline("", text))


def output_status(app: Sphinx, docname: str, place: Placeholder) -> list[nodes.Node]:
    """Say in the ledger whether an output is verified, and by which chapters."""
    report, output_id = report_of(app.env), place["output_id"]
    verified = report.is_verified(output_id)
    classes = ["source-output-status", "verified" if verified else "not-verified"]
    text = "Verified on this build" if verified else "Not verified on this build"
    status = nodes.paragraph("", text, classes=classes)
    seen: Counter[str] = Counter()
    for check in report.claims_of(output_id):
        status += nodes.Text(", and in " if seen else ", reproduced in ")
        seen[title := report.titles[check.docname]] += 1
        name = nodes.inline("", f"{title} ({seen[title]})" if seen[title] > 1 else title)
        status += make_refnode(app.builder, docname, check.docname, check.anchor, name)
    status += nodes.Text(".")
    return [status]
