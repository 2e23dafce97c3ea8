"""The real model, held against transformers on the same file: `nox -s oracles`."""
# ruff: noqa: RUF001, letters of other scripts that look like Latin ones are what a tokenizer must tell apart

import importlib
import random
import re
import unicodedata
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import literate_attention as la
from literate_attention.models.model_file import find_smollm2

pytestmark = pytest.mark.oracle

BEGINNINGS = (  # of six tokens each, so that they make a batch
    "Your journey starts with one step",
    "Once upon a time there was",
    "The capital of Italy is the",
    "def fibonacci(n):",
    "Attention is all you need.",
    "The best way to learn a",
    "import torch\n\nx =",
    "In the year 19",
    "# How to bake bread\n",
    "Water boils at a temperature of",
)
PROMPTS = (
    *BEGINNINGS,
    "<|im_start|>user\nWho wrote Hamlet?<|im_end|>\n<|im_start|>assistant\n",
    la.SAMPLE_TEXT,
)
NASTY = (
    "",
    " ",
    "   ",
    "\n\n\n",
    "\t\tif x:\n\t\t\treturn\r\n",
    "  two before, two after  ",
    "a\u00a0b\u2003c\u200bd\ufeffe",
    "don't I'll they've we're it's I'm you'd DON'T ’s",
    "12 345 6789 3.14159 1e-10 0x1F ½ ² Ⅷ ٣٤ 七",
    "x=1;y  =  2;z   =   3",
    "def f(x, *args, **kw):\n    return {'a': [x**2 for _ in args]}  # done\n",
    "https://example.org/a?b=c&d=%20#e",
    "naïve café Ångström Straße İstanbul",
    "e\u0301 n\u0303 a\u030a",
    "Привет, мир! Γειά σου Κόσμε! שלום עולם مرحبا بالعالم",
    "你好，世界！こんにちは世界。안녕하세요 세계",
    "नमस्ते दुनिया สวัสดีชาวโลก ကမ္ဘာ",
    "😀 👩‍👩‍👧‍👦 🏳️‍🌈 🇫🇷 👍🏽 ❤️",
    "𝕳𝖊𝖑𝖑𝖔 𓀀 𐍈 🀄",
    "<|im_start|>user\nHello<|im_end|>\n<|endoftext|>",
    "<|im_start|> <|im_end|><repo_name><filename> <|im_star|>",
    "a\x00b\x07c\x1bd\x7fe\x85f",
    "!!! ??? ... --- *** ((( ))) <<< >>> ''' \"\"\"",
    "\\n \\u0041 \\x41 $x^2$ `code` ~~~",
    "ĠĠ Ċ Ġhello",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "the the the The THE tHe",
    la.SAMPLE_TEXT,
)


@pytest.fixture(scope="module")
def transformers():
    return importlib.import_module("transformers")


@pytest.fixture(scope="module")
def smollm2():
    return la.load_smollm2("cpu")


@pytest.fixture(scope="module")
def model(smollm2):
    return smollm2[0]


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
def as_they_read_it(transformers):
    return read_by(transformers.AutoTokenizer)


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


def encoded(tokenizer, text):
    return torch.tensor([tokenizer.encode(text, allowed_special="all")])


# The tokenizer


@pytest.mark.parametrize("text", NASTY, ids=ascii)
def test_nasty_texts_have_the_same_tokens(
    tokenizer, as_they_read_it, as_the_file_says, text
) -> None:
    token_ids = tokenizer.encode(text, allowed_special="all")
    assert token_ids == as_the_file_says(text)["input_ids"]
    assert tokenizer.decode(token_ids) == text
    if not any(unicodedata.category(letter).startswith("N") for letter in text):
        assert token_ids == as_they_read_it(text)["input_ids"]


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
def test_characters_without_a_token_are_left_out(tokenizer, as_they_read_it, letter) -> None:
    left = [tokenizer.encode_single_token(token) for token in ("a", "b", " ")]
    assert tokenizer.encode(f"a{letter}b {letter}") == left
    if letter < "\x80":
        assert tokenizer.encode(f"a{letter}b") == as_they_read_it(f"a{letter}b")["input_ids"]


def test_a_question_is_written_as_the_file_says(as_they_read_it) -> None:
    messages = [{"role": "user", "content": "Who are you?"}]
    expected = as_they_read_it.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True
    )
    assert la.chat_prompt("Who are you?") == expected


# The model


@pytest.mark.parametrize("text", PROMPTS, ids=ascii)
def test_logits_are_equal(model, tokenizer, their_model, text) -> None:
    token_ids = encoded(tokenizer, text)
    with torch.no_grad():
        expected = their_model(token_ids).logits
        assert_close(model(token_ids), expected, atol=1e-4, rtol=0)


def loss(logits, token_ids):
    return nn.functional.cross_entropy(logits[0, :-1], token_ids[0, 1:]).item()


def test_the_loss_that_the_chapter_prints_is_theirs(tokenizer, their_model) -> None:
    """`real_model`: it "has the same loss on this text, down to the last digit printed here"."""
    outputs = Path(__file__).parents[3] / "docs/recorded/models/real_model.txt"
    printed = re.findall(r"right pairing: +loss (\S+)", outputs.read_text("utf-8"))
    token_ids = encoded(tokenizer, la.SAMPLE_TEXT)
    with torch.no_grad():
        assert printed == [f"{loss(their_model(token_ids).logits, token_ids):.2f}"]


def test_the_same_text_is_generated(model, tokenizer, their_model) -> None:
    """They would have written each of our 64 tokens, in ten texts: their model gives it the most.

    Where two tokens are closer than logits may differ, either is right.
    """
    token_ids = torch.cat([encoded(tokenizer, text) for text in BEGINNINGS])
    written = la.generate(model, token_ids, 64)
    assert len({tuple(text) for text in written.tolist()}) == written.shape[0] == 10
    with torch.no_grad():
        logits = their_model(written[:, :-1]).logits[:, token_ids.shape[-1] - 1 :]
    ours = logits.gather(-1, written[:, token_ids.shape[-1] :, None])[..., 0]
    assert ours.shape == (10, 64)
    assert_close(ours, logits.amax(dim=-1), atol=2e-4, rtol=0)


def test_their_generation_is_ours(model, tokenizer, their_model) -> None:
    """Both go on by themselves, and end with the token that ends an answer."""
    token_ids = encoded(tokenizer, la.chat_prompt("What is the capital of France?"))
    stop_token = tokenizer.encode_single_token("<|im_end|>")
    expected = their_model.generate(
        token_ids,
        attention_mask=torch.ones_like(token_ids),
        max_new_tokens=64,
        do_sample=False,
        eos_token_id=stop_token,
        pad_token_id=stop_token,
    )
    assert expected[0, -1] == stop_token
    assert torch.equal(la.generate(model, token_ids, 64, stop_token=stop_token), expected)
