"""The ledger holds what the five sources print, every value, in every place; errata quote what stands there.

The sources' texts belong to others and are not part of this project. Whoever has them names their
folder in the environment variable LITERATE_SOURCES; without it, the tests that read them are skipped.
"""

import hashlib
import os
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from harness.paths import DOCS

LEDGER = tomllib.loads((DOCS / "sources.toml").read_text(encoding="utf-8"))
SOURCES = {source["id"]: source for source in LEDGER["source"]}
OUTPUTS = LEDGER["output"]
FOLDER = os.environ.get("LITERATE_SOURCES")

each_output = pytest.mark.parametrize("output", OUTPUTS, ids=lambda output: output["id"])
each_source = pytest.mark.parametrize("source", SOURCES)
needs_sources = pytest.mark.skipif(
    not FOLDER,
    reason="the sources' texts belong to others; set LITERATE_SOURCES to a folder that holds them",
)

PYTHON_FENCE = re.compile(r"^ *```python.*?^ *```", re.MULTILINE | re.DOTALL)
OUTPUT_FENCE = re.compile(r"^``` ?(?:shell|output)\n(.*?)```", re.MULTILINE | re.DOTALL)
TENSOR = (
    r"(?<![\w.])tensor\((?:[\s\d.,\[\]-]|inf|True|False)*"
    r"(?:grad_fn=<\w+>|requires_grad=True)?\)?"  # 001 loses one last parenthesis
)
PRINTED = re.compile(
    rf"\[{TENSOR}(?:, {TENSOR})*\]"  # a batch of the data loader: a list of tensors
    rf"|{TENSOR}"
    r"|torch\.Size\(\[[\d, ]*\]\)"
    r"|^(?:[A-Z][\w ]*: )?(?P<number>\d+(?:\.\d+)?)$",  # a line that is one number
    re.MULTILINE,
)


class Printed(NamedTuple):
    source: str
    line: int
    text: str


def squeezed(text):
    return "".join(text.split())


def numbers(printed):
    return re.findall(r"-?\d+\.?\d*|-?inf|True|False", re.sub(r"\w+=.*", "", printed))


def extract(source, text):
    """Find what a text prints: in output fences, after notebook cells, in examples; not in code."""
    without_code = PYTHON_FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence[0]), text)
    for match in PRINTED.finditer(without_code):
        group = "number" if match["number"] else 0
        line = without_code.count("\n", 0, match.start(group)) + 1
        yield Printed(source, line, squeezed(match[group]))


def read_source(source):
    (path,) = Path(FOLDER or "").glob(f"{source}*")
    return path


def test_ids_are_unique() -> None:
    assert [name for name, count in Counter(o["id"] for o in OUTPUTS).items() if count > 1] == []
    assert len(SOURCES) == len(LEDGER["source"])


@each_output
def test_places_are_lines_of_known_sources(output) -> None:
    assert output["places"]
    for place in output["places"]:
        assert 1 <= place["line"] <= SOURCES[place["source"]]["lines"]


@each_output
def test_a_place_prints_the_numbers_of_its_entry(output) -> None:
    """A place differs from its entry by a suffix or a bracket at most, never by a number."""
    for place in output["places"]:
        if "printed" in place:
            assert squeezed(place["printed"]) != squeezed(output["printed"])
            assert numbers(place["printed"]) == numbers(output["printed"])
        assert ("misprint" in place) == (place.get("printed", ")").count(")") == 0)


@needs_sources
@each_source
def test_the_file_is_the_one_that_was_transcribed(source) -> None:
    content = read_source(source).read_bytes()
    assert hashlib.sha256(content).hexdigest() == SOURCES[source]["sha256"]
    assert len(content.decode("utf-8").splitlines()) == SOURCES[source]["lines"]


@needs_sources
@each_source
def test_nothing_else_is_printed_in_an_output_fence(source) -> None:
    """What the extractor leaves of an output fence are labels, without a digit."""
    for fence in OUTPUT_FENCE.findall(read_source(source).read_text(encoding="utf-8")):
        assert not re.search(r"\d", PRINTED.sub("", fence))


@needs_sources
def test_the_ledger_holds_every_output_of_the_sources_and_no_other() -> None:
    found = Counter(
        printed
        for source in SOURCES
        for printed in extract(source, read_source(source).read_text(encoding="utf-8"))
    )
    listed = Counter(
        Printed(place["source"], place["line"], squeezed(place.get("printed", output["printed"])))
        for output in OUTPUTS
        for place in output["places"]
    )
    assert listed - found == Counter()
    assert found - listed == Counter()


# Errata

PLACE = re.compile(r"\b(\d{3})(?: (\d{3}))?`?, line (\d+): `([^`\n]+)`")
SHOWN = re.compile(r"^ *show\((\d+),", re.MULTILINE)
PAGE = (DOCS / "trust/errata.md").read_text(encoding="utf-8")
TEXTS = [line for line in PAGE.splitlines() if line.startswith(("- {source}", "| "))]
ROWS = [text.split(" | ") for text in TEXTS if re.match(r"\| \d", text)]


def test_each_erratum_is_shown_by_a_cell() -> None:
    """Each section has a cell, and each row of a table is shown under its number."""
    sections = re.split(r"^\([a-z0-9-]+\)=\n###", PAGE, flags=re.MULTILINE)[1:]
    assert sections
    for section in sections:
        assert "\n- {source}" in section
        assert "```{code-cell} python\n" in section
    assert [int(row[0].strip("| ")) for row in ROWS] == [*range(1, len(ROWS) + 1)]
    assert sorted({int(number) for number in SHOWN.findall(PAGE)}) == [*range(1, len(ROWS) + 1)]


def test_each_erratum_names_places() -> None:
    for place in (one for one in TEXTS if one.startswith("- ")):
        assert PLACE.search(place), place
    for row in ROWS:
        assert all(map(PLACE.fullmatch, row[1].split("; "))), row


@needs_sources
def test_what_errata_quote_stands_where_they_say() -> None:
    for *sources, line, quotation in PLACE.findall("\n".join(TEXTS)):
        for source in filter(None, sources):
            text = read_source(source).read_text(encoding="utf-8").splitlines()
            assert quotation in text[int(line) - 1], (source, line)
