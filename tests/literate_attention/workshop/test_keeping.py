"""What a notebook defines is kept in the folder, in the place of a stub."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from literate_attention import workshop

ATTENTION = """\
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_in, 3 * d_out, bias=False)
        self.proj, self.dropout = nn.Linear(d_out, d_out), nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = (split_heads(one, self.num_heads) for one in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        hidden = scores.masked_fill(~causal_mask(x.shape[-2]), float("-inf"))
        return self.proj(merge_heads(self.dropout(F.softmax(hidden, dim=-1)) @ v))
"""
CELLS = [
    "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn",
    "def split_heads(x, h):\n    return x.unflatten(-1, (h, -1)).transpose(-3, -2)",
    "def merge_heads(x):\n    return x.transpose(-3, -2).flatten(-2)",
    "def causal_mask(q, k=None):\n    k = k or q\n    return torch.ones(q, k).tril(k - q) > 0",
    f"old = 1\n{ATTENTION.replace('math.sqrt', 'abs')}",
    f"%time before = 1\n{ATTENTION}after = 2",
]


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InteractiveShell:
    monkeypatch.setitem(
        sys.modules, "__main__", sys.modules["__main__"]
    )  # the shell brings its own
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    workshop.start(tmp_path / "my_attention")
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    shell.run_cell("from literate_attention import workshop")
    shell.push({"folder": str(tmp_path / "my_attention")})
    return shell


def run(notebook: InteractiveShell, cell: str) -> Any:
    result = notebook.run_cell(cell)
    result.raise_error()
    return result.result


def test_what_cells_define_takes_the_place_of_stubs(
    notebook: InteractiveShell, tmp_path: Path
) -> None:
    for cell in CELLS:
        run(notebook, cell)
    pieces = ["causal_mask", "split_heads", "merge_heads", "MultiHeadAttention"]
    names = ", ".join(pieces)
    kept = run(notebook, f"workshop.keep(folder, {names})")
    file = tmp_path / "my_attention" / "multi_head_attention.py"
    assert f"MultiHeadAttention stands in {file} now." in str(kept)
    assert "has to be written there" not in str(kept)
    text = file.read_text("utf-8")
    assert f"\n{ATTENTION}" in text
    assert "after" not in text
    assert text.count("class MultiHeadAttention") == 1
    assert "import torch.nn.functional as F\nfrom causal_attention import causal_mask\n" in text
    checked = run(notebook, f"workshop.check(folder, *{pieces})")
    assert checked.named("right") == pieces
    before = file.read_text("utf-8")
    run(notebook, f"workshop.keep(folder, {names})")
    assert file.read_text("utf-8") == before


def test_imports_and_decorators_come_along(notebook: InteractiveShell, tmp_path: Path) -> None:
    mask = "@cache\ndef causal_mask(q, k=None):\n    return torch.ones(q, k or q).tril() > 0\n"
    run(notebook, f"import torch\nfrom functools import cache\n{mask}")
    for _ in range(2):
        run(notebook, "workshop.keep(folder, causal_mask)")
    text = (tmp_path / "my_attention" / "causal_attention.py").read_text("utf-8")
    assert "\nfrom functools import cache\n" in text
    assert mask in text
    assert text.count("@cache") == 1


def test_what_the_file_lacks_is_said(notebook: InteractiveShell, tmp_path: Path) -> None:
    run(notebook, "def helper(x):\n    return x\ndef softmax(x):\n    return helper(x)")
    path = tmp_path / "my_attention" / "simple_attention.py"
    path.write_bytes(b"x = 1\r\n")
    kept = run(notebook, "workshop.keep(folder, softmax)")
    assert str(kept).endswith("It uses helper, which has to be written there, too.")
    assert path.read_bytes().startswith(b"x = 1\r\n\r\n\r\ndef softmax(x):\r\n    return")


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("def mine(x): ...\nworkshop.keep(folder, mine)", "no piece mine"),
        ("import torch\nworkshop.keep(folder, torch.softmax)", "no function or class that was"),
        ("def softmax(x): ...\nworkshop.keep('nowhere', softmax)", "start nowhere makes it."),
        ("exec('def softmax(x): ...')\nworkshop.keep(folder, softmax)", "cannot be found"),
        (
            """\
import pathlib
def softmax(x): ...
pathlib.Path(folder, "simple_attention.py").write_text("def (")
workshop.keep(folder, softmax)
""",
            "simple_attention.py was left alone, since Python cannot read it",
        ),
    ],
)
def test_what_cannot_be_kept(notebook: InteractiveShell, cell: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        run(notebook, cell)


def test_what_stands_in_the_folder_can_be_imported_from_outside(tmp_path: Path) -> None:
    workshop.start(tmp_path / "my_attention")
    code = "from my_attention.grouped_query_attention import GroupedQueryAttention"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
