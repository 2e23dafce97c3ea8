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
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import TextIO

import torch

from literate_attention.workshop._road import (
    CHAPTERS,
    IT_WAITS,
    PATIENCE,
    TIME_IS_OVER,
    TOO_BUSY,
    WAITING,
    FirstLines,
    file_name,
    line_of,
    own_frames,
    put_on_path,
)
from literate_attention.workshop.judge.settings import settings_undone
from literate_attention.workshop.judge.trials import NOT_WRITTEN, EndlessError, message_of
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


def main(folder: Path, seconds: float, endless: list[str], pieces: list[Piece]) -> None:
    """Judge some pieces, chapter by chapter; of some pieces and files it is known that they do not end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that waits for this one decides
    limit("RLIMIT_DATA", MOST_MEMORY)
    torch.set_num_threads(1)
    sys.dont_write_bytecode = True
    put_on_path(folder)
    BY_NAME["softmax"].check(torch.exp)  # what torch imports at its first use is no reader's
    clock = Clock(seconds)
    reports = take_pipes(folder, clock)

    def announce(step: str, of: str, names: list[str]) -> None:
        print(json.dumps({"step": step, "of": of, "names": names}), file=reports, flush=True)
        clock.start()

    def report(name: str, verdict: Verdict) -> None:
        if verdict == NOT_WRITTEN:
            verdict = replace(verdict, says=elsewhere(name, folder) or verdict.says)
        verdict = replace(verdict, says=with_import(verdict.says, BY_NAME[name].chapter))
        print(json.dumps({"name": name, "verdict": vars(verdict)}), file=reports, flush=True)

    for name in endless:
        stem = name if name in CHAPTERS else file_name(BY_NAME[name].chapter)
        if name != stem and stem in endless:
            continue  # all of its file stands aside
        if name != stem:  # its file is imported once more
            names = [piece.name for piece in pieces if file_name(piece.chapter) == stem]
            announce(f"importing {stem}.py", stem, names)
        stand_in_for(name)

    for chapter, group in groupby(pieces, lambda piece: piece.chapter):
        stem, names, module = file_name(chapter), [piece.name for piece in group], ModuleType("")
        stops = None
        if (folder / f"{stem}.py").exists():
            announce(f"importing {stem}.py", stem, names)
            try:
                with settings_undone():
                    module = importlib.import_module(stem)
                if (found := Path(module.__file__ or stem)) != folder / f"{stem}.py":
                    name = f"{found.parent.name}/{found.name}"
                    says = f"Python imports {name} in place of {stem}.py: give it another name."
                    stops = Verdict(False, says)
            except BaseException as error:
                stops = cannot_be_imported(error, folder, stem)
        for name in names:
            announce("it", name, [name])
            report(name, verdict_on(BY_NAME[name], module) if stops is None else stops)


def stand_in_for(name: str) -> None:
    """Put something in the place of a piece, or of all that is in a file, which says that it does not end."""
    if name in CHAPTERS:
        absent = sys.modules[name] = ModuleType(name)
        vars(absent)["__getattr__"] = endless_piece
        return
    with contextlib.suppress(BaseException):
        module = importlib.import_module(file_name(BY_NAME[name].chapter))
        setattr(module, name, endless_piece(name))


def endless_piece(name: str) -> type:
    """Make a class that stops whoever calls it, or what is made of it."""
    if name.startswith("__"):
        raise AttributeError(name)

    def stop(*_: object, **__: object) -> None:
        raise EndlessError(name)

    return type(name, (), {"__init__": stop})


class Clock:
    """Counts the seconds that the processor works on a step, however busy it is with others."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.start()

    def start(self) -> None:
        """Begin a step."""
        self.begun, self.started = time.monotonic(), time.process_time()
        self.delayed = self.delay()
        limit("RLIMIT_CPU", math.ceil(self.started + self.seconds) + GRACE)

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
        return int(DELAYS.read_text().split()[1]) / 1e9 if DELAYS.exists() else 0.0


def limit(name: str, most: int) -> None:
    """Let the system set a limit to this process, if it knows such limits and allows to set them."""
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        kind = getattr(resource, name)
        resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def take_pipes(folder: Path, clock: Clock) -> TextIO:
    """Keep standard output for reports; what a reader's code writes there itself goes nowhere.

    Two threads end this process: one when the process that waits for it asks, or is gone, and with it all
    that it has begun; and the other when the time is over, after it has said where the code is.
    """
    reports = os.fdopen(os.dup(1), "w", encoding="ascii")
    parent = os.dup(0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)

    def end_with_parent() -> None:
        with contextlib.suppress(OSError):
            os.read(parent, 1)
        with contextlib.suppress(AttributeError, OSError):
            os.killpg(0, signal.SIGKILL)
        os._exit(TIME_IS_OVER)

    def end_in_time() -> None:
        while not (code := clock.says()):
            time.sleep(0.05)
        with contextlib.suppress(
            Exception
        ):  # nobody may listen any more, or code has replaced print
            print(json.dumps({"place": place_in(folder)}), file=reports, flush=True)
        os._exit(code)

    for each in (end_with_parent, end_in_time):
        threading.Thread(target=each, daemon=True).start()
    return reports


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


def cannot_be_imported(error: BaseException, folder: Path, stem: str) -> Verdict:
    """Say in which line of which file an import went wrong."""
    if isinstance(error, SyntaxError):
        file = Path(error.filename or f"{stem}.py").name
        where = f"{file}, line {error.lineno}" if error.lineno else file
        return Verdict(False, f"{where}, is no Python: {error.msg}.", first=where)
    frames = own_frames(traceback.extract_tb(error.__traceback__), folder)
    why = f"it stops with {type(error).__name__}: {message_of(error)}"
    if isinstance(error, SystemExit):
        why = "it calls exit(), which ends the program"
    if isinstance(error, EndlessError):
        why = f"it waits for {error}, which does not end"
    elif isinstance(error, NotImplementedError) and frames:
        why = f"it calls {frames[-1].name}, which is not written yet"
        frames = [frame for frame in frames if frame.name == "<module>"]
    if isinstance(error, ImportError) and frames and (other := own_file(frames[-1].line or "")):
        why = f"the folder's files import each other by name: from {other} import ..."
    where = line_of(frames[-1]) if frames else f"{stem}.py"
    says = f"{where}, cannot be imported: {why}."
    return Verdict(False, says, first=where if frames else "")


def elsewhere(name: str, folder: Path) -> str | None:
    """Say that another file defines a piece, if one does."""
    own = f"{file_name(BY_NAME[name].chapter)}.py"
    for file in sorted(folder.glob("*.py")):
        with contextlib.suppress(OSError):  # a folder, or a link that leads nowhere
            if file.name != own and re.search(
                rf"(?m)^(?:def|class) {name}\b".encode(), file.read_bytes()
            ):
                return f"It stands in {file.name}, and is judged in {own} alone: move it there."
    return None


def with_import(says: str, chapter: str) -> str:
    """Add how a piece of another chapter is imported, if its name is what is not known."""
    found = re.search(r"NameError: name '(\w+)' is not defined", says)
    piece = BY_NAME.get(found[1]) if found else None
    if piece is None or piece.chapter == chapter:
        return says
    return f"{says} It is in another file: from {file_name(piece.chapter)} import {piece.name}"


def own_file(line: str) -> str | None:
    """Tell which file beside this one an import meant, by its path from outside or with a dot before it."""
    found = re.match(r"from \S*\.(\w+) import", line)
    return found[1] if found and found[1] in CHAPTERS else None


if __name__ == "__main__":
    place, seconds, endless, *names = sys.argv[1:]
    main(Path(place), float(seconds), endless.split(), [BY_NAME[name] for name in names])
