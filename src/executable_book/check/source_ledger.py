"""The ledger: every output that the sources print, and the cells that reproduce them.

`docs/sources.toml` holds the outputs. A cell claims some with `:verifies: id other-id`: it must
print exactly their values, in that order. An entry that no cell claims is as much an error as a value that
differs.

The directive `{source-outputs}` shows the ledger to readers, and the role `{source}` names a source. The
mark beside a claiming cell leads to the ledger (`check.proof_marks`), and from there a link leads back.
"""

import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import make_refnode

from executable_book.check.compared_values import DECIMAL, difference, values_in
from executable_book.html.foldable import folded
from executable_book.remembered import Placeholder, page_data, set_page_data
from executable_book.repeated_warnings import Finding
from executable_book.run.executed_cells import ExecutedCell, Problem, executed_with

CHECKS = "ledger-checks"
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
    """One claim of one entry: where it is made, and what is wrong with it (nothing if it agrees)."""

    line: int
    anchor: str
    output_id: str
    problem: str


def compare_page(app: Sphinx, found: list[ExecutedCell]) -> Iterator[Problem]:
    """Compare all that the cells of a page claim with the ledger; give them anchors."""
    claiming = [cell for cell in found if "verifies" in cell.options]
    device = executed_with(app.env, app.env.docname).get("device", "cpu")
    anchors: Counter[str] = Counter()
    checks = []
    for cell in claiming:
        ids = str(cell.options["verifies"] or "").split()
        anchors[anchor := "-".join(["reproduces", *ids[:1]])] += 1
        anchor += f"--{anchors[anchor]}" if anchors[anchor] > 1 else ""
        cell.node["ids"].append(anchor)
        compared = compare(cell.printed, ids, ledger_of(app.env).outputs, device)
        checks += [Check(cell.line, anchor, *one) for one in compared]
    if checks:
        set_page_data(app.env, CHECKS, app.env.docname, checks)
    yield from dict.fromkeys((one.line, one.problem) for one in checks if one.problem)


def compare(
    printed: str, ids: list[str], outputs: dict[str, Output], device: str
) -> Iterator[tuple[str, str]]:
    """Yield each entry that a cell claims with what is wrong, nothing if it agrees."""
    got, labels = values_in(printed)
    unchecked = next((found[0] for one in labels if (found := DECIMAL.search(one))), "")
    problem = ""
    if not ids:
        yield "", "`:verifies:` names no entry"
    elif unknown := [one for one in ids if one not in outputs]:
        problem = f"the cell claims {unknown[0]!r}, which the ledger does not know"
    elif len(got) != len(ids):
        count = f"{len(got)} value{'s' * (len(got) != 1)}" if got else "nothing that is a value"
        problem = f"the cell claims {len(ids)} ({', '.join(ids)}) but prints {count}"
    elif unchecked:
        problem = f"the cell also prints {unchecked}, which no entry checks"
    for number, output_id in enumerate(ids):
        shown = problem or difference(outputs[output_id].printed, got[number], device)
        differs = f"the cell does not reproduce {output_id!r}:\n{shown}" if shown else ""
        yield output_id, problem or differs


def all_checks(env: BuildEnvironment) -> dict[str, list[Check]]:
    """Return the checks of all pages that claim entries."""
    return page_data(env, CHECKS)


def verified(*pages: list[Check]) -> set[str]:
    """Return the entries that some pages claim, and that differ nowhere there."""
    checks = [*chain(*pages)]
    return {one.output_id for one in checks} - {one.output_id for one in checks if one.problem}


def judge_ledger(app: Sphinx) -> Iterator[Finding]:
    """Find the entries that nobody claims."""
    claimed = {one.output_id for one in chain(*all_checks(app.env).values())}
    for output_id in ledger_of(app.env).outputs:
        if output_id not in claimed:
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
    pages = all_checks(app.env)
    is_verified = place["output_id"] in verified(*pages.values())
    classes = ["source-output-status", "verified" if is_verified else "not-verified"]
    text = "Verified on this build" if is_verified else "Not verified on this build"
    status = nodes.paragraph("", text, classes=classes)
    seen: Counter[str] = Counter()
    claims = ((page, one.anchor, one.output_id) for page in pages for one in pages[page])
    for page, anchor, output_id in claims:
        if output_id == place["output_id"]:
            status += nodes.Text(", and in " if seen else ", reproduced in ")
            seen[title := app.env.titles[page].astext()] += 1
            name = nodes.inline("", f"{title} ({seen[title]})" if seen[title] > 1 else title)
            status += make_refnode(app.builder, docname, page, anchor, name)
    status += nodes.Text(".")
    return [status]
