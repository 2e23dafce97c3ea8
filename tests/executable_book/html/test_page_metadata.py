"""Each page says what it is about, to search engines and to messengers."""


def test_a_page_without_a_description_is_named_at_every_build(new_book) -> None:
    book = new_book("descriptions")
    book.write(
        "index.md", "---\nmyst: {html_meta: {description: Half}}\n---\n" + book.text("index.md")
    )
    book.page("page", "# A page\n", head="")
    for _ in range(2):
        build = book.build()
        assert build.status == 1
        (warning,) = build.warnings
        assert "page.md" in warning
        assert "the page has no description" in warning
