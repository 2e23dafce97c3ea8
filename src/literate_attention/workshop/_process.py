"""Verdicts from a process of its own: what runs there may print, loop for ever, or end the process."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, cast

import literate_attention
from literate_attention.workshop._chapters import (
    WorkshopError,
)
from literate_attention.workshop._limits import (
    IT_WAITS,
    PATIENCE,
    TIME_IS_OVER,
    TOO_BUSY,
    WAITING,
)
from literate_attention.workshop.judge.verdict import Verdict, capitalized

MARK = "LITERATE_ATTENTION_CHECK"
"""The variable of the environment that all have which a process begins, whatever their session."""


def verdicts(folder: Path, names: Sequence[str], seconds: float) -> Iterator[tuple[str, Verdict]]:
    """Judge pieces; whenever the process ends that does it, another goes on with the rest."""
    missing = list(names)
    while missing:
        for name, verdict in verdicts_of_one(folder, tuple(missing), seconds):
            missing.remove(name)
            yield name, verdict


def verdicts_of_one(
    folder: Path, names: Sequence[str], seconds: float
) -> Iterator[tuple[str, Verdict]]:
    """Judge pieces, until all are judged or one of them ends the process."""
    left, at_stake, step, place = {*names}, [*names], "", ""
    mark, heard, done = uuid.uuid4().hex, time.monotonic(), threading.Event()

    def stop_in_time() -> None:
        while process.poll() is None and not is_late(heard):
            if done.wait(0.05):
                return
        stop(process, mark)  # what is left would keep the pipe open

    with worker(folder, names, seconds, mark) as process:
        threading.Thread(target=stop_in_time, daemon=True).start()
        try:
            for line in cast(IO[bytes], process.stdout):
                heard = time.monotonic()
                match read_message(line):
                    case {"step": step, "names": at_stake}:
                        pass
                    case {"place": place}:
                        pass
                    case {"name": name, "verdict": verdict} if name in left:
                        left.remove(name)
                        yield name, plain(Verdict(**verdict))
                if not left:
                    return
            code = process.wait()
            if is_late(heard):
                code = TOO_BUSY
            if not step and code == TOO_BUSY:
                raise WorkshopError("The computer is too busy to begin; try again.")
            if not step:
                errors = cast(IO[bytes], process.stderr).read().decode()
                raise RuntimeError(f"no process could begin to check: {errors}")
        finally:
            done.set()
            stop(process, mark)
    where = f": it is in {printable(place)}" if place else ""
    says = capitalized(f"{step} {how_it_ended(code, seconds)}{where}.")
    for name in at_stake:
        if name in left:
            yield name, Verdict(False, says, is_written=code != TOO_BUSY)


def worker(
    folder: Path, names: Sequence[str], seconds: float, mark: str
) -> subprocess.Popen[bytes]:
    """Start the process that runs a reader's code. It ends when its standard input does: with this one."""
    package = Path(literate_attention.__file__).parents[1]
    paths = [str(package), os.environ.get("PYTHONPATH", "")]
    module, place = f"{__package__}._worker", str(folder.resolve())
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, place, str(seconds), *names],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PYTHONIOENCODING": "utf-8",
            "MPLBACKEND": "agg",
            MARK: mark,
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def is_late(heard: float) -> bool:
    """Tell whether a process says nothing for longer than it watches itself, as when it stands still."""
    return time.monotonic() - heard > PATIENCE + 20


def read_message(line: bytes) -> dict[str, Any]:
    """Read what a process reports; a line of a reader's own, who has found the pipe, says nothing."""
    try:
        return dict(json.loads(line))
    except (ValueError, TypeError):
        return {}


def plain(verdict: Verdict) -> Verdict:
    """Write a verdict as a terminal can be sent it, and its sentence on one line."""
    case = "\n".join(map(printable, verdict.case.split("\n")))
    says, first = printable(" ".join(verdict.says.split())), printable(verdict.first)
    return replace(verdict, says=says, case=case, first=first)


def printable(text: str) -> str:
    """Write what no terminal should be sent as Python does."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def stop(process: subprocess.Popen[bytes], mark: str) -> None:
    """End a process, and all that it has begun; in sessions of their own, if the system shows these."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, ProcessLookupError, PermissionError):  # Windows, or nothing is left
        process.kill()
    for _ in range(20):
        left = [*begun_under(mark)]
        for one in left:
            with contextlib.suppress(ProcessLookupError):  # it has ended
                os.kill(one, signal.SIGKILL)
        if not left:  # else it may have begun another meanwhile
            return


def begun_under(mark: str) -> Iterator[int]:
    """Yield the processes that have a mark, if the system shows them."""
    for environment in Path("/proc").glob("[1-9]*/environ"):
        with contextlib.suppress(OSError):  # of another user, or gone
            if f"{MARK}={mark}".encode() in environment.read_bytes():
                yield int(environment.parent.name)


def how_it_ended(code: int, seconds: float) -> str:
    """Say how a process has ended, by its exit code."""
    name = next((one.name for one in signal.Signals if one == -code), "")
    if code == TIME_IS_OVER or name == "SIGXCPU":
        return f"does not end within {seconds:g} seconds of processor time"
    if code == IT_WAITS:
        return f"does not end: it waits, and does nothing for {WAITING:g} seconds"
    if code == TOO_BUSY:
        return f"could not be judged within {PATIENCE:g} seconds, since the computer is busy; try again"
    if name == "SIGKILL":
        return "is stopped by the system, as happens when it takes all memory"
    return f"crashes Python ({signal.strsignal(-code)})" if code < 0 else "ends the program"
