"""The picture of the front page is asked for at once: it is the largest thing on a phone's first screen."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def find(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Tell the layout the address of the front page's first picture."""
    if page == app.config.root_doc and (
        found := re.search(r'<img [^>]*src="([^"]*)"', context["body"])
    ):
        context["first_picture"] = found[1]
