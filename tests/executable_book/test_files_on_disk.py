"""Files that have not changed are not written again."""

from pathlib import Path

from harness.books import Book, make_book


def test_what_is_said_of_all_pages_is_written_again_only_if_it_has_changed(tmp_path: Path) -> None:
    project = make_book(tmp_path, book_search=True)
    project.page("page", "# Page\n\nSee {doc}`index`.\n", head="")
    assert project.build().status == 0
    names = ("llms.txt", "llms-full.txt", "previews/index.js", "sections.js", "sitemap.xml")
    written = {name: saved(project, name) for name in names}
    assert project.build().status == 0
    assert {name: saved(project, name) for name in names} == written
    project.page("another", "# Another\n", head="")
    assert project.build().status == 0
    assert saved(project, "llms.txt") > written["llms.txt"]


def saved(project: Book, name: str) -> int:
    """Return when a file was saved."""
    return (project.html / name).stat().st_mtime_ns
