"""The ledger: every output that the sources print, and the cells that reproduce them.

`docs/sources.toml` holds the outputs. A cell claims some with `:verifies: id other-id`: it must
print exactly their values, in that order. What pages claim is kept as they are read; at every build
all claims are compared with all entries anew, so that no check hangs on what happened to change.
An entry that no cell claims is as much an error as a value that differs.

The directive `{source-outputs}` shows the ledger to readers. The mark beside a claiming cell leads there
(`html.proof_marks`), and from there a link leads back.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from executable_book.book_domain import book_data, page_data, replace_book_data, set_page_data
from executable_book.check.printed_values import (
    Value,
    difference_table,
    differences,
    eps_for,
    parse,
    split,
)
from executable_book.check.repeated_warnings import Finding
from executable_book.placeholders import Placeholder
from executable_book.run.executed_cells import ExecutedCell, cells, executed_with, failed_pages

LOGGER = logging.getLogger(__name__)
CLAIMS, REPORT, TITLES = "claims", "ledger-report", "claim-titles"
LEDGER_PAGES = "ledger-pages"
SUMMARY_PAGES = "ledger-summary-pages"
PRINTED_NUMBER = re.compile(
    r"(?<![\w.])(?<![A-Za-z]-)[-+]?\d+(?:\.\d+(?:e[-+]?\d+)?|e[-+]?\d+)(?!\.?\d)"
)
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
    sha256: str
    places: tuple[Place, ...]

    @property
    def sources(self) -> list[str]:
        """The ids of the sources that print it."""
        return sorted({place.source for place in self.places})

    @property
    def value(self) -> Value:
        """What is printed, as a value.

        Raises:
            ValueError: It is not one value.
        """
        return _only_value_of(self.printed)


@cache
def _only_value_of(printed: str) -> Value:
    pieces = split(printed)
    values = [piece for piece in pieces if isinstance(piece, Value)]
    if len(values) != 1 or any(p.strip() for p in pieces if isinstance(p, str)):
        raise ValueError(f"`printed` must be one value and nothing else, got {printed!r}")
    return values[0]


@dataclass(frozen=True)
class Ledger:
    """All sources and all their outputs."""

    sources: tuple[Source, ...]
    outputs: tuple[Output, ...]

    def __getitem__(self, output_id: str) -> Output:
        """Return the output with an id."""
        for output in self.outputs:
            if output.id == output_id:
                return output
        raise KeyError(output_id)


def seal(text: str) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a text without its white space."""
    return hashlib.sha256("".join(text.split()).encode()).hexdigest()[:16]


def load(path: Path | None) -> tuple[Ledger, tuple[Finding, ...]]:
    """Read a ledger; a book without one has an empty one.

    Returns:
        The ledger, and what is wrong with it. What cannot be read is left out.
    """
    if path is None:
        return Ledger((), ()), ()
    try:
        return _read(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        finding = Finding(str(path), 0, f"the ledger cannot be read: {error.strerror}")
        return Ledger((), ()), (finding,)


@lru_cache(maxsize=1)
def _read(text: str, name: str) -> tuple[Ledger, tuple[Finding, ...]]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return Ledger((), ()), (Finding(name, 0, f"not a TOML file: {error}"),)

    problems: list[Finding] = []
    sources = tuple(_tables(Source, data.pop("source", []), text, name, problems))
    outputs = tuple(_tables(Output, data.pop("output", []), text, name, problems))
    for key in data:
        problems.append(Finding(name, 0, f"unknown key {key!r}, expected 'source' and 'output'"))
    for items in (sources, outputs):
        seen: set[str] = set()
        for item in items:
            if item.id in seen:
                problems.append(_about(item, text, name, "the id is used twice"))
            seen.add(item.id)
    known = {source.id for source in sources}
    for output in outputs:
        problems += [_about(output, text, name, message) for message in _flaws(output, known)]
    return Ledger(sources, outputs), tuple(problems)


def _flaws(output: Output, known_sources: set[str]) -> Iterator[str]:
    """Say what is wrong with one entry."""
    if seal(output.printed) != output.sha256:
        yield (
            f"`printed` has the seal {seal(output.printed)}, expected {output.sha256}: it is no "
            "longer what was transcribed from the source"
        )
    try:
        value: Value | None = output.value
    except ValueError as error:
        yield str(error)
        value = None
    if not output.places:
        yield "no place is given where a source prints it"
    for place in output.places:
        at = f"place {place.source}:{place.line}"
        if place.source not in known_sources:
            yield f"{at}: unknown source {place.source!r}"
        if place.misprint and not place.printed:
            yield f"{at}: a `misprint` needs its own `printed`"
        if place.printed and not place.misprint and parse(place.printed) != [value]:
            yield f"{at}: prints another value; if the source is wrong there, say so in `misprint`"


T = TypeVar("T", Source, Output)


def _tables(
    kind: type[T], tables: Any, text: str, name: str, problems: list[Finding]
) -> Iterator[T]:
    """Turn TOML tables into records; note those that do not fit."""
    key = kind.__name__.lower()
    if not _are_tables(tables):
        problems.append(Finding(name, 0, f"{key!r} must be tables, each under [[{key}]]"))
        return
    for table_ in tables:
        try:
            if kind is Output:
                if not _are_tables(table_.get("places", [])):
                    raise ValueError("places must be tables, each under [[output.places]]")
                places = tuple(_record(Place, place) for place in table_.get("places", ()))
                table_ = {**table_, "places": places}
            yield _record(kind, table_)
        except ValueError as error:
            known_id = table_.get("id", "?")
            message = f"{key} {known_id!r}: {error}"
            problems.append(Finding(name, _line_of(text, known_id), message))


def _are_tables(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(one, dict) for one in given)


R = TypeVar("R")


def _record(kind: type[R], table_: dict[str, Any]) -> R:
    """Make a dataclass from a TOML table whose keys and types must fit."""
    declared = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    required = {name for name, field in declared.items() if field.default is MISSING}
    if unknown := sorted(table_.keys() - declared.keys()):
        raise ValueError(f"unknown keys {unknown}, expected some of {sorted(declared)}")
    if missing := sorted(required - table_.keys()):
        raise ValueError(f"missing keys {missing}")
    for key, value in table_.items():
        wanted = {"int": int, "str": str}.get(str(declared[key].type), tuple)
        if type(value) is not wanted:
            raise ValueError(f"{key} must be {wanted.__name__}, got {value!r}")
    return kind(**table_)


def _about(item: Source | Output, text: str, name: str, message: str) -> Finding:
    kind = type(item).__name__.lower()
    return Finding(name, _line_of(text, item.id), f"{kind} {item.id!r}: {message}")


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
    exact: list[dict[str, Any]]


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
    problems: tuple[Finding, ...]
    checks: tuple[Check, ...]

    def claims_of(self, output_id: str) -> list[Check]:
        """Return the checks of one entry."""
        return [check for check in self.checks if check.output_id == output_id]

    def is_verified(self, output_id: str) -> bool:
        """Tell whether an entry is claimed, and met wherever it is."""
        claims = self.claims_of(output_id)
        return bool(claims) and not any(check.problem for check in claims)

    def on_page(self, docname: str) -> list[Check]:
        """Return the checks of a page's cells."""
        return [check for check in self.checks if check.docname == docname]

    def shown_on(self, docname: str) -> list[tuple[Check, Output]]:
        """Return all that a page shows of this report: its claims, with the entries that they name."""
        known = {output.id: output for output in self.ledger.outputs}
        claims = self.on_page(docname)
        return [(one, known[one.output_id]) for one in claims if one.output_id in known]


def compare(claim: Claim, ledger: Ledger, eps: float) -> Iterator[tuple[str, str]]:
    """Yield each entry that a cell claims with what is wrong, nothing if it agrees."""
    if not claim.ids:
        yield "", "`:verifies:` names no entry"
    try:
        expected = [ledger[output_id] for output_id in claim.ids]
    except KeyError as error:
        problem = f"the cell claims {error}, which the ledger does not know"
        yield from ((output_id, problem) for output_id in claim.ids)
        return
    pieces = split(claim.printed, claim.exact)
    got = [piece for piece in pieces if isinstance(piece, Value)]
    labels = [piece for piece in pieces if isinstance(piece, str)]
    if len(got) != len(expected):
        count = f"{len(got)} value{'s' * (len(got) != 1)}" if got else "nothing that is a value"
        problem = f"the cell claims {len(expected)} ({', '.join(claim.ids)}) but prints {count}"
        yield from ((output_id, problem) for output_id in claim.ids)
        return
    unchecked = next((word for label in labels for word in _decimals(label)), None)
    for output, value in zip(expected, got, strict=True):
        found = differences(value, output.value, eps)
        if found:
            yield (
                output.id,
                f"the cell does not reproduce {output.id!r}:\n{difference_table(found)}",
            )
        elif unchecked:
            yield output.id, f"the cell also prints {unchecked}, which no entry checks"
        else:
            yield output.id, ""


def _decimals(label: str) -> Iterator[str]:
    """Yield the decimal numbers of a label; versions such as 2.13.0 and names such as GPT-3.5 are none."""
    yield from PRINTED_NUMBER.findall(label)


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Keep what a page claims, and give each claiming cell an anchor."""
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
    return Claim(cell.line, anchor, ids, cell.printed, cell.exact)


def _judge_claims(env: BuildEnvironment, ledger: Ledger) -> Iterator[Check]:
    for docname, claims in page_data(env, CLAIMS).items():
        eps = eps_for(executed_with(env, docname).get("device", "cpu"))
        ended_early = docname in failed_pages(env)
        for claim in claims:
            for output_id, problem in compare(claim, ledger, eps):
                if ended_early and not claim.printed:
                    problem = NOT_REACHED
                yield Check(docname, claim.line, claim.anchor, output_id, problem)


def report_of(env: BuildEnvironment) -> Report:
    """Return what the build found out, once all pages have been read."""
    report: Report = book_data(env, REPORT)
    return report


def update(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Compare all claims with all entries; return the pages that now show something else."""
    ledger, problems = load(ledger_path(env))
    report = Report(ledger, problems, tuple(_judge_claims(env, ledger)))
    before: Report | None = replace_book_data(env, REPORT, report)
    titles = {page: env.titles[page].astext() for page in page_data(env, CLAIMS)}
    titles_before = replace_book_data(env, TITLES, titles)
    if before is None:
        return []
    changed = [
        page for page in page_data(env, CLAIMS) if before.shown_on(page) != report.shown_on(page)
    ]
    if before != report or titles_before != titles:
        changed += [*page_data(env, LEDGER_PAGES), *page_data(env, SUMMARY_PAGES)]
    return changed


def judge_ledger(app: Sphinx) -> Iterator[Finding]:
    """Say all that is wrong, and how much of the ledger is verified."""
    report = report_of(app.env)
    yield from report.problems
    for check in report.checks:
        if check.problem not in ("", NOT_REACHED):
            yield Finding(check.docname, check.line, check.problem)
    if path := ledger_path(app.env):
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for output in report.ledger.outputs:
            if not report.claims_of(output.id):
                message = f"output {output.id!r} is claimed by no cell"
                yield Finding(str(path), _line_of(text, output.id), message)
    verified = sum(report.is_verified(output.id) for output in report.ledger.outputs)
    if report.ledger.outputs:
        LOGGER.info("%d of %d source outputs verified", verified, len(report.ledger.outputs))


def ledger_path(env: BuildEnvironment) -> Path | None:
    """Return where the ledger is; None if the book has none."""
    return Path(env.srcdir, env.config.book_ledger) if env.config.book_ledger else None


# For readers -----------------------------------------------------------------------------------


class SourceOutputsSummary(SphinxDirective):
    """Says in one sentence how many entries are met."""

    def run(self) -> list[nodes.Node]:
        """Leave room for the sentence."""
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
        ledger, _ = load(path)
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
    """Fold a printed text away where the format can; show it where it cannot."""
    opening = f'<details class="as-printed"><summary>{summary}</summary>'
    return [
        nodes.raw("", opening, format="html"),
        nodes.literal_block(text, text, language="text"),
        nodes.raw("", "</details>", format="html"),
    ]


def anchor_of(output_id: str) -> str:
    """Return the anchor of an entry on the ledger's page."""
    return f"source-output-{output_id}"


def source_anchor(source_id: str) -> str:
    """Return the anchor of a source on the ledger's page."""
    return f"source-{source_id}"


def ledger_summary(app: Sphinx, docname: str, place: Placeholder) -> list[nodes.Node]:
    """Say on the ledger's page how many entries are met."""
    report = report_of(app.env)
    verified = sum(report.is_verified(output.id) for output in report.ledger.outputs)
    text = f"On this build, {verified} of {len(report.ledger.outputs)} source outputs verified."
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
        title = app.env.titles[check.docname].astext()
        seen[title] += 1
        name = nodes.inline("", f"{title} ({seen[title]})" if seen[title] > 1 else title)
        status += make_refnode(app.builder, docname, check.docname, check.anchor, name)
    status += nodes.Text(".")
    return [status]
