"""The ledger: every output that the sources print, and the cells that reproduce them.

`docs/sources.toml` holds the outputs. A cell claims some with `:verifies: id other-id`: it must
print exactly their values, in that order. What pages claim is stored as they are read; at every build
all claims are compared with all entries anew, so that no check hangs on what happened to change.
An entry that no cell claims is as much an error as a value that differs.

The directive `{source-outputs}` shows the ledger to readers. The mark beside a claiming cell leads there
(`html.proof_marks`), and from there a link leads back.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import SphinxError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from executable_book.book_domain import book_data, page_data, replace_book_data, set_page_data
from executable_book.check.printed_values import difference, values_in
from executable_book.check.repeated_warnings import Finding
from executable_book.html.foldable import folded
from executable_book.placeholders import Placeholder
from executable_book.run.executed_cells import ExecutedCell, cells, executed_with, failed_pages

LOGGER = logging.getLogger(__name__)
CLAIMS, REPORT = "claims", "ledger-report"
LEDGER_PAGES = "ledger-pages"
SUMMARY_PAGES = "ledger-summary-pages"
UNCHECKED = re.compile(
    r"(?<![\w.])(?<![A-Za-z]-)[-+]?\d+(?:\.\d+(?:e[-+]?\d+)?|e[-+]?\d+)(?!\.?\d)"
)
"""A decimal number in a label; versions such as 2.13.0 and names such as GPT-3.5 are none."""
NOT_REACHED = "the page ended before this cell"  # which `execution` reports


# The file --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """One of the texts that this book follows."""

    id: str
    kind: str
    what: str
    lines: int
    sha256: str
    title: str = ""
    author: str = ""
    published: str = ""


@dataclass(frozen=True)
class Place:
    """Where a source prints an output; `printed` only where it is printed otherwise there."""

    source: str
    line: int
    section: str
    label: str = ""
    printed: str = ""
    misprint: str = ""


@dataclass(frozen=True)
class Output:
    """One value that the sources print, and all the places where they do."""

    id: str
    printed: str
    places: tuple[Place, ...]

    @property
    def sources(self) -> list[str]:
        """The ids of the sources that print it."""
        return sorted({place.source for place in self.places})


@dataclass(frozen=True)
class Ledger:
    """All sources and all their outputs."""

    sources: tuple[Source, ...] = ()
    outputs: tuple[Output, ...] = ()


def load(path: Path | None) -> Ledger:
    """Read a ledger; a book without one has an empty one.

    Raises:
        SphinxError: the file is none.
    """
    if path is None:
        return Ledger()
    try:
        return _read(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, TypeError, KeyError) as error:
        raise SphinxError(f"{path} is not a ledger: {error}") from error


@lru_cache(maxsize=1)
def _read(text: str) -> Ledger:
    data = tomllib.loads(text)
    sources = (Source(**table) for table in data.get("source", ()))
    outputs = (
        Output(**{**table, "places": tuple(Place(**one) for one in table["places"])})
        for table in data.get("output", ())
    )
    return Ledger(tuple(sources), tuple(outputs))


def _line_of(text: str, wanted: str) -> int:
    """Return the line that gives an id, 0 if there is none."""
    lines = enumerate(text.splitlines(), start=1)
    return next((number for number, line in lines if line.strip() == f'id = "{wanted}"'), 0)


# Claims ----------------------------------------------------------------------------------------


class Claim(NamedTuple):
    """A cell that says which outputs it reproduces, and what it printed."""

    line: int
    anchor: str
    ids: tuple[str, ...]
    printed: str


@dataclass(frozen=True)
class Check:
    """One claim of one entry, and what is wrong with it (nothing if it agrees)."""

    docname: str
    line: int
    anchor: str
    output_id: str
    problem: str = ""


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
        verified = sum(self.is_verified(output.id) for output in self.ledger.outputs)
        return f"{verified} of {len(self.ledger.outputs)} source outputs verified"

    def on_page(self, docname: str) -> list[Check]:
        """Return the checks of a page's cells."""
        return [check for check in self.checks if check.docname == docname]

    def shown_on(self, docname: str) -> list[tuple[Check, Output]]:
        """Return all that a page shows of this report: its claims, with the entries that they name."""
        known = {output.id: output for output in self.ledger.outputs}
        claims = self.on_page(docname)
        return [(one, known[one.output_id]) for one in claims if one.output_id in known]


def compare(claim: Claim, ledger: Ledger, device: str) -> Iterator[tuple[str, str]]:
    """Yield each entry that a cell claims with what is wrong, nothing if it agrees."""
    known = {output.id: output.printed for output in ledger.outputs}
    got, labels = values_in(claim.printed)
    unchecked = next((found[0] for one in labels if (found := UNCHECKED.search(one))), "")
    problem = ""
    if not claim.ids:
        yield "", "`:verifies:` names no entry"
    elif unknown := [one for one in claim.ids if one not in known]:
        problem = f"the cell claims {unknown[0]!r}, which the ledger does not know"
    elif len(got) != len(claim.ids):
        count = f"{len(got)} value{'s' * (len(got) != 1)}" if got else "nothing that is a value"
        problem = f"the cell claims {len(claim.ids)} ({', '.join(claim.ids)}) but prints {count}"
    elif unchecked:
        problem = f"the cell also prints {unchecked}, which no entry checks"
    for number, output_id in enumerate(claim.ids):
        shown = "" if problem else difference(known[output_id], got[number], device)
        differs = f"the cell does not reproduce {output_id!r}:\n{shown}" if shown else ""
        yield output_id, problem or differs


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Store what a page claims, and give each claiming cell an anchor."""
    claims: list[Claim] = []
    for cell in cells(app.env, doctree):
        if "verifies" in cell.options:
            claim = _claim(cell, [claim.anchor for claim in claims])
            claims.append(claim)
            cell.node["ids"].append(claim.anchor)
    if claims:
        set_page_data(app.env, CLAIMS, app.env.docname, claims)


def _claim(cell: ExecutedCell, taken: list[str]) -> Claim:
    ids = tuple(str(cell.options["verifies"] or "").split())
    anchor = "-".join(["reproduces", *ids[:1]])
    repeats = sum(other == anchor or other.startswith(f"{anchor}--") for other in taken)
    if repeats:
        anchor = f"{anchor}--{repeats + 1}"
    return Claim(cell.line, anchor, ids, cell.printed)


def _judge_claims(env: BuildEnvironment, ledger: Ledger) -> Iterator[Check]:
    for docname, claims in page_data(env, CLAIMS).items():
        device = executed_with(env, docname).get("device", "cpu")
        ended_early = docname in failed_pages(env)
        for claim in claims:
            for output_id, problem in compare(claim, ledger, device):
                if ended_early and not claim.printed:
                    problem = NOT_REACHED
                yield Check(docname, claim.line, claim.anchor, output_id, problem)


def report_of(env: BuildEnvironment) -> Report:
    """Return what the build found out, once all pages have been read."""
    report: Report = book_data(env, REPORT)
    return report


def update(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Compare all claims with all entries; return the pages that now show something else."""
    ledger = load(ledger_path(env))
    titles = {page: env.titles[page].astext() for page in page_data(env, CLAIMS)}
    report = Report(ledger, tuple(_judge_claims(env, ledger)), titles)
    before: Report | None = replace_book_data(env, REPORT, report)
    if before in (None, report):
        return []
    changed = [page for page in titles if before.shown_on(page) != report.shown_on(page)]
    return [*changed, *page_data(env, LEDGER_PAGES), *page_data(env, SUMMARY_PAGES)]


def judge_ledger(app: Sphinx) -> Iterator[Finding]:
    """Say all that is wrong, and how much of the ledger is verified."""
    report = report_of(app.env)
    for check in report.checks:
        if check.problem not in ("", NOT_REACHED):
            yield Finding(check.docname, check.line, check.problem)
    if path := ledger_path(app.env):
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for output in report.ledger.outputs:
            if not report.claims_of(output.id):
                message = f"output {output.id!r} is claimed by no cell"
                yield Finding(str(path), _line_of(text, output.id), message)
    if report.ledger.outputs:
        LOGGER.info(report.summary)


def ledger_path(env: BuildEnvironment) -> Path | None:
    """Return where the ledger is; None if the book has none."""
    return Path(env.srcdir, env.config.book_ledger) if env.config.book_ledger else None


# For readers -----------------------------------------------------------------------------------


class SourceOutputsSummary(SphinxDirective):
    """Says in one sentence how many entries are met."""

    def run(self) -> list[nodes.Node]:
        """Put a placeholder for the sentence."""
        set_page_data(self.env, SUMMARY_PAGES, self.env.docname, True)
        return [Placeholder(kind="ledger summary")]


class SourceOutputs(SphinxDirective):
    """Shows the ledger: the sources, and every output with its places and its result."""

    def run(self) -> list[nodes.Node]:
        """Build what the file says; results are filled in after all pages have been read."""
        path = ledger_path(self.env)
        if path:
            self.env.note_dependency(path)
        set_page_data(self.env, LEDGER_PAGES, self.env.docname, True)
        ledger = load(path)
        titles = {source.id: source.title or source.kind for source in ledger.sources}
        sources = _section("The sources", *(_about_source(source) for source in ledger.sources))
        outputs = _section(
            "The outputs", *(_about_output(output, titles) for output in ledger.outputs)
        )
        return [Placeholder(kind="ledger summary"), sources, outputs]


def _section(title: str, *children: nodes.Node) -> nodes.section:
    name = nodes.make_id(title)
    return nodes.section("", nodes.title("", title), *children, ids=[name], names=[name])


def _about_source(source: Source) -> nodes.Node:
    about = ", ".join(
        part
        for part in (source.kind, source.author, source.published, f"{source.lines} lines")
        if part
    )
    title = f"{source.id} · {source.title}" if source.title else source.id
    return nodes.definition_list(
        "",
        nodes.definition_list_item(
            "",
            nodes.term("", title, ids=[source_anchor(source.id)]),
            nodes.definition("", nodes.paragraph("", f"{source.what} ({about})")),
        ),
    )


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
    title = titles.get(place.source, "unknown")
    text = f"Source {place.source} ({title}), line {place.line}: {place.section}"
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


def source_anchor(source_id: str) -> str:
    """Return the anchor of a source on the ledger's page."""
    return f"source-{source_id}"


def ledger_summary(app: Sphinx, docname: str, place: Placeholder) -> list[nodes.Node]:
    """Say on the ledger's page how many entries are met."""
    text = f"On this build, {report_of(app.env).summary}."
    return [nodes.paragraph("", text, classes=["source-outputs-summary"])]


def ledger_link(app: Sphinx, docname: str, anchor: str, text: str) -> nodes.Node:
    """Return a link to a place of the ledger's page, or to it as a whole; the text alone if there is none."""
    for page in page_data(app.env, LEDGER_PAGES):
        return make_refnode(app.builder, docname, page, anchor, nodes.inline("", text))
    return nodes.Text(text)


def output_status(app: Sphinx, docname: str, place: Placeholder) -> list[nodes.Node]:
    """Say in the ledger: verified on this build, reproduced in the chapter on scores."""
    report, output_id = report_of(app.env), place["output_id"]
    verified = report.is_verified(output_id)
    classes = ["source-output-status", "verified" if verified else "not-verified"]
    text = "Verified on this build" if verified else "Not verified on this build"
    status = nodes.paragraph("", text, classes=classes)
    seen: Counter[str] = Counter()
    for check in report.claims_of(output_id):
        status += nodes.Text(", and in " if seen else ", reproduced in ")
        title = report.titles[check.docname]
        seen[title] += 1
        name = nodes.inline("", f"{title} ({seen[title]})" if seen[title] > 1 else title)
        status += make_refnode(app.builder, docname, check.docname, check.anchor, name)
    status += nodes.Text(".")
    return [status]
