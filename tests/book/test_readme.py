"""What the README shows is so."""

import re
from contextlib import redirect_stdout
from io import StringIO

from harness.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language, number=0):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)[number]


def test_the_example_prints_what_stands_below_it() -> None:
    out = StringIO()
    with redirect_stdout(out):
        exec(block("python"), {})
    assert out.getvalue() == block("text")


def test_the_folders_are_there_and_none_is_left_out() -> None:
    named = {line.split()[0].rstrip("/") for line in block("text", 1).splitlines()}
    assert all((ROOT / name).is_dir() for name in named)
    packages = {f"src/{path.parent.name}" for path in ROOT.glob("src/*/__init__.py")}
    assert packages <= named


def test_files_that_are_linked_exist() -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert targets
    assert all((ROOT / target).is_file() for target in targets)
