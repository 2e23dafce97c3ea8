"""What every kernel does before the first cell: what its book asks for, and little else.

Numbers that f-strings format are noted in every kernel (see `formatted_numbers`). A function of the book that
acts at startup gets another one to call, `note`, for more (see `torch_tensors`). What is noted while a cell
runs follows at its end as one more output, of the private type `VALUES`. The build takes it away before a
page is shown, and compares printed values by it.
"""

from __future__ import annotations

import functools
import importlib
import platform
import sys
from importlib import metadata
from typing import TYPE_CHECKING, Any

from executable_book.run.kernels.formatted_numbers import NOTE, NotesNumbers, note_number
from executable_book.run.kernels.kernel_settings import KernelSettings

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

VALUES = "application/vnd.executable-book.values+json"
ABOUT = "_executed_with"
"""A hidden name in every page: a function that says what the page runs on."""


def install(shell: InteractiveShell, settings: KernelSettings) -> None:
    """Prepare a kernel's shell."""
    from IPython.display import display

    notes: list[dict[str, Any]] = []
    for name in settings.startup:
        _named(name)(notes.append)

    def publish(_: Any) -> None:
        if notes:
            display({VALUES: list(notes)}, raw=True)
            notes.clear()

    shell.events.register("post_run_cell", publish)
    shell.ast_transformers.append(NotesNumbers())
    note = functools.partial(note_number, notes.append)
    shell.push({ABOUT: lambda: executed_with(settings), NOTE: note}, interactive=False)


def executed_with(settings: KernelSettings) -> dict[str, str]:
    """Say what a page runs on: the device, where the page uses one, and the versions that matter."""
    about = {name: metadata.version(name) for name in settings.versions}
    about["python"] = platform.python_version()
    if settings.device:
        in_use = settings.device.partition(":")[0] in sys.modules
        about["device"] = str(_named(settings.device)()) if in_use else "cpu"
    return about


def _named(name: str) -> Any:
    """Return what `module:function` names."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)
