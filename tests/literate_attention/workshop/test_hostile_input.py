"""Hundreds of damaged files and hundreds of hostile ones: none is taken for whole, and nothing is left."""

import os
import random
import time
from pathlib import Path

import pytest
import torch

from literate_attention import workshop
from literate_attention.models.model_file import read_kept
from literate_attention.workshop._chapters import CHAPTERS

# Damaged files


@pytest.mark.whole
def test_a_damaged_copy_is_read_as_it_was_or_not_at_all(tmp_path) -> None:
    file = tmp_path / "model.pt"
    weights, tokens = torch.randn(50, 70), "\n".join(map(str, range(999)))
    torch.save({"weights": {"x": weights}, "tokens": tokens}, file)
    whole = file.read_bytes()
    for at in random.sample(range(len(whole)), 250):
        for content in (whole[:at], whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :]):
            file.write_bytes(content)
            if kept := read_kept(file):
                assert kept.keys() == {"weights", "tokens"}
                assert torch.equal(kept["weights"]["x"], weights)
                assert kept["tokens"] == tokens


# Hostile code

ENDINGS = """\
os._exit(0)
os.abort()
os.kill(os.getpid(), signal.SIGKILL)
os.kill(0, signal.SIGTERM)
sys.exit()
raise KeyboardInterrupt
raise type("E", (Exception,), {"__str__": lambda self: 1 / 0})()
raise ValueError(chr(0xD800) + chr(27) + "[2J" + "x" * 10**7)
while True: pass
re.match("(a+)+b", 40 * "a")
os.closerange(0, 300)
bytearray(2**40)
ctypes.string_at(0)
subprocess.Popen(["sleep", "600"])
os.fork()
os.fork() or time.sleep(600)
os.fork() or (os.setsid(), os.fork(), time.sleep(600))
threading.Thread(target=time.sleep, args=(600,)).start()
signal.setitimer(signal.ITIMER_REAL, 0.1)
print("x" * 10**6); os.write(1, b"[1]"); os.write(2, bytes(range(256)))
sys.stdout = sys.stderr = json.dumps = None
sys.modules.clear()
""".splitlines()
PLACES = ["end()", "", "threading.Thread(target=end).start()", "atexit.register(end)"]
"""At the import of a file, only when a piece is called, beside, and at the end."""
HOSTILE = """\
import atexit, ctypes, json, os, re, signal, subprocess, sys, threading, time
def end(*_, **__):
    exec({ending!r}, globals())
{names} = end
{place}
"""


@pytest.mark.seeds
@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="who is left is seen there")
@pytest.mark.parametrize("first", range(0, 200, len(CHAPTERS)))
def test_code_that_ends_badly_gets_a_verdict_and_leaves_nothing(tmp_path, first) -> None:
    random.seed(first)
    for stem, pieces in CHAPTERS.items():
        names = " = ".join(piece.name for piece in pieces)
        ending, place = random.choice(ENDINGS), random.choice(PLACES)
        code = HOSTILE.format(ending=ending, names=names, place=place)
        (tmp_path / f"{stem}.py").write_text(code, "utf-8")
    checked = workshop.check(tmp_path, seconds=1.0)
    assert len(checked.results) == sum(map(len, CHAPTERS.values()))
    assert not checked.named("right"), checked
    assert "Traceback" not in str(checked)
    for one in checked.results:
        assert len(one.says) < 10_000
        assert one.says.replace("\n", "").isprintable()
    for _ in range(
        600
    ):  # the system takes a moment for each that is killed; what is left sleeps 600 s
        left = [one for one in os.listdir("/proc") if one.isdigit() and works_in(one, tmp_path)]
        if not left:
            return
        time.sleep(0.1)
    raise AssertionError(f"{left} are left")


def works_in(process, folder):
    try:
        return Path(f"/proc/{process}/cwd").resolve(strict=True) == folder.resolve()
    except OSError:
        return False
