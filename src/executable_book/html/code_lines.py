"""Code in lines, each a box of its own, so that a style sheet can wrap a long one under its beginning.

Where a line continues depends on where it begins: each says its indentation, in letters. Line breaks stand
between the boxes, as ever, so that what is selected and copied is the original.

Boxes that Pygments makes of names and punctuation, which look like any text, are left out.
"""

import re
from collections.abc import Mapping
from html import escape, unescape

EMPHASIZED = '<span class="hll">'
TAG = re.compile(r"<[^>]*>")
PLAIN_WORD = ("n", "p", "w")
"""The classes that Pygments gives to names, punctuation and blanks."""


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
