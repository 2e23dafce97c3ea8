"""`check`, and the command line: a verdict whatever a reader's code does, and errors that help."""

import csv
import inspect
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness.library import naive_pieces

from literate_attention import workshop
from literate_attention.__main__ import main
from literate_attention.workshop import _process, _worker, checking
from literate_attention.workshop._chapters import (
    CHAPTERS,
    WorkshopError,
)
from literate_attention.workshop._limits import (
    IT_WAITS,
    TIME_IS_OVER,
    TOO_BUSY,
)
from literate_attention.workshop.checking import Checked, Result
from literate_attention.workshop.judge.verdict import Verdict
from literate_attention.workshop.pieces import BY_NAME, PIECES

RIGHT_SOFTMAX = "def softmax(x):\n    return torch.softmax(x, dim=-1)\n"
ATTEND = "def dot_product_attention(x):\n    return softmax(x @ x.mT) @ x\n"
RIGHT_MASK = """\
def causal_mask(q_len, kv_len=None):
    kv_len = kv_len or q_len
    return torch.ones(q_len, kv_len).tril(kv_len - q_len) > 0
"""


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "my ättention"
    workshop.start(path)
    return path


def write(folder, stem, code) -> None:
    """Write at the end of a chapter's file, as if it stood in the stub's place."""
    with (folder / f"{stem}.py").open("a", encoding="utf-8") as file:
        file.write(f"\n\n{code}")


def command(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "literate_attention", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding=environment.get("PYTHONIOENCODING", "utf-8"),
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
        check=False,
    )


def said(checked):
    return {result.piece.name: result.says for result in checked.results}


# What a reader's code may do


def test_nothing_is_written_yet(folder) -> None:
    checked = workshop.check(folder)
    assert set(said(checked).values()) == {"not written yet"}
    assert f"Right: 0 of {len(PIECES)}." in str(checked)
    assert f"Next: {PIECES[0].name}, explained under" in str(checked)
    assert "`from causal_attention import causal_mask`" in (folder / "README.md").read_text("utf-8")


def test_code_that_loops_crashes_exits_and_prints(folder) -> None:
    """Each gets a verdict of its own, and what comes after it is judged all the same."""
    write(
        folder,
        "simple_attention",
        "import os\nprint('✓ loud', flush=True)\nos.write(1, b'louder')\nos.system('echo loudest')\n"
        + RIGHT_SOFTMAX,
    )
    write(folder, "causal_attention", RIGHT_MASK)
    write(
        folder,
        "transformer_block",
        """\
import os, sys
class RMSNorm(nn.Module):
    def __init__(self, *given):
        os.abort()
class SwiGLU(nn.Module):
    def __init__(self, *given):
        while True:
            pass
class TransformerBlock(nn.Module):
    def __init__(self, *given):
        sys.exit()
class LanguageModel(nn.Module):
    def __init__(self, *given):
        os._exit(0)
""",
    )
    checked = workshop.check(folder, seconds=2.0)
    verdicts = said(checked)
    assert verdicts["softmax"] == "right"
    assert verdicts["causal_mask"] == "right"
    assert verdicts["RMSNorm"].startswith("It crashes Python")
    assert re.fullmatch(
        r"It does not end within 2 seconds .+: it is in __init__, transformer_block\.py, line \d+\.",
        verdicts["SwiGLU"],
    )
    assert verdicts["TransformerBlock"] == "It calls exit(), which ends the program."
    assert verdicts["LanguageModel"] == "It ends the program."
    assert str(checked).split("\n")[-1].split() == checked.named("right")


def test_files_that_cannot_be_imported(folder) -> None:
    (folder / "simple_attention.py").write_text("x = 1\nfrom causal_attention import causal_mask\n")
    (folder / "causal_attention.py").write_text("import torch\n\ndef causal_mask(:\n")
    write(folder, "transformer_block", "while True:\n    pass\n")
    verdicts = said(workshop.check(folder, seconds=2.0))
    assert verdicts["softmax"].startswith("causal_attention.py, line 3, is no Python: ")
    assert verdicts["causal_mask"] == verdicts["softmax"]
    assert re.fullmatch(
        r"Importing transformer_block\.py does not end within 2 seconds of processor time: it is in "
        r"transformer_block\.py, line \d+\.",
        verdicts["RMSNorm"],
    )


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
def test_code_that_stops_its_own_clock_is_not_waited_for(folder, monkeypatch) -> None:
    stop = "import os, signal\nopen('seen', 'w').close()\nos.kill(0, signal.SIGSTOP)\n"
    write(folder, "simple_attention", stop)
    monkeypatch.setattr(_process, "is_late", lambda _: (folder / "seen").exists())
    (result,) = workshop.check(folder, "softmax").results
    assert (result.state, "the computer is busy" in result.says) == ("not written yet", True)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (RIGHT_SOFTMAX.encode("utf-16"), "simple_attention.py, is no Python: "),
        (b"# coding: klingon\n" + RIGHT_SOFTMAX.encode(), "simple_attention.py, is no Python: "),
        (b"# coding: latin-1\n# caf\xe9\nimport torch\n" + RIGHT_SOFTMAX.encode(), "right"),
    ],
)
def test_a_file_of_another_encoding_is_read_or_no_python(folder, code, says) -> None:
    (folder / "simple_attention.py").write_bytes(code)
    (result,) = workshop.check(folder, "softmax").results
    assert result.says.startswith(says)
    assert "does not name softmax" not in workshop.start(folder)


def test_what_is_imported_for_a_verdict_is_imported_before_its_time_begins(folder) -> None:
    count = "import sys\nbefore = len(sys.modules)\ndef softmax(x):\n    return x\n"
    say = "def dot_product_attention(x):\n    raise ValueError(len(sys.modules) - before)\n"
    write(folder, "simple_attention", count + say)
    verdicts = said(workshop.check(folder, "simple_attention"))
    assert verdicts["dot_product_attention"].startswith("It stops with ValueError: 0.")


@pytest.mark.parametrize("then", ["while True:\n        pass", "os._exit(0)"])
def test_a_file_that_ends_only_when_it_is_imported_again(folder, then) -> None:
    """So it is for what comes after a piece that does not end."""
    code = f"import os\nif os.path.exists('seen'):\n    {then}\nopen('seen', 'w').close()\n"
    loop = "def softmax(x):\n    while True:\n        pass\n"
    write(folder, "simple_attention", f"{code}{loop}{ATTEND}")
    write(folder, "causal_attention", RIGHT_MASK)
    names = ["softmax", "dot_product_attention", "causal_mask"]
    verdicts = said(workshop.check(folder, *names, seconds=1.0))
    assert verdicts["softmax"].startswith("It does not end")
    assert verdicts["dot_product_attention"].startswith("Importing simple_attention.py ")
    assert verdicts["causal_mask"] == "right"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit")
@pytest.mark.parametrize("loop", ["while True:\n        pass", "re.match('(a+)+b', 40 * 'a')"])
def test_code_that_closes_all_pipes_or_lets_nobody_else_run_ends(folder, loop) -> None:
    """In the second loop, no other thread gets a turn: the system counts."""
    code = f"import os, re\ndef softmax(x):\n    os.closerange(3, 300)\n    {loop}\n"
    write(folder, "simple_attention", code)
    (result,) = workshop.check(folder, "softmax", seconds=2.0).results
    assert "does not end" in result.says


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such processes")
@pytest.mark.parametrize("apart", [False, Path("/proc/self/environ").exists()])
def test_nothing_that_code_has_begun_is_left(folder, apart) -> None:
    """Also in a session of its own, if the system shows it."""
    begin = "import subprocess\nchild = subprocess.Popen(['sleep', '600'], "
    begin += f"start_new_session={apart})\n"
    write(folder, "simple_attention", f"{begin}open('pid', 'w').write(f'{{child.pid}}\\n')\n")
    workshop.check(folder, "softmax")
    while is_running(process_id(folder)):
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("lasted", "worked", "delays", "code"),
    [
        (50, 0, (1, 1), 0),
        (70, 0, (1, 1), IT_WAITS),
        (70, 1, (1, 1), 0),
        (70, 0, (1, 9), 0),
        (70, 0, (0, 0), 0),  # where the system does not count them
        (610, 0, (0, 0), IT_WAITS),
        (610, 9, (1, 1), TOO_BUSY),
        (610, 0, (1, 9), TOO_BUSY),
        (70, 101, (1, 1), TIME_IS_OVER),
    ],
)
def test_what_waits_ends_before_what_a_busy_computer_delays(
    monkeypatch, lasted, worked, delays, code
) -> None:
    counted = map(float, delays)
    monkeypatch.setattr(_worker, "limit", lambda *_: None)  # of the tests
    monkeypatch.setattr(_worker.Clock, "watch", lambda self: None)
    monkeypatch.setattr(_worker.Clock, "delay", lambda self: next(counted))
    clock = _worker.Clock(100.0, lambda: None)
    clock.begun -= lasted
    clock.started -= worked
    assert clock.says() == code


def test_a_file_or_a_piece_that_is_gone_is_not_written_yet(folder) -> None:
    (folder / "simple_attention.py").unlink()
    (folder / "causal_attention.py").write_text("")
    (folder / ".#mine.py").symlink_to("nobody@nowhere")  # as Emacs locks a file
    verdicts = said(workshop.check(folder, "simple_attention", "causal_mask"))
    assert set(verdicts.values()) == {"not written yet"}


LOOP = """\
import os
with open("pid", "w") as file:
    file.write(f"{os.getpid()}\\n")
while True:
    pass
"""


def process_id(folder):
    """Wait until the code above runs, and return the number of its process."""
    file, deadline = folder / "pid", time.monotonic() + 60
    while not (file.exists() and file.read_text().endswith("\n")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return int(file.read_text())


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def listen_to_interrupts() -> None:
    """Undo what is inherited where the tests run in the background of a shell: there, nothing listens."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.skipif(os.name == "nt", reason="Windows sends no such signal to a process")
def test_interrupted_it_stops_at_once(folder) -> None:
    write(folder, "simple_attention", LOOP)
    process = subprocess.Popen(
        [sys.executable, "-m", "literate_attention", "check", folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listen_to_interrupts,
    )
    looping = process_id(folder)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "Stopped.\n")
    assert "\nsimple_attention.py" not in output
    assert output.startswith("inputs.py\n"), "it comes as it is found"
    assert not is_running(looping)


@pytest.mark.skipif(os.name == "nt", reason="Windows sends no such signal to a process")
def test_code_that_loops_ends_with_whoever_asked(folder) -> None:
    write(folder, "simple_attention", LOOP)
    process = subprocess.Popen([sys.executable, "-m", "literate_attention", "check", folder])
    looping = process_id(folder)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 60
    while is_running(looping) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not is_running(looping)


def test_what_a_piece_prints_is_shown_where_it_is_wrong(folder) -> None:
    write(
        folder,
        "simple_attention",
        "print('loaded')\n"
        "def softmax(x):\n    print('shape', *x.shape)\n    return x\n"
        "def dot_product_attention(x):\n    print('fine')\n    return (x @ x.mT).softmax(-1) @ x\n",
    )
    verdicts = said(workshop.check(folder, "simple_attention"))
    assert verdicts["dot_product_attention"] == "right"
    _, printed = verdicts["softmax"].split("\nit printed:\n")
    assert printed.split("\n") == ["shape 2", "shape 2 2", *printed.split("\n")[2:5], "..."]
    assert "loaded" not in printed


COPYING_CACHE = """\
class KVCache:
    def __init__(self, batch, num_kv_heads, max_tokens, head_dim):
        self.kept = torch.zeros(2, batch, num_kv_heads, 0, head_dim)
    def append(self, key, value):
        self.kept = torch.cat([self.kept, torch.stack([key, value])], dim=-2)
        return self.kept[0], self.kept[1]
    num_tokens = num_keys = property(lambda self: self.kept.shape[-2])
"""
HEADS = """\
from multi_head_attention import merge_heads, split_heads
def attend(x):
    return merge_heads(split_heads(x, 2))
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out)
    def forward(self, x):
        return attend(self.W_query(x))
"""
STRAY = """\
import os
def softmax(x):
    for pipe in range(3, 40):
        try:
            os.write(pipe, b"hello\\n[1]\\n")
        except OSError:
            pass
    raise ValueError("\\ud800\\x1b[2J\\n= 1")
"""
"""It writes where it should not, and says what no terminal should be sent."""
APART = "right. It is judged with the book's softmax: yours is not right."
NEEDS = "It needs split_heads, which is not written yet."
STOPS = "simple_attention.py, line {line}, cannot be imported: "
BY_ITS_NAME = "the folder's files import each other by name: from causal_attention import"
OF_TORCH = "def softmax(x):\n    return nn.Module()(x)\n"
NOT_IMPORTED = "class RMSNorm:\n    def __init__(self, *_):\n        softmax(1)\n"


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        (
            "softmax",
            "def softmax(:\n",
            "line {line}, is no Python | Next: simple_attention.py, line",
        ),
        ("softmax", "\0", "simple_attention.py, is no Python: source code string cannot"),
        ("softmax", "1 / 0\n", f"{STOPS}it stops with ZeroDivisionError: division by zero."),
        (
            "softmax",
            "raise ValueError('no\\n way.')\n",
            f"{STOPS}it stops with ValueError: no way.",
        ),
        ("softmax", "raise SystemExit\n", f"{STOPS}it calls exit(), which ends the program."),
        ("softmax", "softmax(1)\n", f"{STOPS}it calls softmax, which is not written yet."),
        ("softmax", OF_TORCH, "It stops with NotImplementedError: Module [Module] is missing"),
        ("softmax", "from literate_attention import softmax\n", "own, imported. | written yet: 1"),
        ("softmax", STRAY, "stops with ValueError: \\ud800\\x1b[2J = 1"),
        (
            "softmax",
            "softmax = type('A\\nsoftmax', (), {'__init__': print})",
            "it returns A softmax.",
        ),
        ("dot_product_attention", ATTEND, APART),
        (  # however deep it is called; what is missing is not wrong
            "MultiHeadAttention",
            HEADS.split("\n", 1)[1],
            f"{NEEDS} | Wrong: 0. Not written yet: 1. Next: split_heads, explained under",
        ),
        ("split_heads", "from .causal_attention import causal_mask\n", BY_ITS_NAME),
        ("split_heads", "from my_attention.causal_attention import causal_mask\n", BY_ITS_NAME),
        ("RMSNorm", NOT_IMPORTED, "It is in another file: from simple_attention import softmax"),
        ("KVCache", COPYING_CACHE, "✓ KVCache: right. It copies all that it keeps"),
    ],
)
def test_what_is_said_of_a_piece(folder, name, code, says) -> None:
    stem = BY_NAME[name].stem
    write(folder, stem, code)
    line = (folder / f"{stem}.py").read_text("utf-8").count("\n")
    checked = workshop.check(folder, name)
    assert "\n" not in checked.results[0].verdict.says  # nor a line that the page takes for its own
    printed = " ".join(str(checked).split())
    for part in says.format(line=line).split(" | "):
        assert part in printed
    if name == "MultiHeadAttention":
        assert main(["check", str(folder), name]) == 0


@pytest.mark.parametrize(
    "setting",
    [
        "torch.set_default_device('meta')",
        "torch.set_default_device('cuda')",
        "torch.device('cuda').__enter__()",
        "torch.set_default_dtype(torch.float64)",
        "torch.set_grad_enabled(False)",
        "torch.use_deterministic_algorithms(True)",
        "torch.ones = torch.softmax = torch.nn.functional.softmax = None",
        "torch.Tensor.tril = nn.Module.__call__ = __builtins__['max'] = None",
        "torch.autocast('cpu').__enter__()",
        "import sys; sys.path.clear()",
        "torch.device('meta').__enter__()",
        "nn.modules.module.register_module_forward_hook(lambda module, x, y: y * 2)",
        "nn.Linear.forward = nn.Linear.reset_parameters = None",
        "import signal; signal.setitimer(signal.ITIMER_REAL, 0.05)",
    ],
)
def test_what_one_file_sets_does_not_judge_the_others(folder, setting) -> None:
    write(folder, "simple_attention", f"{setting}\n")
    slow = RIGHT_MASK.replace("    kv_len =", "    import time; time.sleep(0.02); kv_len =")
    write(folder, "causal_attention", slow)
    write(folder, "transformer_block", inspect.getsource(naive_pieces.SwiGLU))
    verdicts = said(workshop.check(folder, "softmax", "causal_mask", "SwiGLU"))
    assert verdicts["causal_mask"] == verdicts["SwiGLU"] == "right"


def test_a_piece_in_another_file_is_found_but_not_judged(folder) -> None:
    write(folder, "self_attention", RIGHT_SOFTMAX)
    (result,) = workshop.check(folder, "softmax").results
    alone = (
        "It stands in self_attention.py, and is judged in simple_attention.py alone: move it there."
    )
    assert (result.state, result.says) == ("not written yet", alone)


@pytest.mark.parametrize("name", ["queue.py", "csv/__init__.py"])
def test_a_file_named_as_one_of_pythons_own_is_not_executed(folder, monkeypatch, name) -> None:
    write(
        folder, "simple_attention", f"import csv, queue\nqueue.Queue, csv.reader\n{RIGHT_SOFTMAX}"
    )
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("open('executed', 'w').close()\n")
    monkeypatch.chdir(folder)
    checked = command("check", ".", "softmax")
    assert "Right: 1 of 1." in checked.stdout, checked.stderr
    assert not (folder / "executed").exists()


def test_a_table_has_no_formulas_and_overwrites_nothing_else(tmp_path) -> None:
    assert [checking.as_text(one) for one in ("=1+1", "@x", "-1", "1 = 1")] == [
        *("'=1+1", "'@x", "'-1", "1 = 1")
    ]
    mine = tmp_path / "inputs.py"
    mine.write_text("mine")
    with pytest.raises(WorkshopError, match=r"ends in \.csv"):
        list(checking.report(mine, [tmp_path]))
    assert mine.read_text() == "mine"
    first = checking.report(tmp_path / "new.csv", [tmp_path, tmp_path / "gone"])
    assert next(first).startswith(f"{tmp_path}: 0 right")
    assert len((tmp_path / "new.csv").read_text().splitlines()) == 1 + len(PIECES)
    grades = mine.replace(tmp_path / "grades.csv")
    with pytest.raises(WorkshopError, match="no table of verdicts"):
        list(checking.report(grades, [tmp_path]))
    assert grades.read_text() == "mine"


def test_what_is_next_after_a_chapter_is_the_piece_that_follows(folder) -> None:
    write(folder, "simple_attention", RIGHT_SOFTMAX + ATTEND)
    said = str(workshop.check(folder, "simple_attention"))
    following = CHAPTERS["self_attention"][0].name
    assert f"\nAll of this is right. Next: {following}, explained under" in said
    last = Result(BY_NAME[[*BY_NAME][-1]], Verdict(True, "right"))
    said = "\n".join(Checked(folder, (last,)).summary())
    assert f"All of this is right. Next: {next(iter(BY_NAME))}, explained under" in said


def test_a_package_in_place_of_a_file_is_named(folder) -> None:
    (folder / "simple_attention").mkdir()
    (folder / "simple_attention/__init__.py").touch()
    (result,) = workshop.check(folder, "softmax").results
    assert result.says.startswith("Python imports simple_attention/__init__.py in place of simple_")


def test_a_file_is_named_as_a_shell_completes_it(folder) -> None:
    for path in (r"my attention\kv_cache.py", "./my attention/kv_cache.py"):
        assert list(said(workshop.check(folder, path))) == ["KVCache", "keep_top_k", "keep_top_p"]


# The command line


@pytest.mark.parametrize(
    "order", ["{0} {1} --report {2}", "--report {2} {0} {1}", "{0} --report {2} {1}"]
)
def test_folders_may_stand_on_both_sides_of_an_option(tmp_path, capsys, order) -> None:
    table = tmp_path / "all.csv"
    assert main(["check", *order.format("no", "none", table).split()]) == 0
    said = capsys.readouterr().out
    assert said.index("no folder no;") < said.index("no folder none;")


def test_the_whole_way_on_a_console_that_knows_few_signs(tmp_path) -> None:
    folder = tmp_path / "my ättention"
    started = command("start", folder, PYTHONIOENCODING="cp1252")
    assert started.returncode == 0, started.stderr
    assert f'check "{folder}"' in started.stdout
    write(folder, "simple_attention", "def softmax(x):\n    return x.exp()\n")
    write(folder, "causal_attention", RIGHT_MASK)
    checked = command("check", folder, "softmax", "causal_mask", PYTHONIOENCODING="cp1252")
    assert checked.returncode == 1, checked.stderr
    assert "x softmax: It divides the exponentials by nothing" in checked.stdout
    assert "      came:      " in checked.stdout
    assert "+ causal_mask\n" in checked.stdout
    assert "Right: 1 of 2. Wrong: 1. Not written yet: 0.\n" in checked.stdout
    assert "Next: softmax, explained under " in checked.stdout
    assert checked.stdout.endswith("\ncausal_mask\n")
    assert checked.stderr == ""


def test_a_hint_and_where_the_piece_is_explained(folder, tmp_path, capsys) -> None:
    assert main(["check", str(folder), "--hint", "softmax"]) == 0
    hint = capsys.readouterr().out
    assert BY_NAME["softmax"].hint in hint
    assert "/story/simple_attention.html#step-2-weights" in hint
    assert repr(workshop.hint(folder, "softmax")) == hint.rstrip("\n")
    workshop.start(tmp_path / "class", hints=False)
    assert main(["check", str(tmp_path / "class"), "--hint", "softmax"]) == 2
    assert "was made without hints" in capsys.readouterr().err


def test_a_table_for_teachers(folder, tmp_path, capsys) -> None:
    second = tmp_path / "second\x1b[2J\nsoftmax: 9 right"
    workshop.start(second)
    write(folder, "simple_attention", RIGHT_SOFTMAX)
    write(second, "simple_attention", "def softmax(x):\n    return x.exp()\n")
    table = tmp_path / "class.csv"
    gone = tmp_path / "gone\x1b\udce9"
    assert main(["check", "--report", str(table), str(folder), str(gone), str(second)]) == 0
    printed = capsys.readouterr().out
    with table.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    names = [piece.name for pieces in CHAPTERS.values() for piece in pieces]
    assert [row["piece"] for row in rows] == [*names, "", *names]
    assert rows[len(names)]["state"] == "not judged"
    assert "There is no folder " in rows[len(names)]["verdict"]
    assert "gone\\x1b\\udce9" in printed
    found = {(row["folder"], row["piece"]): (row["state"], row["verdict"]) for row in rows}
    assert found[str(folder), "softmax"] == ("right", "right")
    state, verdict = found[str(second), "softmax"]
    assert state == "wrong"
    assert verdict.startswith("It divides the exponentials by nothing")
    assert found[str(second), "causal_mask"][0] == "not written yet"
    (wrong,) = (row["in short"] for row in rows if row["state"] == "wrong")
    assert wrong == verdict.partition("\n")[0]
    assert f"\nsoftmax: 1 wrong, 1 of them: {wrong}\n" in printed
    assert "second\\x1b[2J\\nsoftmax: 9 right: 0 right, 1 wrong" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "nowhere"], "no folder nowhere; python -m literate_attention start nowhere"),
        (["check", "file"], "file is a file; give the folder that it is in."),
        (["check", "empty"], "empty has no file of a chapter in it; python -m"),
        (["check", "mine", "softmx"], "no chapter or piece softmx; the nearest is softmax."),
        (["check", "mine", "zzz"], f"no chapter or piece zzz; there are {next(iter(CHAPTERS))}, "),
        (["check", "mine", "--hint", "softmx"], "or piece softmx; the nearest is softmax."),
        (["check", "--report", "no/x.csv", "empty"], "no/x.csv cannot be written (No such file"),
        (["start", "file"], "file is a file; choose another name for the folder."),
        (["start", "literate_attention"], "would not find the book's; choose another name."),
        (["talk", "mine", "Once", "--chat", ""], "not both"),
    ],
)
def test_an_error_is_one_sentence(tmp_path, monkeypatch, capsys, arguments, message) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    Path("empty").mkdir()
    Path("mine").mkdir()
    assert main(arguments) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert message in errors
    assert errors.count("\n") == 1
