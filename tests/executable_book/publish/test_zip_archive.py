"""The archive of the site: the same bytes from the same site, and complete."""

import os
from pathlib import Path
from types import SimpleNamespace
from zipfile import ZipFile

import pytest

from executable_book.publish.zip_archive import write_archive


def site(folder: Path) -> SimpleNamespace:
    out = folder / "html"
    (out / "_static").mkdir(parents=True)
    (out / "index.html").write_text("<p>hello</p>", encoding="utf-8")
    (out / "_static" / "book.css").write_text("p {}", encoding="utf-8")
    (out / ".buildinfo").write_text("not for readers", encoding="utf-8")
    (out / ".doctrees").mkdir()
    (out / ".doctrees" / "index.doctree").write_text("nor this", encoding="utf-8")
    config = SimpleNamespace(book_archive=True, project="Some Book")
    return SimpleNamespace(outdir=out, builder=SimpleNamespace(name="html"), config=config)


def test_the_same_site_gives_the_same_bytes(tmp_path: Path) -> None:
    archives = []
    for name, date in (("a", 1_000_000_000), ("b", 1_500_000_000)):
        app = site(tmp_path / name)
        for path in app.outdir.rglob("*"):
            os.utime(path, (date, date))
        write_archive(app, None)
        archives.append((tmp_path / name / "some-book.zip").read_bytes())
    assert archives[0] == archives[1]


def test_it_holds_all_that_readers_need_in_one_folder(tmp_path: Path) -> None:
    write_archive(site(tmp_path), None)
    with ZipFile(tmp_path / "some-book.zip") as archive:
        assert archive.namelist() == [
            "some-book/_static/book.css",
            "some-book/index.html",
        ]


@pytest.mark.parametrize("damaged", [False, True])
def test_it_is_written_again_only_when_it_holds_another_site(tmp_path: Path, damaged: bool) -> None:
    app = site(tmp_path)
    write_archive(app, None)
    archive = tmp_path / "some-book.zip"
    if damaged:
        archive.write_bytes(archive.read_bytes()[:-9])
    os.utime(archive, (1_000_000_000, 1_000_000_000))
    (app.outdir / "index.html").write_text("<p>hello</p>", encoding="utf-8")
    write_archive(app, None)
    assert (archive.stat().st_mtime == 1_000_000_000) != damaged
    os.utime(archive, (1_000_000_000, 1_000_000_000))
    (app.outdir / "index.html").write_text("<p>jello</p>", encoding="utf-8")
    write_archive(app, None)
    assert archive.stat().st_mtime > 1_000_000_000
    with ZipFile(archive) as packed:
        assert packed.read("some-book/index.html") == b"<p>jello</p>"


def test_it_is_left_out_on_request(tmp_path: Path) -> None:
    app = site(tmp_path)
    app.config.book_archive = False
    write_archive(app, None)
    assert not (tmp_path / "some-book.zip").exists()


def test_a_build_that_failed_leaves_none(tmp_path: Path) -> None:
    write_archive(site(tmp_path), ValueError("broken"))
    assert not (tmp_path / "some-book.zip").exists()
