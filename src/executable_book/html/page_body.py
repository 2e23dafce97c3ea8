"""What is mended in the text of a page once it is written.

Pictures do not say how large they are, so that the text below jumps when they come. Sphinx makes the
parameters of a signature a list without terms, and docutils uses a role that is out of the standard.
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from executable_book.book_domain import is_site
from executable_book.html.code_lines import PLAIN_WORD, without_boxes

SIZE = re.compile(r'<svg\b[^>]*?\swidth="([\d.]+)pt" height="([\d.]+)pt"')
BIBLIOGRAPHY_ROLES = ('role="doc-biblioentry"', 'role="listitem"')
SIGNATURE = re.compile(r'<dt class="sig .*?</dt>', re.DOTALL)
MODULE = re.compile(r'(?<=<span class="sig-prename descclassname">)[^<]*')
LINES = {"<dl>": '<span class="sig-lines">', "<dd>": '<span class="sig-line">'}


def mend(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Mend the text of a page."""
    if "body" in context:
        body = context["body"].replace(*BIBLIOGRAPHY_ROLES)
        context["body"] = SIGNATURE.sub(_signature, body)


def size_images(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give each drawing of the site the size that its file names; an e-book is laid out with its drawings."""
    for image in doctree.findall(nodes.image):
        path = Path(app.srcdir, image["uri"])
        is_drawing = path.suffix == ".svg" and path.is_file() and "width" not in image
        if is_site(app) and is_drawing and (size := SIZE.search(path.read_text(encoding="utf-8"))):
            for name, points in zip(("width", "height"), size.groups(), strict=True):
                image[name] = str(round(float(points) * 4 / 3))  # in pixels


def _signature(found: re.Match[str]) -> str:
    """Make parameters lines, boxes words, and let a long name go on behind one of its dots."""
    written = re.sub("</?d[ld]>", lambda tag: LINES.get(tag[0], "</span>"), found[0])
    written = without_boxes(written, "pre", *PLAIN_WORD)
    return MODULE.sub(lambda name: name[0].replace(".", ".<wbr />"), written)
