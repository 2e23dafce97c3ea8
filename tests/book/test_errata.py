"""Each erratum names lines of the sources, quotes them, and is shown by a cell."""

import os
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from harness.paths import DOCS

PAGE = DOCS.joinpath("trust/errata.md").read_text(encoding="utf-8")
SOURCES = {
    source["id"]: source
    for source in tomllib.loads(DOCS.joinpath("sources.toml").read_text(encoding="utf-8"))["source"]
}
FOLDER = os.environ.get("LITERATE_SOURCES")
PLACE = re.compile(r"^- \{source\}`(\d{3})(?: (\d{3}))?`, line (\d+), .+?: `(.+)`$", re.MULTILINE)
ERRATA = re.split(r"^\(erratum-[a-z0-9-]+\)=\n", PAGE, flags=re.MULTILINE)[1:]


class Place(NamedTuple):
    source: str
    line: int
    quotation: str


def places_of(erratum: str) -> list[Place]:
    return [
        Place(source, int(line), quotation)
        for *sources, line, quotation in PLACE.findall(erratum)
        for source in sources
        if source
    ]


def test_each_erratum_is_shown_by_a_cell_and_its_places_are_lines_of_the_sources() -> None:
    assert 0 < len(ERRATA) == PAGE.count("\n### ")
    for erratum in ERRATA:
        bullets = [line for line in erratum.split("\n") if line.startswith("- {source}")]
        assert len(PLACE.findall(erratum)) == len(bullets) > 0, erratum
        assert "```{code-cell} python\n" in erratum
        for place in places_of(erratum):
            assert 1 <= place.line <= SOURCES[place.source]["lines"], place


@pytest.mark.skipif(
    not FOLDER,
    reason="the sources' texts belong to others; set LITERATE_SOURCES to a folder that holds them",
)
def test_what_errata_quote_stands_where_they_say() -> None:
    for erratum in ERRATA:
        for place in places_of(erratum):
            (path,) = Path(FOLDER or "").glob(f"{place.source}*")
            line = path.read_text(encoding="utf-8").splitlines()[place.line - 1]
            assert place.quotation in line, place
