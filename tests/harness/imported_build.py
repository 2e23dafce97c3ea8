"""What each build does at first, and takes long: a process that imports this has done it before it forks."""

from importlib import import_module

import myst_nb  # type: ignore[import-untyped]  # noqa: F401
from nbformat.v4 import new_notebook
from pygments import lex
from pygments.lexers import get_lexer_by_name
from sphinx.application import builtin_extensions

import executable_book.build_order  # noqa: F401

for extension in builtin_extensions:
    import_module(extension)
for language in ("ipython3", "myst-ansi"):
    lex("", get_lexer_by_name(language))
new_notebook()
