"""A stored execution is whole and sound, or it is not there."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from harness.books import Book, cell

from executable_book.run.execution_store import KEY_OF_SEAL, UNSEALED, ExecutionStore


def sample() -> nbformat.NotebookNode:
    looks_sealed = {"checksum": UNSEALED}
    outputs = [
        nbformat.v4.new_output("stream", text=f"42\n{json.dumps({KEY_OF_SEAL: UNSEALED})}\n"),
        nbformat.v4.new_output("display_data", {"application/json": looks_sealed}),
    ]
    cells = [nbformat.v4.new_code_cell("6 * 7", id="cell-0", outputs=outputs)]
    return nbformat.v4.new_notebook(cells=cells)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content.replace(b"42", b"43"),
        lambda content: b"",
        lambda content: b"[]",
        lambda content: content.replace(b"book_checksum", b"book_chksum"),
    ],
    ids=["cut", "changed", "empty", "other", "unsealed"],
)
def test_a_damaged_execution_is_noticed_and_removed(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    store = ExecutionStore(tmp_path / "executions")
    store.save("key", sample())
    assert store.holds("key")
    assert store.load("key") == sample()
    path = store.path("key")
    path.write_bytes(damage(path.read_bytes()))
    assert not store.holds("key")
    assert not path.exists()


def test_a_damaged_execution_is_replaced(new_book: Callable[..., Book]) -> None:
    project = new_book("execution")
    project.page("page", "# Page\n", cell("print(6 * 7)"))
    project.build()
    before = project.published()
    (stored,) = project.stored
    stored.write_bytes(stored.read_bytes()[:-50])
    build = project.build()
    assert build.status == 0
    assert build.said.count("is damaged: its page runs again") == 1
    assert build.executed == ["page"]
    assert project.stored == [stored]
    assert project.published() == before


def test_what_nobody_used_for_weeks_is_forgotten(tmp_path: Path) -> None:
    store = ExecutionStore(tmp_path)
    for key in ("used", "unused", "recent"):
        store.save(key, sample())
    for key in ("used", "unused"):
        os.utime(store.path(key), (0, 0))
    store.prune(["used"])
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["recent", "used"]
