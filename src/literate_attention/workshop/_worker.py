"""Judge what stands in a reader's folder, in a process of its own.

A reader's code may print, loop for ever, or end the process. So each step is announced before it begins, one
line of JSON each, on a pipe that the code does not see.
"""

import contextlib
import importlib
import json
import math
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from types import ModuleType

import torch

from literate_attention.workshop._chapters import (
    CHAPTERS,
    FirstLines,
    line_of,
    own_frames,
    put_on_path,
)
from literate_attention.workshop._limits import (
    IT_WAITS,
    PATIENCE,
    TIME_IS_OVER,
    TOO_BUSY,
    WAITING,
)
from literate_attention.workshop.judge.settings import settings_undone
from literate_attention.workshop.judge.trials import NOT_WRITTEN, message_of
from literate_attention.workshop.judge.verdict import Verdict
from literate_attention.workshop.pieces import BY_NAME, Piece, judged_apart

MOST_MEMORY = 4 * 2**30
"""Bytes. Beyond that a reader's code gets a MemoryError, where the system knows such limits."""

GRACE = 2
"""Seconds after which the system ends code that lets no other thread say that its time is over."""

IDLE = 0.01
"""The part of all time that the processor works on what only waits."""

DELAYS = Path("/proc/self/schedstat")
"""Where Linux says how long the main thread has worked, and how long it has waited for its turn."""


def main(folder: Path, seconds: float, pieces: list[Piece]) -> None:
    """Judge some pieces, chapter by chapter."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that waits for this one decides
    limit("RLIMIT_DATA", MOST_MEMORY)
    torch.set_num_threads(1)
    sys.dont_write_bytecode = True
    BY_NAME["softmax"].check(torch.exp)  # what torch imports at its first use is no reader's
    put_on_path(folder)
    tell = take_pipes()
    clock = Clock(seconds, lambda: tell(place=place_in(folder)))
    for stem, group in groupby(pieces, lambda piece: piece.stem):
        of_chapter, module, stops = list(group), ModuleType(""), None
        if (folder / f"{stem}.py").exists():
            tell(step=f"importing {stem}.py", names=[piece.name for piece in of_chapter])
            clock.start()
            try:
                with settings_undone():
                    module = importlib.import_module(stem)
                if (found := Path(f"{module.__file__}")) != folder / f"{stem}.py":
                    name = f"{found.parent.name}/{found.name}"
                    says = f"Python imports {name} in place of {stem}.py: give it another name."
                    stops = Verdict(False, says)
            except BaseException as error:
                stops = cannot_be_imported(error, folder, stem)
        for piece in of_chapter:
            tell(step="it", names=[piece.name])
            clock.start()
            verdict = verdict_on(piece, module) if stops is None else stops
            tell(name=piece.name, verdict=vars(with_help(verdict, piece, folder)))


class Clock:
    """Ends this process when the processor has worked for too long on a step, however busy it is with others.

    Args:
        seconds: how long the processor may work on a step.
        last_words: what is said before the end.
    """

    def __init__(self, seconds: float, last_words: Callable[[], None]) -> None:
        self.seconds, self.last_words = seconds, last_words
        self.start()
        threading.Thread(target=self.watch, daemon=True).start()

    def start(self) -> None:
        """Begin a step."""
        self.begun, self.started = time.monotonic(), time.process_time()
        self.delayed = self.delay()
        limit("RLIMIT_CPU", math.ceil(self.started + self.seconds) + GRACE)

    def watch(self) -> None:
        """Wait until it is over."""
        while not (code := self.says()):
            time.sleep(0.05)
        with contextlib.suppress(Exception):  # nobody listens, or code has replaced print
            self.last_words()
        os._exit(code)

    def says(self) -> int:
        """Return the exit code of what is to end, and zero for what may go on."""
        worked, lasted = time.process_time() - self.started, time.monotonic() - self.begun
        if worked > self.seconds:
            return TIME_IS_OVER
        patience = WAITING if self.delayed else PATIENCE  # zero: the system does not count
        if lasted > patience and worked + self.delay() - self.delayed < IDLE * lasted:
            return IT_WAITS
        return TOO_BUSY if lasted > PATIENCE else 0

    @staticmethod
    def delay() -> float:
        """Return for how many seconds the main thread could have worked and did not get its turn."""
        with contextlib.suppress(OSError):  # the system does not count, or no file can be opened
            return int(DELAYS.read_text().split()[1]) / 1e9
        return 0.0


def limit(name: str, most: int) -> None:
    """Let the system set a limit to this process, if it knows such limits and allows to set them."""
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        kind = getattr(resource, name)
        resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def take_pipes() -> Callable[..., None]:
    """Return what reports; what a reader's code writes to standard output itself goes nowhere.

    A thread ends this process, and all that it has begun, when the process that waits for it is gone.
    """
    reports = os.fdopen(os.dup(1), "w", encoding="ascii")
    parent = os.dup(0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)

    def end_with_parent() -> None:
        try:
            os.read(parent, 1)
        except OSError:
            return  # a reader's code has closed it; the limits of time remain
        with contextlib.suppress(AttributeError, OSError):
            os.killpg(0, signal.SIGKILL)
        os._exit(TIME_IS_OVER)

    threading.Thread(target=end_with_parent, daemon=True).start()
    return lambda **message: print(json.dumps(message), file=reports, flush=True)


def place_in(folder: Path) -> str:
    """Say which line of a reader's the main thread is in."""
    main_thread = sys._current_frames()[threading.main_thread().ident or 0]
    frames = own_frames(traceback.extract_stack(main_thread), folder)
    return f"{frames[-1].name}, {line_of(frames[-1])}".removeprefix("<module>, ") if frames else ""


def verdict_on(piece: Piece, module: ModuleType) -> Verdict:
    """Check a piece, whatever its code does."""
    mine = getattr(module, piece.name, None)
    if mine is None:
        return NOT_WRITTEN
    if mine is piece.library:
        return Verdict(False, "It is the library's own, imported.", is_written=False)
    printed = FirstLines()
    try:
        with contextlib.redirect_stdout(printed), settings_undone():
            verdict = judged_apart(mine, piece.name)
    except SystemExit:
        return Verdict(False, "It calls exit(), which ends the program.")
    except BaseException as error:
        return Verdict(False, f"It stops with {type(error).__name__}: {message_of(error)}.")
    if not verdict and verdict.is_written:
        return replace(verdict, case="\n".join(filter(None, [verdict.case, printed.shown()])))
    return verdict


def with_help(verdict: Verdict, piece: Piece, folder: Path) -> Verdict:
    """Add where a piece stands that is looked for in vain, or how one of another chapter is imported."""
    if verdict == NOT_WRITTEN:
        return replace(verdict, says=elsewhere(piece, folder) or verdict.says)
    found = re.search(r"NameError: name '(\w+)' is not defined", verdict.says)
    other = BY_NAME.get(found[1]) if found else None
    if other is None or other.stem == piece.stem:
        return verdict
    how = f"It is in another file: from {other.stem} import {other.name}"
    return replace(verdict, says=f"{verdict.says} {how}")


def cannot_be_imported(error: BaseException, folder: Path, stem: str) -> Verdict:
    """Say in which line of which file an import went wrong."""
    if isinstance(error, ValueError) and "null bytes" in str(error):  # until Python 3.11.3
        error = SyntaxError(str(error))
    if isinstance(error, SyntaxError):
        file = Path(error.filename or f"{stem}.py").name
        where = f"{file}, line {error.lineno}" if error.lineno else file
        return Verdict(False, f"{where}, is no Python: {error.msg}.", first=where)
    frames = own_frames(traceback.extract_tb(error.__traceback__), folder)
    why = f"it stops with {type(error).__name__}: {message_of(error)}"
    if isinstance(error, SystemExit):
        why = "it calls exit(), which ends the program"
    if isinstance(error, NotImplementedError) and frames:
        why = f"it calls {frames[-1].name}, which is not written yet"
        frames = [frame for frame in frames if frame.name == "<module>"]
    if isinstance(error, ImportError) and frames and (other := own_file(frames[-1].line or "")):
        why = f"the folder's files import each other by name: from {other} import ..."
    where = line_of(frames[-1]) if frames else f"{stem}.py"
    says = f"{where}, cannot be imported: {why}."
    return Verdict(False, says, first=where if frames else "")


def elsewhere(piece: Piece, folder: Path) -> str | None:
    """Say that another file defines a piece, if one does."""
    definition = re.compile(rf"(?m)^(?:def|class) {piece.name}\b".encode())
    for file in sorted(folder.glob("*.py")):
        with contextlib.suppress(OSError):  # a folder, or a link that leads nowhere
            if file.stem != piece.stem and definition.search(file.read_bytes()):
                return f"It stands in {file.name}, and is judged in {piece.stem}.py alone: move it there."
    return None


def own_file(line: str) -> str | None:
    """Tell which file beside this one an import meant, by its path from outside or with a dot before it."""
    found = re.match(r"from \S*\.(\w+) import", line)
    return found[1] if found and found[1] in CHAPTERS else None


if __name__ == "__main__":
    place, seconds, *names = sys.argv[1:]
    main(Path(place), float(seconds), [BY_NAME[name] for name in names])
