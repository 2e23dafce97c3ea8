"""The archive of the site: on request, the same bytes from the same site, and complete."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipfile import ZipFile

from executable_book.publish.zip_archive import write_archive


def site(folder: Path, *, asked: bool = True) -> Any:
    out = folder / "html"
    for name in ("index.html", "_static/book.css", ".buildinfo", ".doctrees/index.doctree"):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(name, encoding="utf-8")
    config = SimpleNamespace(book_archive=asked, project="Some Book")
    return SimpleNamespace(outdir=out, builder=SimpleNamespace(name="html"), config=config)


def test_the_same_site_gives_the_same_bytes_in_one_folder(tmp_path: Path) -> None:
    archives = []
    for name, date in (("a", 1_000_000_000), ("b", 1_500_000_000)):
        app = site(tmp_path / name)
        for path in app.outdir.rglob("*"):
            os.utime(path, (date, date))
        write_archive(app)
        archives.append(tmp_path / name / "some-book.zip")
    first, second = archives
    assert first.read_bytes() == second.read_bytes()
    with ZipFile(first) as archive:
        assert archive.namelist() == ["some-book/_static/book.css", "some-book/index.html"]


def test_nobody_asked(tmp_path: Path) -> None:
    write_archive(site(tmp_path, asked=False))
    assert not (tmp_path / "some-book.zip").exists()
