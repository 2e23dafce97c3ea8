"""The real model, held against transformers on the same file: `nox -s oracles`."""
# ruff: noqa: RUF001, letters of other scripts that look like Latin ones are what a tokenizer must tell apart

import importlib
import random
import unicodedata

import pytest
import torch
from torch.testing import assert_close

import literate_attention as la
from literate_attention.models.model_file import find_smollm2

pytestmark = pytest.mark.oracle

PROMPTS = (
    "def fibonacci(n):",
    "<|im_start|>user\nWho wrote Hamlet?<|im_end|>\n<|im_start|>assistant\n",
    la.SAMPLE_TEXT,
)
NASTY = (
    "",
    "\t\tif x:\n\t\t\treturn\r\n",
    "a\u00a0b\u2003c\u200bd\ufeffe",
    "12 345 6789 3.14159 1e-10 0x1F ½ ² Ⅷ ٣٤ 七",
    "你好，世界！안녕하세요 세계 नमस्ते दुनिया ကမ္ဘာ",
    "😀 👩‍👩‍👧‍👦 🏳️‍🌈 🇫🇷 👍🏽 ❤️ 𝕳𝖊𝖑𝖑𝖔 𓀀 𐍈 🀄",
    "<|im_start|>user\nHello<|im_end|>\n<|endoftext|>",
    "<|im_start|> <|im_end|><repo_name><filename> <|im_star|>",
    "a\x00b\x07c\x1bd\x7fe\x85f",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
)


@pytest.fixture(scope="module")
def transformers():
    return importlib.import_module("transformers")


@pytest.fixture(scope="module")
def smollm2():
    return la.load_smollm2("cpu")


@pytest.fixture(scope="module")
def tokenizer(smollm2):
    return smollm2[1]


def read_by(kind):
    file = find_smollm2()
    return kind.from_pretrained(file.parent, gguf_file=file.name)


@pytest.fixture(scope="module")
def their_model(transformers):
    """Their model, their reading of the file; `from_pretrained` would ask for one more package."""
    reader = importlib.import_module("transformers.modeling_gguf_pytorch_utils")
    model = transformers.LlamaForCausalLM(read_by(transformers.AutoConfig)).eval()
    read = reader.load_gguf_checkpoint(find_smollm2(), return_tensors=True, model_to_load=model)
    left = model.load_state_dict(read["tensors"], strict=False)
    assert left.missing_keys == ["lm_head.weight"]  # it is that of the embedding
    assert left.unexpected_keys == []
    return model


@pytest.fixture(scope="module")
def as_the_file_says(transformers):
    """Their tokenizer with digits cut first, as the file asks (`tokenizer.ggml.pre = smollm`)."""
    pre_tokenizers = importlib.import_module("tokenizers").pre_tokenizers
    tokenizer = read_by(transformers.AutoTokenizer)
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    return tokenizer


@pytest.mark.parametrize("text", NASTY, ids=ascii)
def test_nasty_texts_have_the_same_tokens(tokenizer, as_the_file_says, text) -> None:
    token_ids = tokenizer.encode(text, allowed_special="all")
    assert token_ids == as_the_file_says(text)["input_ids"]
    assert tokenizer.decode(token_ids) == text


def test_random_texts_have_the_same_tokens(tokenizer, as_the_file_says) -> None:
    ranges = ((0, 0x250), (0x370, 0x700), (0x900, 0x980), (0x2000, 0x2100), (0x3040, 0x3100))
    rare = [chr(code) for start, stop in ranges for code in range(start, stop)]
    rare = [letter for letter in rare if letter not in "\x04\x06\x13\x14\x16\x1d"]
    draw = random.Random(7)
    for _ in range(3000):
        letters = [
            draw.choice(rare if draw.random() < 0.3 else " \n\t 1a's2.!  AB")
            for _ in range(draw.randint(1, 30))
        ]
        text = unicodedata.normalize(draw.choice(["NFC", "NFD"]), "".join(letters))
        assert tokenizer.encode(text) == as_the_file_says(text)["input_ids"], ascii(text)


def test_every_token_becomes_itself_or_the_same_others(tokenizer, as_the_file_says) -> None:
    """tiktoken joins any neighbours that make a token, theirs only those in the list of merges."""
    texts = [tokenizer.decode([number]) for number in range(17, 49_152)]
    texts = [text for text in texts if "\ufffd" not in text]
    assert len(texts) > 48_000
    expected = as_the_file_says(texts)["input_ids"]
    assert [tokenizer.encode(text) for text in texts] == expected


@pytest.mark.parametrize("letter", ["\x04", "\x1d", "\U00050000"], ids=ascii)
def test_characters_without_a_token_are_left_out(tokenizer, letter) -> None:
    left = [tokenizer.encode_single_token(token) for token in ("a", "b", " ")]
    assert tokenizer.encode(f"a{letter}b {letter}") == left


def test_a_question_is_written_as_the_file_says(as_the_file_says) -> None:
    messages = [{"role": "user", "content": "Who are you?"}]
    expected = as_the_file_says.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True
    )
    assert la.chat_prompt("Who are you?") == expected


@pytest.mark.parametrize("text", PROMPTS, ids=ascii)
def test_logits_are_equal(smollm2, their_model, text) -> None:
    model, tokenizer = smollm2
    token_ids = torch.tensor([tokenizer.encode(text, allowed_special="all")])
    with torch.no_grad():
        expected = their_model(token_ids).logits
        assert_close(model(token_ids), expected, atol=1e-4, rtol=0)
