"""What tests of code share: a small package, read from its files."""

import pytest

from executable_book.code import package_source

PACKAGE = {
    "__init__.py": "from small.one import CONSTANT, Thing, act\n\n__all__ = ['CONSTANT', 'Thing', 'act']\n",
    "one.py": '''"""A module."""

import functools

CONSTANT: int = 3
"""What it is."""


@functools.cache
def act(x: int) -> int:
    """Do it.

    At length.
    """

    y = x  # a comment
    return _hidden(y)


def _hidden(x):
    return x


class Thing:
    """A thing."""

    def method(self):
        """Say it."""
        return "of a thing"

    def silent(self):
        """Have nothing but a docstring."""
''',
    "part/__init__.py": "from small.part.inner import draw\nfrom small.part.deep import aid\n",
    "part/deep/__init__.py": "from small.part.deep import tool\n\n\ndef aid():\n    return tool\n",
    "part/deep/tool.py": "",
    "part/inner.py": "def draw():\n    return 1\n",
    "alone.py": "def check():\n    return 2\n\n\ndef aside():\n    return 3\n",
}


@pytest.fixture
def small(tmp_path):
    for name, text in PACKAGE.items():
        path = tmp_path / "small" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return package_source.library_in(tmp_path / "small")
