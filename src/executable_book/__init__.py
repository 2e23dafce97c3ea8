"""Makes true pages of a MyST book: runs them, checks what they print, shows the library that they teach.

It knows nothing of any one book: what it must know is told in the book's conf.py (see `settings`). The order
of all that happens in a build is written in `build_order`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Be an extension of Sphinx. A kernel that imports a part of this package stays free of Sphinx."""
    from executable_book.build_order import connect

    connect(app)
    return {
        "version": "1",
        "env_version": 2,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
