"""What this book tells the tool chain are settings that it knows; and it says nothing of attention."""

import re
import runpy

from harness.paths import DOCS, ROOT

from executable_book import settings
from executable_book.run.kernel_start import NOISE

TOOLS = ROOT / "src" / "executable_book"


class Declared:
    """Takes note of the settings that are declared."""

    confdir = DOCS

    def __init__(self) -> None:
        self.names: set[str] = set()

    def add_config_value(self, name, *_) -> None:
        self.names.add(name)


def test_each_setting_of_this_book_is_one_that_is_declared() -> None:
    settings.declare(declared := Declared())  # type: ignore[arg-type]
    said = {name for name in runpy.run_path(str(DOCS / "conf.py")) if name.startswith("book_")}
    assert said
    assert said <= declared.names


def test_what_makes_another_machine_is_part_of_the_key_of_what_it_computed(monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    machines = runpy.run_path("noxfile.py")["MACHINES"]
    variables = runpy.run_path(str(DOCS / "conf.py"))["book_variables"]
    assert {name for one in machines.values() for name in one} <= {*variables, NOISE}


def test_the_tool_chain_knows_nothing_of_this_book() -> None:
    for path in TOOLS.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search("attention|literate", text, re.IGNORECASE), path
