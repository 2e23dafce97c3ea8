"""What executions depend on is found by rule: a change of any of it, at any depth, is another fingerprint."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from executable_book.run import fingerprint as module
from executable_book.run.fingerprint import fingerprint
from executable_book.run.kernels.kernel_settings import KernelSettings

FILES = [
    path.relative_to(module.KERNELS).as_posix()
    for path in sorted(module.KERNELS.rglob("*"))
    if path.is_file() and "__pycache__" not in path.parts
]


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the folder that kernels are made of, in its place."""
    compiled = shutil.ignore_patterns("__pycache__")  # others may write there just now
    folder = Path(shutil.copytree(module.KERNELS, tmp_path / "kernels", ignore=compiled))
    monkeypatch.setattr(module, "KERNELS", folder)
    return folder


@pytest.mark.parametrize("file", [*FILES, "new.py", "a/new/folder/new.py"])
def test_it_follows_every_file_that_kernels_are_made_of(kernels: Path, file: str) -> None:
    before = fingerprint([])
    assert fingerprint([]) == before
    path = kernels / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text((path.read_text() if path.exists() else "") + "\n# changed\n")
    assert fingerprint([]) != before


@pytest.mark.parametrize("change", ["edited", "added", "removed", "renamed"])
def test_it_follows_all_that_is_in_a_folder_that_a_book_names(tmp_path: Path, change: str) -> None:
    deep = tmp_path / "library" / "a" / "b" / "deep.py"
    deep.parent.mkdir(parents=True)
    deep.write_text("x = 1\n")
    before = fingerprint([tmp_path / "library"])
    match change:
        case "edited":
            deep.write_text("x = 2\n")
        case "added":
            (deep.parent / "c").mkdir()
            (deep.parent / "c" / "data.txt").write_text("")
        case "removed":
            deep.unlink()
        case "renamed":
            deep.rename(deep.with_name("other.py"))
    assert fingerprint([tmp_path / "library"]) != before


def test_what_python_compiled_is_no_change(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("")
    before = fingerprint([tmp_path])
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "one.pyc").write_text("compiled")
    assert fingerprint([tmp_path]) == before


def test_it_follows_settings_and_the_modules_that_act_at_startup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "acts_first.py").write_text("def install(note): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    settings = KernelSettings(startup=("acts_first:install",))
    before = fingerprint([], settings)
    assert before != fingerprint([])
    (tmp_path / "acts_first.py").write_text("def install(note): note({})\n")
    assert fingerprint([], settings) != before


def test_it_follows_the_variables_that_a_book_names(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint([], variables=["SOME_VARIABLE"])
    monkeypatch.setenv("SOME_VARIABLE", "on")
    assert fingerprint([], variables=["SOME_VARIABLE"]) != before
    assert fingerprint([]) == fingerprint([], variables=[])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sys.version", "3.99"),
        ("executable_book.run.kernels.kernel_settings.metadata.version", lambda name: "99"),
        ("executable_book.run.fingerprint._processor", lambda: "another"),
        ("executable_book.run.fingerprint._accelerators", lambda: ["a GPU"]),
        ("platform.platform", lambda: "another"),
    ],
)
def test_it_follows_python_the_packages_and_the_machine(
    name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = fingerprint([])
    monkeypatch.setattr(name, value)
    assert fingerprint([]) != before
