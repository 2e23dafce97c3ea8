"""A reader's multi-head attention with the weights of GPT-2, beside the book's."""

import importlib
import os
import re
import warnings
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path

import torch
from torch import Tensor

from literate_attention.models.real_model import gpt2_attention
from literate_attention.story.multi_head_attention import MultiHeadAttention
from literate_attention.workshop._road import FirstLines, WorkshopError
from literate_attention.workshop.assembling import share_weights
from literate_attention.workshop.checking import check
from literate_attention.workshop.judge.trials import UnusableError
from literate_attention.workshop.readers_code import (
    TOLERANCE,
    ReadersCode,
    difference,
    where_it_stops,
)

HEAD_DIM = 64
"""How wide a head is in each GPT-2; a checkpoint does not say."""

NAME = r"(?:transformer\.)?(h\.(?:0|[1-9]\d{0,2})\.attn\.c_(?:attn|proj)\.(?:weight|bias))"
WIDTHS = {
    "c_attn.weight": (1, 3),
    "c_attn.bias": (3,),
    "c_proj.weight": (1, 1),
    "c_proj.bias": (1,),
}
"""What a layer's attention has, and how many times the width of the model each dimension is."""

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
    checkpoint, layers = read_whole(Path(file))
    (checked,) = check(folder, "MultiHeadAttention").results
    if not checked.verdict:
        raise WorkshopError(f"MultiHeadAttention is not right yet. {checked.verdict.says}")
    written = ReadersCode(Path(folder), ["MultiHeadAttention"])
    for layer in layers:
        num_heads = len(checkpoint[f"h.{layer}.attn.c_proj.bias"]) // HEAD_DIM
        ours = gpt2_attention(checkpoint, layer, num_heads, CONTEXT_LENGTH).eval()
        with redirect_stdout(FirstLines()):
            fits = compared(written, ours) <= TOLERANCE
        if not fits:
            return f"In layer {layer + 1} your MultiHeadAttention has other numbers than ours."
    return (
        "With the weights of GPT-2, your MultiHeadAttention computes what ours does, in each of "
        f"{len(layers)} layers of {ours.num_heads} heads."
    )


def read_whole(file: Path) -> tuple[dict[str, Tensor], range]:
    """Read a checkpoint of which no layer lacks anything, and count its layers."""
    checkpoint = read_checkpoint(file)
    layers = range(1 + max((int(name.split(".")[1]) for name in checkpoint), default=0))
    for layer in layers:
        require_layer(file, checkpoint, layer)
    return checkpoint, layers


def require_layer(file: Path, checkpoint: Mapping[str, Tensor], layer: int) -> None:
    """Refuse a layer that lacks a weight, or has one of which nothing can be computed."""
    first = checkpoint.get("h.0.attn.c_attn.weight")
    width = 0 if first is None or first.ndim == 0 else len(first)
    for part, widths in WIDTHS.items():
        name = f"h.{layer}.attn.{part}"
        if name not in checkpoint:
            raise WorkshopError(f"{file} is no checkpoint of GPT-2: it has no {name}.")
        weight, shape = checkpoint[name], tuple(width * times for times in widths)
        if width == 0 or width % HEAD_DIM or tuple(weight.shape) != shape:
            raise WorkshopError(
                f"{name} in {file} has the shape {tuple(weight.shape)}; the attention of GPT-2 is as wide "
                f"as some heads of {HEAD_DIM}, and has {' x '.join(map(str, widths))} times that."
            )
        is_stored = weight.layout == torch.strided and weight.device.type == "cpu"
        if not (is_stored and weight.untyped_storage().nbytes() >= weight.nbytes):
            raise WorkshopError(f"{name} in {file} is not stored as numbers, one for each weight.")
        if not (weight.is_floating_point() and weight.float().isfinite().all()):
            raise WorkshopError(
                f"{name} in {file} holds other than finite, floating-point numbers."
            )


def read_checkpoint(file: Path) -> dict[str, Tensor]:
    """Read the weights of a file that safetensors or torch has written."""
    if not file.is_file():
        raise WorkshopError(f"There is no file {file}.")
    try:
        if file.suffix == ".safetensors":
            weights = importlib.import_module("safetensors.torch").load_file(file)
        else:
            with warnings.catch_warnings(action="ignore"):  # of versions that damage has written
                weights = torch.load(file, map_location="cpu", weights_only=True)
        found = {name: re.fullmatch(NAME, name) for name in weights if isinstance(name, str)}
        return {
            match[1]: weights[name]
            for name, match in found.items()
            if match and isinstance(weights[name], Tensor)
        }
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
