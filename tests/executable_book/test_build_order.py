"""What parts offer has its line in the order of a build, or nobody would ever ask for it."""

import ast
import re

import pytest
from harness.paths import ROOT

from executable_book import build_order

TOOLS = ROOT / "src" / "executable_book"
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in TOOLS.rglob("*.py")}
ORDER = set(re.findall(r"\w+\.\w+", (TOOLS / "build_order.py").read_text(encoding="utf-8")))
"""The parts that `build_order` names: `module.name`."""
OFFERED = {
    f"{path.stem}.{one.name}": one
    for path, tree in TREES.items()
    for one in tree.body
    if isinstance(one, ast.FunctionDef | ast.ClassDef)
}


def test_every_check_is_asked() -> None:
    asked = {
        (one.__module__.rpartition(".")[2], one.__name__) for one in build_order.CHECKS.values()
    }
    judges = {name for name in OFFERED if ".judge_" in name}
    assert {".".join(names) for names in asked} == judges


@pytest.mark.parametrize("what", ["outdated", "collect", "update", "publish"])
def test_what_parts_do_with_pages_is_asked_for(what: str) -> None:
    parts = {name for name in OFFERED if name.endswith(f".{what}")}
    assert parts
    assert parts <= ORDER


def test_what_ends_a_build_is_called() -> None:
    ends = {
        name
        for name, one in OFFERED.items()
        if isinstance(one, ast.FunctionDef)
        and [argument.arg for argument in one.args.args] == ["app", "exception"]
    }
    assert ends
    assert ends <= ORDER


def test_directives_roles_and_transforms_are_added() -> None:
    bases = {"SphinxDirective", "SphinxRole", "SphinxPostTransform"}
    added = {
        name
        for name, one in OFFERED.items()
        if isinstance(one, ast.ClassDef) and bases & {ast.unparse(base) for base in one.bases}
    }
    assert added
    assert added <= ORDER


def test_every_placeholder_can_be_filled() -> None:
    kinds = {
        keyword.value.value
        for tree in TREES.values()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "Placeholder"
        for keyword in call.keywords
        if keyword.arg == "kind" and isinstance(keyword.value, ast.Constant)
    }
    assert kinds == build_order.PLACEHOLDERS.keys()
