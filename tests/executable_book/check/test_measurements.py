"""A measurement is what was measured, or every build says that it is not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness.books import Book

from executable_book.check import measurements

MEASURED = {"machine": {"cores": 2}, "versions": {"python": "3.11"}, "seconds": 1.5}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "speed.json"
    measurements.write(path, MEASURED)
    return path


def test_what_is_written_is_read(file: Path) -> None:
    read = measurements.read(file)
    assert {name: read[name] for name in MEASURED} == MEASURED
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seconds": 1.4}, "its checksum does not fit: it was changed after it was measured"),
        ({"sha256": None}, "its checksum does not fit"),
        ({"machine": None}, "'machine' must be an object, got None"),
        ({"versions": "3.11"}, "'versions' must be an object, got '3.11'"),
    ],
)
def test_what_was_changed_is_refused(file: Path, change: dict[str, Any], message: str) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(ValueError, match=message):
        measurements.read(file)


def test_a_list_is_no_measurement(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(ValueError, match="a measurement must be an object, got list"):
        measurements.read(tmp_path / "list.json")


def test_every_build_names_a_file_that_was_changed(new_book: Callable[..., Book]) -> None:
    book = new_book("measurements")
    book.page("page", "# Page\n", head="")
    (book.folder / "measurements").mkdir()
    path = book.folder / "measurements" / "speed.json"
    measurements.write(path, MEASURED)
    assert book.build().warnings == []
    path.write_text(path.read_text().replace("1.5", "1.4"))
    for _ in range(2):
        (warning,) = book.build().warnings
        assert warning.startswith(str(path))
        assert "not a measurement: its checksum does not fit" in warning
