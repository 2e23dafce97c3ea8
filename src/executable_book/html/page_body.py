"""What is mended in the text of a page once it is written.

Pictures do not say how large they are, so that the text below jumps when they come. Sphinx makes the
parameters of a signature a list of definitions without terms, which screen readers stumble over. And
docutils gives the entries of a bibliography a role that has been taken out of the standard.
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from executable_book.html.code_lines import PLAIN_WORD, without_boxes

IMAGE = re.compile(r'<img (?![^>]*\bwidth=)(?=[^>]*\bsrc="[^"]*/([^"/]+\.svg)")')
SIZE = re.compile(r'<svg\b[^>]*?\swidth="([\d.]+)(pt|px|)" height="([\d.]+)\2"')
BIBLIOGRAPHY_ROLES = ('role="doc-biblioentry"', 'role="listitem"')
PIXELS = {"pt": 4 / 3, "px": 1, "": 1}
SIGNATURE = re.compile(r'<dt class="sig .*?</dt>', re.DOTALL)
MODULE = re.compile(r'(?<=<span class="sig-prename descclassname">)[^<]*')
LINES = {
    "<dl>": '<span class="sig-lines">',
    "<dd>": '<span class="sig-line">',
    "</dd>": "</span>",
    "</dl>": "</span>",
}


def mend(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Mend the text of a page."""
    if "body" in context:
        body = with_image_sizes(context["body"], app).replace(*BIBLIOGRAPHY_ROLES)
        context["body"] = SIGNATURE.sub(_signature, body)


def with_image_sizes(body: str, app: Sphinx) -> str:
    """Give each drawing the size that its file names."""
    files = {name: Path(app.srcdir, path) for path, name in app.builder.images.items()}

    def with_size(tag: re.Match[str]) -> str:
        size = SIZE.search(files[tag[1]].read_text(encoding="utf-8")) if tag[1] in files else None
        if not size:
            return tag[0]
        width, height = (round(float(length) * PIXELS[size[2]]) for length in (size[1], size[3]))
        return f'<img width="{width}" height="{height}" '

    return IMAGE.sub(with_size, body)


def _signature(found: re.Match[str]) -> str:
    """Make parameters lines, boxes words, and let a long name go on behind one of its dots."""
    written = re.sub("|".join(LINES), lambda tag: LINES[tag[0]], found[0])
    written = without_boxes(written, "pre", *PLAIN_WORD)
    return MODULE.sub(lambda name: name[0].replace(".", ".<wbr />"), written)
