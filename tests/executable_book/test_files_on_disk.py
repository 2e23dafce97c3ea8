"""What the disk refuses is said in one sentence."""

from collections.abc import Callable

import pytest
from harness.books import Book, cell
from sphinx.errors import SphinxError


def test_a_store_that_cannot_be_written_is_one_sentence(new_book: Callable[..., Book]) -> None:
    project = new_book("execution")
    project.page("page", "# Page\n", cell("print(6 * 7)"))
    project.built.mkdir()
    (project.built / "executions").write_text("in the way")
    with pytest.raises(SphinxError, match=r"^The build cannot write \S+\.ipynb: [A-Z][a-z ]+\.$"):
        project.build()
