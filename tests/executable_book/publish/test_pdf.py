"""The book as one page, which becomes the PDF."""

from executable_book.publish.pdf import one_page

PAGES = {
    "index": '<title>Book</title><article class="bd-article"><h1 id="book">Book</h1>'
    '<a href="other.html">next</a> <a href="#book">here</a></article><footer>end</footer>',
    "other": '<title>Other</title><article class="bd-article"><h1 id="book">Other</h1>'
    '<a href="index.html#book">back</a> <a href="#book">here</a>'
    ' <a href="genindex.html">index</a> <a href="https://example.org/#x">away</a>'
    ' <img src="_images/a.svg" /></article>',
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


def test_pages_come_in_order_into_what_stands_around_the_first() -> None:
    text = one_page(PAGES, "https://example.org/book/")
    parts = ["<title>Book", "Book</h1>", "Other</h1>", "<footer>end"]
    assert sorted(parts, key=text.index) == parts
    assert "<title>Other" not in text
