"""What search engines and messengers show of a page: its title, address and description.

The description is the page's own (`myst: html_meta: description:`); a page of the book without one is a
finding. The tags are those of the Open Graph protocol. An extension for them exists, but it imports
matplotlib into every build.
"""

from collections.abc import Iterator
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from executable_book.book_domain import page_data, set_page_data
from executable_book.check.repeated_warnings import Finding

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


def add_tags(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Put the tags into a page's head."""
    if app.builder.name == "epub" or page not in app.env.found_docs:
        return
    tags = {
        "og:title": app.env.titles[page].astext(),
        "og:description": page_data(app.env, DESCRIPTIONS)[page],
        "og:type": "website" if page == app.config.root_doc else "article",
        "og:site_name": app.config.project,
        "og:url": context["pageurl"] or "",
    }
    context["metatags"] += "".join(
        f'\n    <meta property="{name}" content="{escape(content)}" />'
        for name, content in tags.items()
        if content
    )
