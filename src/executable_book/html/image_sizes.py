"""Pictures that say how large they are, so that no text jumps when they come."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

IMAGE = re.compile(r'<img (?![^>]*\bwidth=)(?=[^>]*\bsrc="[^"]*/([^"/]+\.svg)")')
SIZE = re.compile(r'<svg\b[^>]*?\swidth="([\d.]+)(pt|px|)" height="([\d.]+)\2"')
PIXELS = {"pt": 4 / 3, "px": 1, "": 1}


def add_sizes(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give each drawing of a page the size that its file names."""
    files = {name: Path(app.srcdir, path) for path, name in app.builder.images.items()}

    def with_size(tag: re.Match[str]) -> str:
        size = SIZE.search(files[tag[1]].read_text(encoding="utf-8")) if tag[1] in files else None
        if not size:
            return tag[0]
        width, height = (round(float(length) * PIXELS[size[2]]) for length in (size[1], size[3]))
        return f'<img width="{width}" height="{height}" '

    if "body" in context:
        context["body"] = IMAGE.sub(with_size, context["body"])
