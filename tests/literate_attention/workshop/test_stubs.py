"""The folder that `start` makes follows the book; its stubs say enough, and what stood there before stays."""

import ast
import inspect
import re
import subprocess
import sys
from functools import partial
from itertools import groupby
from typing import Any

import pytest
import torch
from harness.paths import DOCS
from torch import nn

from literate_attention import MultiHeadLatentAttention, RotaryEmbedding, workshop
from literate_attention.workshop._chapters import CHAPTERS
from literate_attention.workshop._stub_source import plain_formula, plain_text, stub
from literate_attention.workshop.pieces import BY_NAME, PIECES


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def python(folder, *arguments):
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8")


# The road is that of the book: its chapters, its sections, its names


def page(chapter):
    return (DOCS / f"{chapter}.md").read_text("utf-8")


def test_the_chapters_come_in_the_order_of_the_book() -> None:
    contents = re.findall(r"^(?:story|models)/\w+$", page("index"), re.MULTILINE)
    chapters = [chapter for chapter, _ in groupby(PIECES, lambda piece: piece.chapter)]
    assert chapters == [chapter for chapter in contents if chapter in chapters]
    assert [*CHAPTERS] == [one.rpartition("/")[2] for one in chapters]


@pytest.mark.parametrize("chapter", dict.fromkeys(piece.chapter for piece in PIECES))
def test_a_chapter_explains_its_pieces_in_their_order_and_says_how_to_ask_for_a_verdict(
    chapter,
) -> None:
    text, stem = page(chapter), chapter.rpartition("/")[2]
    headings = re.findall(r"^##+ (.+)$", text, re.MULTILINE)
    places = [headings.index(piece.section) for piece in CHAPTERS[stem]]
    assert places == sorted(places)
    assert text.count(f"`python -m literate_attention check my_attention {stem}`") == 1
    for piece in CHAPTERS[stem]:
        if piece.exercise:
            _, exercise = text.split(f"\n:label: {piece.exercise}\n")
            asked = exercise[: exercise.index("{exercise-end}")]
            assert re.search(rf'check_piece\((\w+, "{piece.name}"|{piece.name})\)', asked)


def test_every_name_that_a_command_in_the_book_gives_is_known() -> None:
    for path in DOCS.glob("[a-z]*/*.md"):
        for name in re.findall(
            r"literate_attention check my_attention (\w+)", path.read_text("utf-8")
        ):
            assert name in {*CHAPTERS, *BY_NAME}


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


EXAMPLES = {
    "RMSNorm": (3,),
    "SwiGLU": (3, 5),
    "TransformerBlock": (nn.Linear(3, 3), 3, 5),
    "LanguageModel": (11, 3, [nn.Linear(3, 3)]),
    "GroupedQueryAttention": (4, 4, 2, 1),
    "MultiHeadLatentAttention": partial(
        *(MultiHeadLatentAttention, 4, 4, 2), head_dim=2, latent_dim=3, rope=RotaryEmbedding(2, 4)
    ),
}


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.name)
def test_a_stub_shows_the_names_by_which_a_checkpoint_is_read(piece) -> None:
    names = []
    if piece.name in EXAMPLES:
        made = EXAMPLES[piece.name]
        module = made() if callable(made) else piece.library(*made)
        assert isinstance(module, nn.Module)
        names = [name.partition(".")[0] for name, _ in module.named_parameters()]
    assert piece.attributes == (*dict.fromkeys(names),)
    said = " ".join(stub(piece).split())
    assert ("names of these attributes: " in said) == bool(names)
    assert ", ".join(f"`{name}`" for name in piece.attributes) in said


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
def test_a_second_start_makes_what_is_missing_and_changes_nothing(tmp_path, name) -> None:
    folder = tmp_path / name
    first = workshop.start(folder)
    assert {f"{stem}.py" for stem in CHAPTERS} < {*contents(folder)}
    assert f'python -m literate_attention check "{folder}"' in first
    (folder / "simple_attention.py").write_bytes(b"def softmax(:\r\n")
    (folder / "kv_cache.py").unlink()
    (folder / "kv_cache.py").symlink_to(tmp_path / "nowhere.py")
    (folder / "README.md").write_text("my own notes")
    (folder / "causal_attention.py").unlink()
    before = contents(folder)
    lacks = "simple_attention.py does not name dot_product_attention; start another folder to copy from."
    assert str(workshop.start(folder)) == f"New in {folder}: causal_attention.py.\n{lacks}"
    (folder / "causal_attention.py").unlink()
    assert contents(folder) == before
    assert not (tmp_path / "nowhere.py").exists()
    workshop.start(folder)
    assert "has all files already" in str(workshop.start(folder))


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
