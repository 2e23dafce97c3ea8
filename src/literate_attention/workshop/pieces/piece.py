"""What a reader may write in place of a part of this library, and how it is judged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from literate_attention.workshop.judge.trials import Given, Judged, Run, call
from literate_attention.workshop.judge.verdict import Verdict


@dataclass(frozen=True)
class Piece:
    """A function or a class of the book that readers write themselves.

    Args:
        library: the library's own, from which the stub is cut and whose name it has.
        section: the heading of the section that explains it.
        hint: one sentence that helps, and is no solution.
        check: judges what a reader wrote.
        leave_out: parameters and methods of the library's own that a reader need not write.
        batch: the axes before the last ones in what it is given, as the stub says it and the check tries it:
            any number of them, one, or none.
        attributes: the names by which a checkpoint is read: of parameters, and of what has them.
        in_model: whether SmolLM2 can run with the reader's own.
        exercise: the label of the exercise that asks for it, if the page has one.
    """

    library: Callable[..., object]
    section: str
    hint: str
    check: Callable[[object], Verdict] = field(repr=False)
    leave_out: tuple[str, ...] = ()
    batch: Literal["*batch ", "batch ", ""] = "*batch "
    attributes: tuple[str, ...] = ()
    in_model: bool = False
    exercise: str | None = None

    @property
    def chapter(self) -> str:
        """The page that explains it, such as ``"story/simple_attention"``."""
        return "/".join(self.library.__module__.split(".")[1:])

    @property
    def stem(self) -> str:
        """How the file of its chapter is called, without suffix, here and in a reader's folder."""
        return self.chapter.rpartition("/")[2]

    @property
    def name(self) -> str:
        """How the library calls it, and a stub."""
        return self.library.__name__


def judged(
    library: Callable[..., object],
    section: str,
    hint: str,
    table: str,
    given: Sequence[Given | tuple[Any, ...]],
    run: Run = call,
    **others: Any,
) -> Piece:
    """Make a piece that is judged by what it returns; see :class:`.Judged` for what else may be said."""
    of_judge = {n: others.pop(n) for n in ("code", "then", "most") if n in others}
    return Piece(library, section, hint, Judged(library, table, given, run, **of_judge), **others)
