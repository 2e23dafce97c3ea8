"""What search engines, messengers and `llms.txt` say of a page: its own `myst: html_meta: description:`."""

from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx

from executable_book.check.repeated_warnings import Finding
from executable_book.remembered import page_data, set_page_data

DESCRIPTIONS = "descriptions"


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Keep a page's description."""
    named = (meta for meta in doctree.findall(nodes.meta) if meta.get("name") == "description")
    description = next((meta["content"] for meta in named), "")
    set_page_data(app.env, DESCRIPTIONS, app.env.docname, description)


def judge_descriptions(app: Sphinx) -> Iterator[Finding]:
    """Report the pages that do not say what they are about."""
    for docname, description in page_data(app.env, DESCRIPTIONS).items():
        if not description:
            yield Finding(docname, 0, "the page has no description (myst: html_meta: description)")
