"""The book as one page, which becomes the PDF."""

from pathlib import Path
from types import SimpleNamespace

import pikepdf

from executable_book.publish.pdf import about, complete, front_of, one_page

PAGES = {
    "index": '<title>Book</title><article class="bd-article"><h1 id="book">Book</h1>'
    '<a href="other.html">next</a> <a href="#book">here</a></article><footer>end</footer>',
    "other": '<title>Other</title><article class="bd-article"><h1 id="book">Other</h1>'
    '<a href="index.html#book">back</a> <a href="#book">here</a>'
    ' <a href="genindex.html">index</a> <a href="https://example.org/#x">away</a>'
    ' <img src="_images/a.svg" /></article>',
    "part/third": '<article class="bd-article"><h1 id="third">Third</h1><h2>End</h2>'
    '<a href="../index.html#book">back</a> <a href="fourth.html#x">on</a> <a href="#third">here</a>'
    ' <a href="../genindex.html#T">index</a> <a href="../notebooks/third.ipynb">notebook</a>'
    ' <img src="../_images/b.svg" aria-describedby="third" /></article>',
    "part/fourth": '<article class="bd-article"><h1 id="x">Fourth</h1></article>',
}


def test_links_lead_within_the_one_page_and_from_there_to_the_web() -> None:
    text = one_page(PAGES, "https://example.org/book/")
    for link in (
        'href="#other--"',
        'href="#index--book"',
        'href="#other--book"',
        'href="https://example.org/book/genindex.html"',
        'href="https://example.org/#x"',
        'src="_images/a.svg"',
    ):
        assert link in text
    for name in ("index--", "index--book", "other--", "other--book"):
        assert text.count(f' id="{name}"') == 1


def test_links_and_pictures_of_pages_in_folders_are_found() -> None:
    """From the one page, another folder's relative addresses lead nowhere, or into the builder's disk."""
    text = one_page(PAGES, "https://example.org/book/")
    _, third = text.split('id="part/third--"')
    for link in (
        'href="#index--book"',
        'href="#part/fourth--x"',
        'href="#part/third--third"',
        'href="https://example.org/book/genindex.html#T"',
        'href="https://example.org/book/notebooks/third.ipynb"',
        'src="_images/b.svg"',
        'aria-describedby="part/third--third"',
    ):
        assert link in third
    assert "../" not in text


def test_chapters_stand_below_their_parts_behind_the_front() -> None:
    text = one_page(PAGES, "https://example.org/book/", {"part/third": "Part & rest"}, "<p>By us")
    for heading in (
        '<h1 id="index--book">',
        'role="heading" aria-level="1">Part &amp; rest<',
        '<h1 aria-level="2" id="part/third--third">',
        '<h2 aria-level="3">',
        '<h1 aria-level="2" id="part/fourth--x">',
    ):
        assert text.count(heading) == 1
    assert text.index("<p>By us") < text.index("Book</h1>")


def test_the_front_is_the_cover_and_which_edition_it_is(tmp_path: Path) -> None:
    (tmp_path / "paper.css").write_text(".imprint { break-after: page }")
    config = SimpleNamespace(
        project="Book",
        author="<us>",
        book_release="1.2.3",
        epub_copyright="© us",
        epub_cover=("_static/cover.svg", "cover.html"),
        book_pdf_style="paper.css",
        html_baseurl="https://example.org/",
    )
    front = front_of(config, tmp_path)
    assert f'src="{(tmp_path / "_static/cover.svg").as_uri()}"' in front
    for fact in ("Book", "&lt;us&gt;", "Edition 1.2.3", "© us"):
        assert f"<p>{fact}</p>" in front
    assert "<style>.imprint { break-after: page }</style>" in front
    config.epub_cover, config.book_pdf_style = (), ""
    front = front_of(config, tmp_path)
    assert "<img" not in front
    assert "<style" not in front


def test_pages_come_in_order_into_what_stands_around_the_first() -> None:
    text = one_page(PAGES, "https://example.org/book/")
    parts = ["<title>Book", "Book</h1>", "Other</h1>", "<footer>end"]
    assert sorted(parts, key=text.index) == parts
    assert "<title>Other" not in text


def test_a_picture_is_stored_once_and_others_are_kept(tmp_path: Path) -> None:
    """Pictures are the same if they have the same size, too: the bytes of two others may be alike."""
    path = tmp_path / "book.pdf"
    with pikepdf.new() as pdf:
        for width, height in ((2, 3), (2, 3), (3, 2)):
            kind = {"Type": pikepdf.Name.XObject, "Subtype": pikepdf.Name.Image}
            picture = pdf.make_stream(bytes(18), **kind, Width=width, Height=height)
            page = pdf.add_blank_page()
            page.Resources = pikepdf.Dictionary(XObject={"/X": picture})
        pdf.save(path)
    complete(path, {})
    with pikepdf.open(path) as pdf:
        pictures = [page.Resources.XObject["/X"] for page in pdf.pages]
        assert [(int(one.Width), int(one.Height)) for one in pictures] == [(2, 3), (2, 3), (3, 2)]
        assert [one.objgen == pictures[0].objgen for one in pictures] == [True, True, False]
        stored = [one for one in pdf.objects if isinstance(one, pikepdf.Stream)]
        assert sum(one.get("/Subtype") == "/Image" for one in stored) == 2


def test_it_says_what_it_is_to_those_who_keep_it_on_a_shelf(tmp_path: Path) -> None:
    """Some readers read the old list of facts, others the new one."""
    config = SimpleNamespace(
        project="Book", author="us & them", epub_description="All of it.", language="en"
    )
    path = tmp_path / "book.pdf"
    with pikepdf.new() as pdf:
        pdf.add_blank_page()
        pdf.docinfo["/Creator"] = "a browser"
        pdf.save(path)
    complete(path, about(config))
    with pikepdf.open(path) as pdf:
        old = {name: str(said) for name, said in pdf.docinfo.items()}
        assert old["/Title"] == "Book"
        assert old["/Author"] == "us & them"
        assert old["/Subject"] == "All of it."
        assert old["/Creator"] == "a browser"
        with pdf.open_metadata() as new:
            assert new["dc:title"] == "Book"
            assert list(new["dc:creator"]) == ["us & them"]
            assert new["dc:description"] == "All of it."
            assert new["dc:language"] == {"en"}
    config.author = config.epub_description = ""
    assert about(config) == {"dc:title": "Book", "dc:language": {"en"}}
