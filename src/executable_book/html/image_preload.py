"""A picture above the first section is asked for at once: it is the largest thing on a phone's screen."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def find(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Tell the layout the address of a page's first picture, if it stands above the first section."""
    beginning, *_ = context.get("body", "").partition("<h2")
    if found := re.search(r'<img [^>]*src="([^"]*)"', beginning):
        context["first_picture"] = found[1]
