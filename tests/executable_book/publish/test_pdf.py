"""The book as one page, which becomes the PDF."""

import pikepdf
import pytest

from executable_book.publish.pdf import (
    chromium,
    first_pages,
    one_page,
    print_whole,
    running_heads,
    store_pictures_once,
)

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
    """From the one page, another folder's relative addresses lead nowhere, or into the builder's disk."""
    text = one_page(PAGES, "https://example.org/book/", {}, "")
    first, third = text.split('id="part/third--"')
    for link in (
        'href="#other--"',
        'href="#index--book"',
        'href="#other--book"',
        'href="https://example.org/book/genindex.html"',
        'href="https://example.org/#x"',
        'src="_images/a.svg"',
    ):
        assert link in first
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
    for name in ("index--", "index--book", "other--", "other--book"):
        assert text.count(f' id="{name}"') == 1
    assert "../" not in text
    in_order = ["<title>Book", "Book</h1>", "Other</h1>", "Third</h1>", "<footer>end"]
    assert sorted(in_order, key=text.index) == in_order
    assert "<title>Other" not in text


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


def test_a_picture_is_stored_once() -> None:
    """Pictures are the same if they have the same size, too: the bytes of two others may be alike."""
    with pikepdf.new() as pdf:
        for width, height in ((2, 3), (2, 3), (3, 2)):
            kind = {"Type": pikepdf.Name.XObject, "Subtype": pikepdf.Name.Image}
            picture = pdf.make_stream(bytes(18), **kind, Width=width, Height=height)
            page = pdf.add_blank_page()
            page.Resources = pikepdf.Dictionary(XObject={"/X": picture})
        store_pictures_once(pdf)
        pictures = [page.Resources.XObject["/X"] for page in pdf.pages]
        assert [(int(one.Width), int(one.Height)) for one in pictures] == [(2, 3), (2, 3), (3, 2)]
        assert [one.objgen == pictures[0].objgen for one in pictures] == [True, True, False]


TITLES = {"index": "Book", "part/third": 'Third & "last"'}


def letters(page):
    """Return how many letters a page shows."""
    shown = pikepdf.parse_content_stream(page)
    return sum(len(bytes(what[0])) // 2 for what, how in shown if str(how) == "Tj")


@pytest.mark.browser
def test_chromium_prints_contents_and_heads(tmp_path) -> None:
    def whole(contents):
        heads = f"<style>@page {{ margin: 20mm }} {running_heads(TITLES)}</style>"
        return f'{heads}{contents}<div id="index--">One</div><div id="part/third--">Two</div>'

    target = tmp_path / "book.pdf"
    with chromium(tmp_path) as print_page:
        print_whole(print_page, whole, TITLES, {}, target)
    with pikepdf.open(target) as pdf:
        assert first_pages(pdf) == {"index": 2, "part/third": 3}
        assert letters(pdf.pages[2]) == len('Third & "last"3Two')
    assert [path.name for path in tmp_path.iterdir()] == ["book.pdf"]
