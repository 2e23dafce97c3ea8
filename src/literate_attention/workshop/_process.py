"""Verdicts from a process of its own: what runs there may print, loop for ever, or end the process."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import literate_attention
from literate_attention.workshop._road import (
    IT_WAITS,
    PATIENCE,
    TIME_IS_OVER,
    TOO_BUSY,
    WAITING,
    WorkshopError,
)
from literate_attention.workshop.judge.verdict import Verdict

ENDLESS = "does not end"
MARK = "LITERATE_ATTENTION_CHECK"
"""The variable of the environment that all have which a process begins, whatever their session."""

PATIENCE_FOR_AN_ANSWER = 20.0
"""How many seconds more a process has to say that the patience with it is over."""


def verdicts(folder: Path, names: Sequence[str], seconds: float) -> Iterator[tuple[str, Verdict]]:
    """Judge pieces; whenever the process ends that does it, another goes on with the rest."""
    missing, endless = list(names), list[str]()
    while missing:
        for name, verdict in verdicts_of_one(folder, tuple(missing), endless, seconds):
            missing.remove(name)
            yield name, verdict


def verdicts_of_one(
    folder: Path, names: Collection[str], endless: list[str], seconds: float
) -> Iterator[tuple[str, Verdict]]:
    """Judge pieces, until all are judged or one of them ends the process.

    What does not end is added to a list, so that the next process does not wait for it.
    """
    left, at_stake, step, running, place = {*names}, list(names), "", "", ""
    mark = uuid.uuid4().hex
    with tempfile.TemporaryFile() as errors:
        process = worker(folder, names, endless, seconds, errors, mark)
        lines = lines_of(process)
        try:
            while left and (line := lines.get(timeout=PATIENCE + PATIENCE_FOR_AN_ANSWER)):
                match read_message(line):
                    case {"step": step, "of": running, "names": at_stake}:
                        pass
                    case {"place": place}:
                        pass
                    case {"name": name, "verdict": verdict} if name in left:
                        left.remove(name)
                        yield name, plain(Verdict(**verdict))
            if not left:
                return
            code = process.wait(PATIENCE)
        except (queue.Empty, subprocess.TimeoutExpired):
            code = TOO_BUSY
        finally:
            stop(process, mark)
        if not step and code == TOO_BUSY:
            raise WorkshopError("The computer is too busy to begin; try again.")
        if not step:
            errors.seek(0)
            raise RuntimeError(f"no process could begin to check: {errors.read().decode()}")
    ended = how_it_ended(code, seconds)
    stands_still = left == {*names} and left.isdisjoint(at_stake)  # what it imports again ends it
    if ended.startswith(ENDLESS) or stands_still:
        endless.append(running)
    says = (
        f"{step[0].upper()}{step[1:]} {ended}{f': it is in {printable(place)}' if place else ''}."
    )
    for name in at_stake:
        if name in left:
            yield name, Verdict(False, says, is_written=code != TOO_BUSY)


def worker(
    folder: Path,
    names: Collection[str],
    endless: Collection[str],
    seconds: float,
    errors: IO[bytes],
    mark: str,
) -> subprocess.Popen[bytes]:
    """Start the process that runs a reader's code. It ends when its standard input does: with this one."""
    package = Path(literate_attention.__file__).parents[1]
    paths = [str(package), os.environ.get("PYTHONPATH", "")]
    module, place = f"{__package__}._worker", str(folder.resolve())
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, place, str(seconds), " ".join(endless), *names],
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
        stderr=errors,
        start_new_session=True,
    )


def lines_of(process: subprocess.Popen[bytes]) -> "queue.SimpleQueue[bytes]":
    """Return what a process writes, line by line; an empty one says that it has ended."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        assert process.stdout is not None
        with process.stdout as output:
            for line in output:
                lines.put(line)
        lines.put(b"")

    def say_end() -> None:
        wait_for_end(process)
        time.sleep(1)  # what it wrote last is read meanwhile
        lines.put(b"")  # children that it has left may keep the pipe open

    for follow in (read, say_end):
        threading.Thread(target=follow, daemon=True).start()
    return lines


def wait_for_end(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process and leave it where it is, if the system can, so that its number stays its own."""
    with contextlib.suppress(ChildProcessError):
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        else:
            process.wait()


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
    process.wait()
    for environment in Path("/proc").glob("[1-9]*/environ"):
        with contextlib.suppress(OSError):  # of another user, or gone
            if f"{MARK}={mark}".encode() in environment.read_bytes():
                os.kill(int(environment.parent.name), signal.SIGKILL)
    if process.stdin:
        process.stdin.close()


def how_it_ended(code: int, seconds: float) -> str:
    """Say how a process has ended, by its exit code."""
    name = next((one.name for one in signal.Signals if one == -code), "")
    if code == TIME_IS_OVER or name == "SIGXCPU":
        return f"{ENDLESS} within {seconds:g} seconds of processor time"
    if code == IT_WAITS:
        return f"{ENDLESS}: it waits, and does nothing for {WAITING:g} seconds"
    if code == TOO_BUSY:
        return f"could not be judged within {PATIENCE:g} seconds, since the computer is busy; try again"
    if name == "SIGKILL":
        return "is stopped by the system, as happens when it takes all memory"
    return f"crashes Python ({signal.strsignal(-code)})" if code < 0 else "ends the program"
