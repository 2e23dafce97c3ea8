"""Mistakes as edits of right code, one a line: ``what to say | what the source has -> what replaces it``.

There may be several edits, divided by ``|`` or on lines of their own that are indented; what is indented more
goes on with the line above. Where nothing follows the arrow, the old text is left out.
"""

import __future__

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import combinations, pairwise
from typing import Any, NamedTuple

Mistake = tuple[tuple[str, ...], Callable[[], Any]]
"""What to say of wrong code, and what makes it."""

DOCSTRING = re.compile(r'\n +r?"""(?:.|\n)*?"""(?=\n)')


class Edit(NamedTuple):
    """A place in a source, and what stands there instead."""

    start: int
    end: int
    new: str


class Source:
    """The code of functions and classes that can be changed.

    Args:
        parts: what is asked for, and then what it calls.
    """

    def __init__(self, *parts: Callable[..., Any]) -> None:
        self.name = parts[0].__name__
        self.text = DOCSTRING.sub("", "\n".join(map(inspect.getsource, parts)))
        self.names: dict[str, Any] = {}
        for part in reversed(parts):
            self.names |= vars(sys.modules[part.__module__])

    def change(self, old: str, new: str) -> None:
        """Change what is right."""
        start, end, _ = self.edit(old, new)
        self.text = f"{self.text[:start]}{new}{self.text[end:]}"

    def edit(self, old: str, new: str) -> Edit:
        """Find the place of an edit.

        Raises:
            ValueError: the source does not have the old text exactly once.
        """
        if (count := self.text.count(old)) != 1:
            raise ValueError(f"{self.name} has {old!r} {count} times, expected once")
        start = self.text.index(old)
        return Edit(start, start + len(old), new)

    def edited(self, edits: Sequence[Edit] = ()) -> Any:
        """Run the source with some edits, and return what it defines."""
        text = self.text
        for start, end, new in sorted(edits, reverse=True):
            text = f"{text[:start]}{new}{text[end:]}"
        names = dict(self.names)
        flags = __future__.annotations.compiler_flag
        exec(compile(text, f"<{self.name}>", "exec", flags), names)
        return names[self.name]


def read_table(table: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield what to say of each mistake, and its edits."""
    joined = re.sub(r"\n {4}", " | ", re.sub(r"\n {5,}", " ", table))
    for row in filter(None, joined.splitlines()):
        says, *edits = row.split(" | ")
        pairs = (edit.partition(" ->") for edit in edits)
        yield says, [(old, new.strip()) for old, _, new in pairs]


def mistakes_in(source: Source, table: str, most: int) -> list[Mistake]:
    """List what to say and what makes the wrong code: all that is wrong in one way, then in several."""
    rows = [(says, [source.edit(*one) for one in edits]) for says, edits in read_table(table)]
    found: list[Mistake] = []
    for number in range(1, most + 1):
        for chosen in combinations(rows, number):
            edits = sorted(edit for _, own in chosen for edit in own)
            if all(one.end <= other.start for one, other in pairwise(edits)):
                found.append((tuple(s for s, _ in chosen), cache(partial(source.edited, edits))))
    return found
