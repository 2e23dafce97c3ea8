"""The package is read from its files: its public names, and all that its modules define."""

from inspect import ismodule

import pytest
from harness.paths import ROOT

import literate_attention
from executable_book.code import package_source
from literate_attention import exercises, figures, workshop


def test_public_names_are_found_with_their_entries_in_the_reference(small) -> None:
    assert {name: item.full for name, item in small.public.items()} == {
        "CONSTANT": "small.one.CONSTANT",
        "Thing": "small.one.Thing",
        "act": "small.one.act",
        "part.aid": "small.part.aid",
        "part.draw": "small.part.draw",
    }
    assert small.public["part.draw"].module.file.name == "inner.py"


def test_what_is_not_public_is_found_too(small) -> None:
    assert small.find("one._hidden").lines == (20, 21)
    assert small.find("_hidden").own == "one._hidden"
    assert small.find("_hidden").full == "small.one._hidden"
    assert small.find("part.draw").own == "part.inner.draw"
    assert small.find("part.inner.draw").own == "part.inner.draw"


@pytest.mark.parametrize("name", ["nothing", "one.nothing", "nowhere.act"])
def test_what_is_not_there_is_an_error(small, name) -> None:
    with pytest.raises(LookupError, match=f"the package small has no '{name}'"):
        small.find(name)


def test_a_name_that_two_modules_define_is_none_of_them(small) -> None:
    (small.folder / "other.py").write_text("def _hidden(): ...\n")
    changed = package_source.library_in(small.folder)
    with pytest.raises(LookupError, match="the package small has no '_hidden'"):
        changed.find("_hidden")
    assert changed.find("other._hidden").own == "other._hidden"


# This package


def test_reading_finds_what_importing_finds() -> None:
    found = package_source.library_in(ROOT / "src" / "literate_attention").public
    names = {name for name, what in vars(literate_attention).items() if not ismodule(what)}
    assert set(found) == {
        *(name for name in names if not name.startswith("_")),
        *(f"figures.{name}" for name in figures.__all__),
        *(f"exercises.{name}" for name in exercises.__all__),
        *(f"workshop.{name}" for name in workshop.__all__),
    }
