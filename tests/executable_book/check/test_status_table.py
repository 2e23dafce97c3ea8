"""The state of the book: a line for each page, with what was executed, verified and recorded."""

import re

import pytest
from harness.books import LEDGER

PAGE = """# A title

```{code-cell}
:verifies: three

print(%s)
```

```{code-cell}
print("ours")
```
"""


@pytest.fixture
def book(new_book):
    book = new_book("execution", "ledger", "recorded", book_ledger="sources.toml")
    book.write("sources.toml", LEDGER)
    book.write("recorded/one.txt", '>>> print("ours")\n    ours\n')
    book.page("one", PAGE % "3")
    book.write("state.md", "# State\n\n```{status}\n```\n")
    return book


def line(build):
    """Return what the only page's line says."""
    table = build.html("state").partition('class="status')[2].partition("</table>")[0]
    (found,) = re.findall("<tr.*?</tr>", table.partition("<tbody>")[2], re.DOTALL)
    return [
        re.sub("<.*?>", "", cell).strip()
        for cell in re.findall("<t[hd].*?</t[hd]>", found, re.DOTALL)
    ]


def test_each_page_has_a_line(book) -> None:
    build = book.build()
    assert build.warnings == []
    assert line(build) == ["A title", "2", "1", "1"]
    assert 'href="one.html"' in build.html("state")


def test_a_title_that_changed_is_shown_and_what_is_not_reproduced_does_not_count(book) -> None:
    assert line(book.build())[2] == "1"
    book.page("one", (PAGE % "4").replace("A title", "Another title"))
    assert line(book.build())[:3] == ["Another title: 1 output differs", "2", "0"]
