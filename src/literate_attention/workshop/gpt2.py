"""A reader's multi-head attention with the weights of GPT-2, beside the book's."""

import importlib
import os
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import torch
from torch import Tensor

from literate_attention.models.real_model import gpt2_attention
from literate_attention.story.multi_head_attention import MultiHeadAttention
from literate_attention.workshop._road import FirstLines, WorkshopError
from literate_attention.workshop.assembling import share_weights
from literate_attention.workshop.checking import check
from literate_attention.workshop.judge.trials import UnusableError, message_of
from literate_attention.workshop.readers_code import (
    TOLERANCE,
    ReadersCode,
    difference,
    where_it_stops,
)

HEAD_DIM = 64
"""How wide a head is in each GPT-2; a checkpoint does not say."""

CONTEXT_LENGTH = 1024
NUM_TOKENS = 16


def talk_gpt2(folder: str | os.PathLike[str], file: str | os.PathLike[str]) -> str:
    """Run your multi-head attention with the weights of each layer of GPT-2, and compare it with ours.

    Args:
        folder: where your files are.
        file: a checkpoint of GPT-2, such as ``model.safetensors`` or ``pytorch_model.bin``.

    Returns:
        What came of it, in a sentence.

    Raises:
        ValueError: the file is no such checkpoint, or your class is not right yet or takes no such weights.
    """
    checkpoint = read_checkpoint(Path(file))
    (checked,) = check(folder, "MultiHeadAttention").results
    if not checked.verdict:
        raise WorkshopError(f"MultiHeadAttention is not right yet. {checked.verdict.says}")
    written = ReadersCode(Path(folder), ["MultiHeadAttention"])
    for number, ours in enumerate(layers_of(checkpoint, file), start=1):
        with redirect_stdout(FirstLines()):
            fits = compared(written, ours) <= TOLERANCE
        if not fits:
            return f"In layer {number} your MultiHeadAttention has other numbers than ours."
    return (
        "With the weights of GPT-2, your MultiHeadAttention computes what ours does, in each of "
        f"its {number} layers."
    )


def layers_of(
    checkpoint: dict[str, Tensor], file: str | os.PathLike[str]
) -> Iterator[MultiHeadAttention]:
    """Yield the attention of each layer of a checkpoint, with the weights of GPT-2."""
    found = (re.match(r"h\.(\d+)\.attn\.", name) for name in checkpoint)
    for layer in range(1 + max((int(one[1]) for one in found if one), default=0)):
        try:
            num_heads = len(checkpoint[f"h.{layer}.attn.c_proj.bias"]) // HEAD_DIM
            yield gpt2_attention(checkpoint, layer, num_heads, CONTEXT_LENGTH).eval()
        except KeyError as error:
            raise WorkshopError(
                f"{file} is no checkpoint of GPT-2: it has no {error.args[0]}."
            ) from None
        except (ArithmeticError, RuntimeError, TypeError, ValueError) as error:
            says = message_of(error)
            raise WorkshopError(f"{file} is no checkpoint of GPT-2: {says}.") from None


def read_checkpoint(file: Path) -> dict[str, Tensor]:
    """Read the weights of a file that safetensors or torch has written."""
    if not file.is_file():
        raise WorkshopError(f"There is no file {file}.")
    try:
        if file.suffix == ".safetensors":
            weights = importlib.import_module("safetensors.torch").load_file(file)
        else:
            weights = torch.load(file, map_location="cpu", weights_only=True)
        return {name.removeprefix("transformer."): weight for name, weight in weights.items()}
    except ModuleNotFoundError:
        raise WorkshopError(
            f"safetensors is not installed, and it reads {file}: pip install safetensors"
        ) from None
    except Exception:  # each format has errors of its own, and torch's advise what is not safe
        raise WorkshopError(
            f"{file} holds no weights that can be read: it is damaged, or holds more than tensors."
        ) from None


@torch.no_grad()
def compared(written: ReadersCode, ours: MultiHeadAttention) -> float:
    """Return how far a reader's attention with the same weights is from ours, on random vectors."""
    width, num_heads = ours.d_out, ours.num_heads
    x = torch.randn(1, NUM_TOKENS, width, generator=torch.Generator().manual_seed(123))
    right = ours(x)
    if not (right.any() and right.isfinite().all()):
        raise WorkshopError("With these weights, all numbers are zero or too large to compare.")
    try:
        theirs = written.pieces["MultiHeadAttention"](
            width, width, CONTEXT_LENGTH, 0.0, num_heads, True
        ).eval()
        share_weights(theirs, ours.state_dict())
        return difference(theirs(x), right)
    except UnusableError as error:
        raise WorkshopError(f"With GPT-2, {error}.") from None
    except Exception as error:
        where = where_it_stops(error, written.folder)
        raise WorkshopError(f"Your MultiHeadAttention stops with {where}.") from None
