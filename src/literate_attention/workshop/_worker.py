"""Judge what stands in a reader's folder, in a process of its own.

A reader's code may print, loop for ever, or end the process. So each step is announced before it begins, one
line of JSON each, on a pipe that the code does not see.
"""

import importlib
import json
import os
import signal
import sys
import traceback
from itertools import groupby
from pathlib import Path
from typing import TextIO

import torch

from literate_attention.exercises import Verdict
from literate_attention.exercises.pieces import BY_NAME, Piece
from literate_attention.exercises.pieces._trials import NOT_WRITTEN
from literate_attention.workshop._road import file_name

MOST_MEMORY = 4 * 2**30
"""Bytes. Beyond that a reader's code gets a MemoryError, where the system knows such limits."""


def main(folder: Path, pieces: list[Piece]) -> None:
    """Judge some pieces, chapter by chapter."""
    reports = take_pipe()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that waits for this one decides
    limit_memory()
    torch.set_num_threads(1)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))

    def announce(step: str, names: list[str]) -> None:
        print(json.dumps({"step": step, "names": names}), file=reports, flush=True)

    def report(name: str, verdict: Verdict) -> None:
        print(json.dumps({"name": name, "verdict": vars(verdict)}), file=reports, flush=True)

    for chapter, group in groupby(pieces, lambda piece: piece.chapter):
        stem, names = file_name(chapter), [piece.name for piece in group]
        if not (folder / f"{stem}.py").exists():
            for name in names:
                report(name, NOT_WRITTEN)
            continue
        announce(f"importing {stem}.py", names)
        try:
            module = importlib.import_module(stem)
        except BaseException as error:
            for name in names:
                report(name, Verdict(False, cannot_be_imported(error, folder, stem)))
            continue
        for name in names:
            announce("it", [name])
            report(name, judged(BY_NAME[name], getattr(module, name, None)))
    announce("the end", [])


def take_pipe() -> TextIO:
    """Keep standard output for reports; what a reader's code prints, or C code for it, goes nowhere."""
    reports = os.fdopen(os.dup(1), "w", encoding="ascii")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    return reports


def limit_memory() -> None:
    """Let code that takes more and more memory fail before the computer suffers."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    except (ImportError, OSError, ValueError):  # Windows has no such limit; a lower one may be set
        return


def judged(piece: Piece, mine: object) -> Verdict:
    """Check a piece, whatever its code does."""
    if mine is None:
        return NOT_WRITTEN
    try:
        return piece.check(mine)
    except SystemExit:
        return Verdict(False, "It calls exit(), which ends the program.")
    except BaseException as error:
        return Verdict(False, f"It stops with {type(error).__name__}: {message_of(error)}.")


def cannot_be_imported(error: BaseException, folder: Path, stem: str) -> str:
    """Say in which line of which file an import went wrong."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{Path(error.filename).name}, line {error.lineno}, is no Python: {error.msg}."
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).parent == folder
    ]
    why = f"it stops with {type(error).__name__}: {message_of(error)}"
    if isinstance(error, SystemExit):
        why = "it calls exit(), which ends the program"
    if isinstance(error, NotImplementedError) and frames:
        why = f"it calls {frames[-1].name}, which is not written yet"
        frames = [frame for frame in frames if frame.name == "<module>"]
    where = (
        f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else f"{stem}.py"
    )
    return f"{where}, cannot be imported: {why}."


def message_of(error: BaseException) -> str:
    """Return what an error says."""
    return str(error).strip().rstrip(".") or "no message"


if __name__ == "__main__":
    main(Path(sys.argv[1]), [BY_NAME[name] for name in sys.argv[2:]])
