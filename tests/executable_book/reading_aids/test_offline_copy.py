"""What a browser keeps of a site: all that readers need, under a name that is the edition's own."""

import json
from pathlib import Path
from types import SimpleNamespace

from executable_book.reading_aids.offline_copy import LIST, WORKER, write_worker

FILES = {
    "index.html": "<p>hello</p>",
    "index.md": "hello",
    "_static/book.css": "p {}",
    "notebooks/index.ipynb": "{}",
    "llms-full.txt": "hello",
    ".buildinfo": "for the build",
}


def site(folder, **changed):
    for name, text in (FILES | changed).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return SimpleNamespace(outdir=folder)


def written(app):
    write_worker(app)
    folder = Path(app.outdir)
    edition = (folder / WORKER).read_text(encoding="utf-8").splitlines()[0]
    return edition, json.loads((folder / LIST).read_text(encoding="utf-8"))


def test_it_keeps_what_readers_need_and_says_how_much_that_is(tmp_path) -> None:
    _, kept = written(site(tmp_path))
    names = ["_static/book.css", "index.html", "index.md"]
    assert [*kept["files"]] == names
    assert kept["bytes"] == sum(len(FILES[name]) for name in names)


def test_the_same_site_is_the_same_edition_and_another_is_not(tmp_path) -> None:
    first = written(site(tmp_path / "first"))
    assert written(site(tmp_path / "again")) == first
    assert written(site(tmp_path / "again")) == first  # what was written before is no part of it
    edition, kept = written(site(tmp_path / "other", **{"index.html": "<p>hullo</p>"}))
    assert edition != first[0]
    changed = {name for name in kept["files"] if kept["files"][name] != first[1]["files"][name]}
    assert changed == {"index.html"}
