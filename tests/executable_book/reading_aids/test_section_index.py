"""What a search can find: every section, its sentences as they are read, its code, its entries."""

import json
from typing import Any

PAGE = """# Counting

All begins with {ref}`more <more>`.

## One

```{index} single: unity
```

The root $\\sqrt{d_k}$ of *one*.

### Deeper

- a point

(more)=
## More

| many | more |
| --- | --- |
| few | fewer |
"""


def sections(build):
    """Return what the script of a build hands out."""
    script = (build.out / "sections.js").read_text(encoding="utf-8")
    detail = script.removeprefix('dispatchEvent(new CustomEvent("sections", {detail: ')
    found: dict[str, Any] = json.loads(detail.removesuffix("}));\n"))
    return found


def test_each_section_is_found_by_itself(new_book) -> None:
    book = new_book(book_search=True)
    book.write("counting.md", PAGE)
    found = sections(book.build())
    page = [address for address, _, _ in found["pages"]].index("counting.html")
    assert [section[1:] for section in found["sections"] if section[0] == page] == [
        ["", "Counting", "", "All begins with more.", ""],
        ["one", "One", "unity", "The root \\sqrt{d_k} of one.", ""],
        ["deeper", "Deeper", "", "a point", ""],
        ["more", "More", "", "many\nmore\nfew\nfewer", ""],
    ]


def test_an_entry_of_a_reference_is_a_section(new_book) -> None:
    book = new_book(book_search=True, book_search_last=["reference"])
    entry = ".. py:function:: small.act(x)\n\n   Act on it."
    book.write("reference/api.md", f"# API\n\n```{{eval-rst}}\n{entry}\n```\n")
    found = sections(book.build())
    (page, *act) = next(one for one in found["sections"] if one[1] == "small.act")
    assert act == ["small.act", "act", "", "Act on it.", ""]
    assert found["pages"][page] == ["reference/api.html", "API", 0.25]


def test_a_page_that_is_not_written_again_is_still_found(new_book) -> None:
    book = new_book(book_search=True)
    book.write("one.md", "# One\n")
    book.write("two.md", "# Two\n")
    before = sections(book.build())
    book.write("two.md", "# Two\n\nNew.\n")
    build = book.build()
    assert "one" not in build.written
    after = sections(build)
    assert after["pages"] == before["pages"]
    assert [section[4] for section in after["sections"] if section[2] == "Two"] == ["New."]
