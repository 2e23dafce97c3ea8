"""The folder that `start` makes: what stands in it, and what happens to what stood there before."""

import ast
import inspect
import subprocess
import sys
from typing import Any

import pytest
import torch

from literate_attention import workshop
from literate_attention.workshop._plain_text import plain_formula, plain_text
from literate_attention.workshop._road import CHAPTERS
from literate_attention.workshop._stub_source import stub
from literate_attention.workshop.pieces import PIECES

SYNTAX_ERROR = "def softmax(scores:\n"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def python(folder, *arguments):
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8")


# Stubs


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.name)
def test_a_stub_has_what_is_asked_for_and_no_more(piece) -> None:
    """Parameters and methods as in the library, but for those left out; each one is described."""
    (node,) = ast.parse(stub(piece)).body
    functions = [one for one in ast.walk(node) if isinstance(one, ast.FunctionDef)]
    assert functions
    for function in functions:
        own = piece.library
        if isinstance(node, ast.ClassDef):
            own = getattr(own, function.name)
        own = own.fget if isinstance(own, property) else own
        expected = [
            name for name in inspect.signature(own).parameters if name not in piece.leave_out
        ]
        given = function.args
        several = (*given.args, *given.kwonlyargs, given.vararg, given.kwarg)
        named = [one.arg for one in several if one]
        assert named == expected
        described = ast.get_docstring(node if function.name == "__init__" else function) or ""
        for name in {*named} - {"self"}:
            assert f"\n    {name}: " in described or f"\n    **{name}: " in described
        assert ast.unparse(function.body[-1]) == "raise NotImplementedError"
    if isinstance(node, ast.ClassDef):
        methods = {
            name
            for name, member in vars(piece.library).items()
            if inspect.isfunction(member) or isinstance(member, property)
        }
        assert {one.name for one in functions} == methods - {
            *piece.leave_out,
            "__repr__",
            "extra_repr",
        }


@pytest.mark.parametrize(
    "piece", [one for one in PIECES if "*batch" in stub(one)], ids=lambda piece: piece.name
)
def test_a_stub_promises_no_batches_that_are_not_tried(piece) -> None:
    dimensions = set()

    def noted(*given, **options):
        tensor = next(one for one in given if isinstance(one, (torch.Tensor, tuple)))
        dimensions.add((tensor[0] if isinstance(tensor, tuple) else tensor).ndim)
        return own(*given, **options)

    own: Any = piece.library
    mine: object = noted
    if isinstance(own, type):
        own, mine = vars(own)["forward"], type(piece.name, (own,), {"forward": noted})
    assert piece.check(mine)
    assert len(dimensions) > 1


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.name)
def test_a_stub_is_plain_text_without_the_solution(piece) -> None:
    code = stub(piece)
    for word in (":math:", ":func:", ":class:", ":cite", "``", "\\", ">>>", "Raises", "require_"):
        assert word not in code
    assert f'# Explained in "{piece.section}":\n# https://' in code
    assert "need_weights" not in code or "need_weights" not in piece.leave_out
    assert "Explained" not in stub(piece, hints=False)


def test_files_are_laid_out_and_can_be_imported(tmp_path) -> None:
    workshop.start(tmp_path)
    formatted = python(tmp_path, "ruff", "format", "--isolated", "--diff", ".")
    assert formatted.returncode == 0, formatted.stdout
    checked = python(
        tmp_path, "ruff", "check", "--isolated", "--select", "E9,F,I", "--ignore", "F401,F722,F821"
    )
    assert checked.returncode == 0, checked.stdout
    text = (tmp_path / "grouped_query_attention.py").read_text("utf-8")
    assert "\n\nfrom rotary_embeddings import RotaryEmbedding\n" in text
    imported = subprocess.run(
        [sys.executable, "-c", f"import {', '.join(CHAPTERS)}"], cwd=tmp_path, capture_output=True
    )
    assert imported.returncode == 0, imported.stderr


@pytest.mark.parametrize(
    ("tex", "plain"),
    [
        (r"\beta_j = \frac{\omega_j}{\sum_k \omega_k}", "β_j = ω_j / (Σ_k ω_k)"),
        (r"e^{\omega_j - \max_k \omega_k}", "exp(ω_j - max_k ω_k)"),
        (
            r"\operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_{out} / h}} + M\right) V",
            "softmax(Q K^T / √(d_out / h) + M) V",
        ),
        (
            r"x_{i + 1} = \begin{cases} a_{ij} & M_{ij} \\ -\infty & \text{else} \end{cases}",
            "x_(i + 1) = a_ij if M_ij; -∞ else",
        ),
        (r"\begin{pmatrix} a \\ b \end{pmatrix}", "[a; b]"),
        (r"\cos\phi_i, \qquad i = 0, \dots, d/2", "cos φ_i,\ni = 0, ..., d/2"),
        (r"\bigl[\, j \le i \,\bigr]", "[j ≤ i]"),
    ],
)
def test_formulas_as_they_are_read_in_an_editor(tex, plain) -> None:
    assert plain_formula(tex) == plain


def test_roles_and_citations_are_written_out() -> None:
    text = (
        "See :func:`~a.b.softmax` or :meth:`go`,\n:math:`d_k` wide :cite:p:`x2020`; ``None`` too."
    )
    assert plain_text(text) == "See `softmax` or `go`, d_k wide; `None` too."


# The folder


@pytest.mark.parametrize("name", ["my attention ö", "my caf\udce9"])
def test_a_second_start_changes_nothing(tmp_path, name) -> None:
    folder = tmp_path / name
    first = workshop.start(folder)
    assert {f"{stem}.py" for stem in CHAPTERS} < {*first.new}
    assert f'python -m literate_attention check "{folder}"' in str(first)
    with (folder / "simple_attention.py").open("a", encoding="utf-8") as file:
        file.write("\n\ndef softmax(x):\n    return x\n")
    (folder / "README.md").write_text("my own notes")
    before = contents(folder)
    assert "has everything already" in str(workshop.start(folder))
    assert contents(folder) == before


def test_what_is_missing_is_added_at_the_end(tmp_path) -> None:
    workshop.start(tmp_path)
    mine = b"import torch\r\n\r\nx = 'mine'"
    (tmp_path / "simple_attention.py").write_bytes(mine)
    (tmp_path / "test_causal_attention.py").unlink()
    done = workshop.start(tmp_path)
    names = [piece.name for piece in CHAPTERS["simple_attention"]]
    assert done.added == {"simple_attention.py": names}
    assert done.new == ["test_causal_attention.py"]
    content = (tmp_path / "simple_attention.py").read_bytes()
    assert content.startswith(
        mine + b"\r\n\r\n\r\nfrom jaxtyping import Float\r\nfrom torch import"
    )
    assert content.count(b"\n") == content.count(b"\r\n")
    assert content.count(b"import torch\r\n") == 1
    defined: dict[str, object] = {}
    exec(compile(content, "simple_attention.py", "exec"), defined)
    assert defined["x"] == "mine"
    assert {*names} < {*defined}
    assert "has everything already" in str(workshop.start(tmp_path))


@pytest.mark.parametrize("content", [SYNTAX_ERROR.encode(), b"\xff\xfe\x00"])
def test_a_file_that_python_cannot_read_is_left_alone(tmp_path, content) -> None:
    broken = tmp_path / "simple_attention.py"
    broken.write_bytes(content)
    done = workshop.start(tmp_path)
    assert broken.read_bytes() == content
    assert "cannot read it" in done.left_alone["simple_attention.py"]
    assert ("line 1" in str(done)) == (content == SYNTAX_ERROR.encode())
    assert (tmp_path / "causal_attention.py").exists()


def test_a_file_that_may_have_all_already_is_left_alone(tmp_path) -> None:
    """It takes all from another one, or is a link that leads out of the folder."""
    folder, outside = tmp_path / "mine", tmp_path / "notes.py"
    folder.mkdir()
    (folder / "attention.py").write_text("def softmax(scores):\n    return scores.softmax(-1)\n")
    (folder / "simple_attention.py").write_text("from attention import *\n")
    outside.write_text("x = 1\n")
    (folder / "causal_attention.py").symlink_to(outside)
    (folder / "kv_cache.py").symlink_to(tmp_path / "nowhere.py")
    (folder / "latent_attention.py").mkdir()
    (folder / "ring_attention.py").write_text("def __getattr__(name):\n    return softmax\n")
    (folder / "rotary_embeddings.py").write_text("globals()['RotaryEmbedding'] = softmax\n")
    inside = "def write():\n    global linear_attention\n    linear_attention = 1\n\n\nwrite()\n"
    (folder / "linear_attention.py").write_text(inside)
    before = contents(folder)
    done = workshop.start(folder)
    assert "come from *" in done.left_alone["simple_attention.py"]
    assert "a folder" in done.left_alone["latent_attention.py"]
    assert "__getattr__" in done.left_alone["ring_attention.py"]
    assert "globals" in done.left_alone["rotary_embeddings.py"]
    assert not (tmp_path / "nowhere.py").exists()
    assert "linear_attention.py" not in done.added
    assert str(outside) in done.left_alone["causal_attention.py"]
    assert before.items() <= contents(folder).items()


def test_a_file_with_an_encoding_of_its_own_is_completed(tmp_path) -> None:
    mine = "# coding: latin-1\n# caf\xe9\nx = 1\n".encode("latin-1")
    (tmp_path / "simple_attention.py").write_bytes(mine)
    assert "softmax" in workshop.start(tmp_path).added["simple_attention.py"]
    compile((tmp_path / "simple_attention.py").read_bytes(), "simple_attention.py", "exec")


def test_a_folder_that_cannot_be_made(tmp_path) -> None:
    file = tmp_path / "my_attention"
    file.write_text("not a folder")
    with pytest.raises(ValueError, match="my_attention is a file; choose another name"):
        workshop.start(file)
    with pytest.raises(ValueError, match=r"cannot be written to \(.+\); choose another folder"):
        workshop.start(file / "inside")
    assert file.read_text() == "not a folder"


def test_a_folder_without_hints_stays_without(tmp_path) -> None:
    workshop.start(tmp_path, hints=False)
    (tmp_path / "simple_attention.py").unlink()
    workshop.start(tmp_path)
    text = (tmp_path / "simple_attention.py").read_text("utf-8")
    assert "Explained" not in text
    assert "ω" not in text
    assert "--hint" not in (tmp_path / "README.md").read_text("utf-8")


def test_pytest_in_the_folder_says_what_check_says(tmp_path) -> None:
    """Also inside of a project whose own settings of pytest would forbid it."""
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\naddopts = ["--import-mode=importlib"]\n'
    )
    folder = tmp_path / "mine"
    workshop.start(folder)
    with (folder / "simple_attention.py").open("a", encoding="utf-8") as file:
        file.write("\n\nsoftmax = torch.exp\n")
    with (folder / "causal_attention.py").open("a", encoding="utf-8") as file:
        file.write("\n\ndef causal_mask(q, k=None):\n    k = k or q\n")
        file.write("    return torch.ones(q, k).tril(k - q) > 0\n")
    ran = python(
        folder, "pytest", "-p", "no:cacheprovider", "-rs", "-k", "softmax or mask or RMSNorm"
    )
    assert "1 failed" in ran.stdout, ran.stdout
    assert "1 passed" in ran.stdout
    assert "skipped" in ran.stdout
    assert "It divides the exponentials by nothing" in ran.stdout
    assert "It is not written yet" in ran.stdout
    assert "Traceback" not in ran.stdout


def test_what_stands_in_the_folder_can_be_imported_from_outside(tmp_path) -> None:
    workshop.start(tmp_path / "my_attention")
    code = "from my_attention.grouped_query_attention import GroupedQueryAttention"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
