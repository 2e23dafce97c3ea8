"""Code in lines, each a box of its own, so that a style sheet can wrap a long one under its beginning.

Where a line continues depends on where it begins: each says its indentation, in letters. Line breaks stand
between the boxes, as ever, so that what is selected and copied is the original.
"""

from __future__ import annotations

import re

EMPHASIZED = '<span class="hll">'
TAG = re.compile(r"<[^>]*>")


def in_lines(html: str) -> str:
    """Make a box of each line of highlighted code."""
    start, opening, rest = html.partition("<pre>")
    code, closing, end = rest.rpartition("</pre>")
    if not opening or not code:
        return html
    lines = code.removeprefix("<span></span>").replace("\n</span>", "</span>\n").split("\n")
    return "".join([start, opening, "\n".join(map(_boxed, lines)), closing, end])


def _boxed(line: str) -> str:
    if not line:
        return ""
    kind = "line"
    if line.startswith(EMPHASIZED):
        kind, line = "line hll", line.removeprefix(EMPHASIZED).removesuffix("</span>")
    text = TAG.sub("", line)
    indent = len(text) - len(text.lstrip(" "))
    style = f' style="--indent:{indent}"' if indent else ""
    return f'<span class="{kind}"{style}>{line}</span>'
