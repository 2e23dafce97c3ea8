"""What is mended in the text of a page once it is written.

Pictures do not say how large they are, so that the text below jumps when they come. Sphinx makes the
parameters of a signature a list without terms, and docutils uses a role that is out of the standard.

Each line of code becomes a box of its own, which says its indentation in letters, so that a style sheet can
wrap a long one under its beginning. Line breaks stand between the boxes, so that what is copied is the
original. Boxes that Pygments makes of names and punctuation, which look like any text, are left out.
"""

import re
from collections.abc import Mapping
from html import escape, unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from executable_book.remembered import is_site

SIZE = re.compile(r'<svg\b[^>]*?\swidth="([\d.]+)pt" height="([\d.]+)pt"')
BIBLIOGRAPHY_ROLES = ('role="doc-biblioentry"', 'role="listitem"')
SIGNATURE = re.compile(r'<dt class="sig .*?</dt>', re.DOTALL)
MODULE = re.compile(r'(?<=<span class="sig-prename descclassname">)[^<]*')
EMPHASIZED = '<span class="hll">'
TAG = re.compile(r"<[^>]*>")
PLAIN_WORD = ("n", "p", "w")
"""The classes that Pygments gives to names, punctuation and blanks."""
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


def in_lines(html: str, shapes: Mapping[int, str]) -> str:
    """Make a box of each line of highlighted code, which says the shapes that the line makes."""
    start, opening, rest = html.partition("<pre>")
    code, closing, end = rest.rpartition("</pre>")
    code = without_boxes(code.removeprefix("<span></span>"), *PLAIN_WORD)
    lines = code.replace("\n</span>", "</span>\n").split("\n")
    boxed = (_boxed(line, shapes.get(number, "")) for number, line in enumerate(lines, start=1))
    return "".join([start, opening, "\n".join(boxed), closing, end])


def with_width(html: str) -> str:
    """Say how many letters the longest line of an output has, unless it wraps on a phone anyhow."""
    columns = max(len(unescape(TAG.sub("", line))) for line in html.split("\n"))
    return html.replace("<pre>", f'<pre style="--columns:{columns}">') if columns <= 58 else html


def without_boxes(html: str, *kinds: str) -> str:
    """Leave out the boxes of some classes that hold nothing but text or a link."""
    for kind in kinds:
        box = rf'<span class="{kind}">((?:<a [^>]*>)?[^<]*(?:</a>)?)</span>'
        html = re.sub(box, r"\1", html)
    return html


def _boxed(line: str, shapes: str) -> str:
    if not line:
        return ""
    kind = "line"
    if line.startswith(EMPHASIZED):
        kind, line = "line hll", line.removeprefix(EMPHASIZED).removesuffix("</span>")
    text = TAG.sub("", line)
    indent = len(text) - len(text.lstrip(" "))
    style = f' style="--indent:{indent}"' if indent else ""
    said = f' data-shapes="{escape(shapes)}"' if shapes else ""
    return f'<span{said} class="{kind}"{style}>{line}</span>'
