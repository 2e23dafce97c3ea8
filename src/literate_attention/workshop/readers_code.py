"""What a reader has written, in the model, and beside ours."""

import importlib
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from torch import Tensor

from literate_attention.models.real_model import SMOLLM2
from literate_attention.workshop._road import (
    CHAPTERS,
    line_of,
    own_frames,
    put_on_path,
)
from literate_attention.workshop.assembling import (
    IN_MODEL,
    Assembly,
    Pieces,
    assemble,
)
from literate_attention.workshop.judge.settings import settings_undone
from literate_attention.workshop.judge.trials import UnusableError, message_of
from literate_attention.workshop.pieces import BY_NAME

TOLERANCE = 3e-5
"""How far a number may be off, as a part of the largest one. The same sums in another order are off by 2e-6;
the smallest mistake that was tried, a norm with an eps of 1e-6 in place of 1e-5, is off by 6e-4."""


class ReadersCode:
    """Some of the pieces that a reader has written in the files of a folder."""

    def __init__(self, folder: Path, names: Iterable[str]) -> None:
        self.folder = folder.resolve()
        self.pieces: Pieces = {
            name: getattr(module, name) for name, module in imported(self.folder, names).items()
        }
        modules = own_modules(self.folder)
        name_of = {
            id(value): name
            for module in modules
            for name, value in vars(module).items()
            if name in IN_MODEL and getattr(value, "__module__", None) == module.__name__
        }
        self.places = [
            (module, called, name_of[id(value)])
            for module in modules
            for called, value in vars(module).items()
            if id(value) in name_of
        ]

    def only(self, names: Iterable[str]) -> Pieces:
        """Return some of the pieces; what they call that is not among these is the library's."""
        chosen = {name: self.pieces[name] for name in names}
        for module, called, name in self.places:
            setattr(module, called, chosen.get(name, BY_NAME[name].library))
        return chosen


def imported(folder: Path, names: Iterable[str]) -> dict[str, ModuleType]:
    """Import the files that define some pieces, as they are now."""
    for module in own_modules(folder):
        del sys.modules[module.__name__]
    for stem in CHAPTERS:  # of another folder
        sys.modules.pop(stem, None)
    put_on_path(folder)
    importlib.invalidate_caches()
    with settings_undone():
        return {name: importlib.import_module(BY_NAME[name].stem) for name in names}


def own_modules(folder: Path) -> list[ModuleType]:
    """List the modules that were imported from a folder."""
    return [
        module
        for module in sys.modules.copy().values()
        if (file := getattr(module, "__file__", None)) and Path(file).parent == folder
    ]


class Comparison:
    """SmolLM2 with a reader's pieces in it, beside the library's, on one text."""

    def __init__(
        self,
        written: ReadersCode,
        ours: Assembly,
        token_ids: Tensor,
        sizes: Mapping[str, int] = SMOLLM2,
    ) -> None:
        self.written, self.token_ids, self.sizes = written, token_ids, sizes
        self.weights = ours.model.state_dict()
        self.expected = ours.logits(token_ids)

    def assembled(self, names: Iterable[str]) -> Assembly:
        """Return the model with some of the pieces."""
        return assemble(self.written.only(names), self.weights, self.sizes)

    def is_ours(self, assembly: Assembly) -> bool:
        """Tell whether a model computes the numbers that ours does."""
        logits, right = assembly.logits(self.token_ids), self.expected
        most = TOLERANCE * right.abs().max()
        return logits.shape == right.shape and bool((logits - right).abs().max() <= most)

    def differs(self, names: Iterable[str]) -> bool:
        """Tell whether a model with some of the pieces is not ours, or stops."""
        try:
            return not self.is_ours(self.assembled(names))
        except Exception:
            return True

    def cause(self, names: Sequence[str]) -> str:
        """Say which pieces make the model differ, although each of them is right by itself."""
        alone = [name for name in names if self.differs([name])]
        if alone:
            return f"It is {' and '.join(alone)}, whose check finds nothing wrong."
        needed = [name for name in names if not self.differs(set(names) - {name})]
        if needed:
            return (
                f"Each piece alone is right in our model, but not {' and '.join(needed)} together."
            )
        return "Each piece alone is right in our model, but not all of them together."


def where_it_stops(error: Exception, folder: Path) -> str:
    """Say with what code stops, and in which line of a reader's file."""
    frames = own_frames(traceback.extract_tb(error.__traceback__), folder.resolve())
    where = f" ({line_of(frames[-1])})" if frames else ""
    is_of_weights = isinstance(error, UnusableError)
    what = "weights that do not fit" if is_of_weights else type(error).__name__
    return f"{what}: {message_of(error)}{where}"
