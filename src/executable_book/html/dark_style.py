"""Dark colours where no script runs.

A theme's dark rules hold once a script has set `data-theme` to dark. Without scripts it stays as the server
has sent it: light. So `dark.css` repeats the dark rules of all style sheets for a page that says it is light,
and a page links it, within `<noscript>`, for systems that are dark.
"""

import re
from pathlib import Path

import tinycss2  # type: ignore[import-untyped]
from sphinx.application import Sphinx

from executable_book.files_on_disk import write_if_changed

NAME = "dark.css"
LINKED = re.compile(r'<link rel="stylesheet"[^>]*href="_static/([^"?]+\.css)')
IS_DARK = re.compile(r"""\[data-theme=["']?dark["']?\]""")


def write_style(app: Sphinx) -> None:
    """Write the dark rules of the style sheets that the first page links."""
    static = Path(app.outdir, "_static")
    first = Path(app.outdir, f"{app.config.root_doc}.html").read_text(encoding="utf-8")
    names = LINKED.findall(first)
    sheets = [(static / name).read_text(encoding="utf-8") for name in names if name != NAME]
    write_if_changed(static / NAME, "".join(map(dark_rules, sheets)))


def dark_rules(css: str) -> str:
    """Return the rules of a style sheet that hold in the dark, for a page that says it is light."""
    rules = tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True)
    dark = (rule.serialize() for rule in rules if rule.type == "qualified-rule")
    return "".join(IS_DARK.sub("[data-theme=light]", rule) for rule in dark if IS_DARK.search(rule))
