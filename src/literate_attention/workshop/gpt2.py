"""A reader's multi-head attention with the weights of GPT-2, beside the book's."""

import importlib
import os
import re
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path

import torch
from torch import Tensor

from literate_attention.models.real_model import gpt2_attention
from literate_attention.story.multi_head_attention import MultiHeadAttention
from literate_attention.workshop._road import WorkshopError
from literate_attention.workshop.assembling import NamesError, share_weights
from literate_attention.workshop.checking import check
from literate_attention.workshop.solutions import (
    TOLERANCE,
    KeptBack,
    Solutions,
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
    layers = sorted(
        int(found[1])
        for name in checkpoint
        if (found := re.fullmatch(r"(?:transformer\.)?h\.(\d+)\.attn\.c_attn\.weight", name))
    )
    if not layers:
        raise WorkshopError(f"{file} is no checkpoint of GPT-2: it has no h.0.attn.c_attn.weight.")
    (checked,) = check(folder, "MultiHeadAttention").results
    if not checked.verdict:
        raise WorkshopError(f"MultiHeadAttention is not right yet. {checked.verdict.says}")
    solutions = Solutions(Path(folder), ["MultiHeadAttention"])
    for layer in layers:
        ours = layer_of(checkpoint, layer)
        with redirect_stdout(KeptBack()):
            fits = compared(solutions, ours) <= TOLERANCE
        if not fits:
            return f"In layer {layer + 1} your MultiHeadAttention has other numbers than ours."
    return (
        "With the weights of GPT-2, your MultiHeadAttention computes what ours does, in each of "
        f"{len(layers)} layers of {ours.num_heads} heads."
    )


def layer_of(checkpoint: Mapping[str, Tensor], layer: int) -> MultiHeadAttention:
    """Return the attention of a layer as the book has it."""
    (bias,) = (w for name, w in checkpoint.items() if name.endswith(f"h.{layer}.attn.c_proj.bias"))
    return gpt2_attention(checkpoint, layer, len(bias) // HEAD_DIM, CONTEXT_LENGTH).eval()


def read_checkpoint(file: Path) -> dict[str, Tensor]:
    """Read the weights of a file that safetensors or torch has written."""
    if not file.is_file():
        raise WorkshopError(f"There is no file {file}.")
    try:
        if file.suffix == ".safetensors":
            weights = importlib.import_module("safetensors.torch").load_file(file)
        else:
            weights = torch.load(file, map_location="cpu", weights_only=True)
        return dict(weights)
    except ModuleNotFoundError:
        raise WorkshopError(
            f"safetensors is not installed, and it reads {file}: pip install safetensors"
        ) from None
    except Exception as error:  # each format has errors of its own
        first = str(error).partition("\n")[0].rstrip(".")
        raise WorkshopError(f"{file} holds no weights that can be read: {first}.") from None


@torch.no_grad()
def compared(solutions: Solutions, ours: MultiHeadAttention) -> float:
    """Return how far a reader's attention with the same weights is from ours, on random vectors."""
    width, num_heads = ours.d_out, ours.num_heads
    x = torch.randn(1, NUM_TOKENS, width, generator=torch.Generator().manual_seed(123))
    try:
        theirs = solutions.pieces["MultiHeadAttention"](
            width, width, CONTEXT_LENGTH, 0.0, num_heads, True
        ).eval()
        share_weights(theirs, ours.state_dict())
        return difference(theirs(x), ours(x))
    except NamesError as error:
        raise WorkshopError(f"A checkpoint is read by the names of the book: {error}.") from None
    except Exception as error:
        where = where_it_stops(error, solutions.folder)
        raise WorkshopError(f"Your MultiHeadAttention stops with {where}.") from None
