"""Compiled templates are kept, and made anew when a template has changed."""


def test_templates_are_compiled_once(new_book) -> None:
    book = new_book()
    conf = (book.folder / "conf.py").read_text(encoding="utf-8")
    book.write("conf.py", conf + "templates_path = ['_templates']\n")
    book.write(
        "_templates/layout.html",
        '{% extends "!layout.html" %}{% block footer %}first{% endblock %}',
    )
    book.page("page", "# Page\n")
    first = book.run_forked()
    assert "first" in first.html("page")
    kept = {path.name: path.stat().st_mtime_ns for path in first.out.parent.rglob("*.cache")}
    assert len(kept) > 3

    book.page("page", "# Page\n\nWords.\n")
    again = book.run_forked()
    assert "Words." in again.html("page")
    now = {path.name: path.stat().st_mtime_ns for path in first.out.parent.rglob("*.cache")}
    assert {name: now[name] for name in kept} == kept

    book.write(
        "_templates/layout.html",
        '{% extends "!layout.html" %}{% block footer %}second{% endblock %}',
    )
    assert "second" in book.run_forked().html("page")
