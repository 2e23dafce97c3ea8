"""What stands on a page until all pages are known is filled by its kind."""

from docutils import nodes
from docutils.utils import new_document

from executable_book.placeholders import Placeholder, fill


def test_each_placeholder_gives_way_to_what_its_kind_says() -> None:
    page = new_document("page")
    page += nodes.paragraph("", "", nodes.Text("a "), Placeholder(kind="word", text="b"))
    page += [Placeholder(kind="nothing"), Placeholder(kind="word", text="c")]
    fills = {
        "word": lambda app, docname, place: [nodes.Text(f"{docname}:{place['text']}")],
        "nothing": lambda app, docname, place: [],
    }
    fill(None, page, "home", fills)
    assert [child.astext() for child in page.children] == ["a home:b", "home:c"]
