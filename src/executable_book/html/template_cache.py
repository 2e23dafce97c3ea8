"""Templates of pages are compiled once, not at every build: the theme's are many."""

from __future__ import annotations

from pathlib import Path

from jinja2 import FileSystemBytecodeCache
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder


def keep_compiled(app: Sphinx) -> None:
    """Have compiled templates kept beside the doctrees; Jinja knows by a checksum when one has changed."""
    if isinstance(app.builder, StandaloneHTMLBuilder):
        folder = Path(app.doctreedir, "templates")
        folder.mkdir(exist_ok=True)
        cache = FileSystemBytecodeCache(str(folder))
        app.builder.templates.environment.bytecode_cache = cache
