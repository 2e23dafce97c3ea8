"""Each erratum says of what kind it is and where, shows it in a cell, and links to what is right."""

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

INTRODUCTION, *_ = PAGE.partition("\n## ")
KINDS = re.findall(r"^- \*([^*]+)\*:", INTRODUCTION, re.MULTILINE)
PLACE = re.compile(r"^- \{source\}`(\d{3})(?: (\d{3}))?`, line (\d+), .+?: `(.+)`$", re.MULTILINE)
CELL = re.compile(r"^```\{code-cell\} python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Place(NamedTuple):
    source: str
    line: int
    quotation: str


class Erratum(NamedTuple):
    anchor: str
    text: str

    @property
    def kind(self) -> str:
        return self.text.split("\n\n")[1].strip("*")

    @property
    def places(self) -> list[Place]:
        return [
            Place(source, int(line), quotation)
            for *sources, line, quotation in PLACE.findall(self.text)
            for source in sources
            if source
        ]

    @property
    def cells(self) -> list[str]:
        return CELL.findall(self.text)


ERRATA = [
    Erratum(*part)
    for part in re.findall(
        r"^\((erratum-[a-z0-9-]+)\)=\n(### .*?)(?=^## |^\(erratum-|\Z)",
        PAGE,
        re.MULTILINE | re.DOTALL,
    )
]
each_erratum = pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: erratum.anchor)


def test_each_erratum_has_an_anchor() -> None:
    assert 0 < len(ERRATA) == PAGE.count("\n### ")


@each_erratum
def test_it_is_of_a_kind_that_the_introduction_names(erratum: Erratum) -> None:
    assert erratum.kind in KINDS


@each_erratum
def test_its_places_are_lines_of_the_sources(erratum: Erratum) -> None:
    bullets = [line for line in erratum.text.split("\n") if line.startswith("- ")]
    assert len(PLACE.findall(erratum.text)) == len(bullets) > 0
    for place in erratum.places:
        assert 1 <= place.line <= SOURCES[place.source]["lines"]


@each_erratum
def test_a_cell_shows_it(erratum: Erratum) -> None:
    assert erratum.cells
    if erratum.kind == "Code that fails":
        assert any("message_of(" in cell for cell in erratum.cells)


@pytest.mark.skipif(
    not FOLDER,
    reason="the sources' texts belong to others; set LITERATE_SOURCES to a folder that holds them",
)
@each_erratum
def test_what_it_quotes_stands_where_it_says(erratum: Erratum) -> None:
    for place in erratum.places:
        (path,) = Path(FOLDER or "").glob(f"{place.source}*")
        assert place.quotation in path.read_text(encoding="utf-8").splitlines()[place.line - 1]
