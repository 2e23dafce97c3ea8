"""SmolLM2 put together of a reader's pieces, and of ours where one is missing; and beside all of ours."""

import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from literate_attention.models.grouped_query_attention import GroupedQueryAttention
from literate_attention.models.real_model import SMOLLM2
from literate_attention.models.rotary_embeddings import RotaryEmbedding
from literate_attention.models.transformer_block import LanguageModel, TransformerBlock
from literate_attention.workshop._chapters import CHAPTERS, line_of, own_frames, put_on_path
from literate_attention.workshop.judge.attention_mistakes import attend, weigh
from literate_attention.workshop.judge.edits import Source
from literate_attention.workshop.judge.parameters import fitting
from literate_attention.workshop.judge.settings import settings_undone
from literate_attention.workshop.judge.trials import UnusableError, message_of
from literate_attention.workshop.pieces import BY_NAME, PIECES
from literate_attention.workshop.pieces._written_out import grouped_attention

CONTEXT_LENGTH, ROPE_BASE, EPS = 8192, 100_000.0, 1e-5
IN_MODEL = tuple(piece.name for piece in PIECES if piece.in_model)
"""The names of the pieces that a model can be put together of."""

Pieces = Mapping[str, Any]
"""Functions and classes by the names that the book gives them."""


MADE_OF_PIECES = {
    "RotaryEmbedding": (RotaryEmbedding,),
    "GroupedQueryAttention": (GroupedQueryAttention, grouped_attention, attend, weigh),
    "TransformerBlock": (TransformerBlock,),
    "LanguageModel": (LanguageModel,),
}
"""Ours, where it calls others, which may be a reader's; attention is written out: a kernel calls none."""

BY_PIECES = {
    "GroupedQueryAttention": {
        "torch.ones(q_len, kv_len, dtype=torch.bool, device=query.device).tril(kv_len - q_len)": (
            "causal_mask(q_len, kv_len)"
        ),
        "scores.masked_fill(~seen, -torch.inf)": "mask_scores(scores, seen)",
        "scores.softmax(dim=-1)": "softmax(scores)",
    }
}
"""What attention that is written out does by itself, and the pieces that do it; all of it has to be there."""


def with_ours(theirs: Pieces) -> dict[str, Any]:
    """Add the library's own pieces, which call the reader's by the names that both have."""
    pieces: dict[str, Any] = {name: BY_NAME[name].library for name in IN_MODEL}
    pieces |= theirs
    frequencies = pieces["rotary_frequencies"]
    for name in MADE_OF_PIECES.keys() - theirs.keys():
        source = Source(*MADE_OF_PIECES[name])
        for own, of_pieces in BY_PIECES.get(name, {}).items():
            source.change(own, of_pieces)
        source.names |= pieces
        source.names["rotary_frequencies"] = lambda head_dim, base, _: frequencies(head_dim, base)
        pieces[name] = source.edited()
    return pieces


@dataclass(frozen=True)
class Assembly:
    """A model that speaks through pieces."""

    model: Any
    new_caches: Callable[[int], list[Any] | None]
    """Makes empty caches for so many tokens, or returns None if the model takes none."""
    pieces: Pieces = field(default_factory=dict)

    def write(
        self, token_ids: Tensor, max_new_tokens: int, choose: Callable[[Tensor], Tensor]
    ) -> Iterator[int]:
        """Continue a text of shape ``(1, num_tokens)``, token by token, by the logits of the next one."""
        caches = self.new_caches(token_ids.shape[-1] + max_new_tokens)
        new = token_ids
        for _ in range(max_new_tokens):
            chosen = choose(self.step(new, caches)[:, -1])[:, None]
            yield int(chosen)
            token_ids = torch.cat([token_ids, chosen], dim=-1)
            new = chosen if caches else token_ids

    @torch.no_grad()
    def step(self, token_ids: Tensor, caches: list[Any] | None) -> Tensor:
        """Return the logits of some tokens, with caches if the model takes them."""
        hidden = self.model.hidden_states(token_ids, *([caches] if caches else []))
        logits: Tensor = self.model.logits(hidden)
        return logits

    def logits(self, token_ids: Tensor) -> Tensor:
        """Return the logits of a text. Through caches the last token runs alone, as all do that are added."""
        if not (caches := self.new_caches(token_ids.shape[-1])) or token_ids.shape[-1] == 1:
            return self.step(token_ids, caches)
        steps = token_ids[:, :-1], token_ids[:, -1:]
        return torch.cat([self.step(one, caches) for one in steps], dim=-2)


def assemble(
    theirs: Pieces, weights: Mapping[str, Tensor], sizes: Mapping[str, int] = SMOLLM2
) -> Assembly:
    """Put SmolLM2 together of a reader's pieces, and of ours where one is missing.

    The memory of the weights is shared; if these do not fit, that is an `UnusableError`.
    """
    pieces = with_ours(theirs)
    width, num_kv_heads, head_dim = sizes["embed_dim"], sizes["num_kv_heads"], sizes["head_dim"]
    rope = pieces["RotaryEmbedding"](head_dim, CONTEXT_LENGTH, ROPE_BASE)
    blocks = []
    for _ in range(sizes["num_layers"]):
        attention = pieces["GroupedQueryAttention"](
            width, width, sizes["num_heads"], num_kv_heads, rope=rope
        )
        blocks.append(pieces["TransformerBlock"](attention, width, sizes["hidden_dim"], EPS))
    model = pieces["LanguageModel"](sizes["vocab_size"], width, blocks, EPS).eval()
    share_weights(model, weights)
    has_caches = takes(model.hidden_states, "caches") and all(
        takes(one.forward, "cache") for one in (blocks[0], attention)
    )

    def new_caches(max_tokens: int) -> list[Any] | None:
        if not has_caches:
            return None
        return [pieces["KVCache"](1, num_kv_heads, max_tokens, head_dim) for _ in blocks]

    return Assembly(model, new_caches, pieces)


def takes(function: Callable[..., object], name: str) -> bool:
    """Tell whether a function takes an argument of some name."""
    parameters = inspect.signature(function).parameters
    return name in parameters or any(one.kind == one.VAR_KEYWORD for one in parameters.values())


def share_weights(module: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Give a module its weights by the names of the book; what it has under two names gets them twice."""
    found = fitting(module, weights)
    weight_of = {id(found[name]): weight for name, weight in weights.items()}
    shared = {name: weight_of[id(parameter)] for name, parameter in found.items()}
    module.load_state_dict(shared, strict=False, assign=True)


# What a reader has written


TOLERANCE = 3e-5
"""How far a number may be off, as a part of the largest one. The same sums in another order are off by 2e-6;
the smallest mistake that was tried, a norm with an eps of 1e-6 in place of 1e-5, is off by 6e-4."""


class ReadersCode:
    """Some of the pieces that a reader has written in the files of a folder."""

    def __init__(self, folder: Path, names: Iterable[str]) -> None:
        self.folder = folder.resolve()
        self.pieces: Pieces = {
            name: getattr(module, name) for name, module in imported(self.folder, names).items()
        }
        modules = own_modules(self.folder)
        name_of = {
            id(value): name
            for module in modules
            for name, value in vars(module).items()
            if name in IN_MODEL and getattr(value, "__module__", None) == module.__name__
        }
        self.places = [
            (module, called, name_of[id(value)])
            for module in modules
            for called, value in vars(module).items()
            if id(value) in name_of
        ]

    def only(self, names: Iterable[str]) -> Pieces:
        """Return some of the pieces; what they call that is not among these is the library's."""
        chosen = {name: self.pieces[name] for name in names}
        for module, called, name in self.places:
            setattr(module, called, chosen.get(name, BY_NAME[name].library))
        return chosen


def imported(folder: Path, names: Iterable[str]) -> dict[str, ModuleType]:
    """Import the files that define some pieces, as they are now."""
    for module in own_modules(folder):
        del sys.modules[module.__name__]
    for stem in CHAPTERS:  # of another folder
        sys.modules.pop(stem, None)
    put_on_path(folder)
    importlib.invalidate_caches()
    with settings_undone():
        return {name: importlib.import_module(BY_NAME[name].stem) for name in names}


def own_modules(folder: Path) -> list[ModuleType]:
    """List the modules that were imported from a folder."""
    return [
        module
        for module in sys.modules.copy().values()
        if (file := getattr(module, "__file__", None)) and Path(file).parent == folder
    ]


class Comparison:
    """SmolLM2 with a reader's pieces in it, beside the library's, on one text."""

    def __init__(
        self,
        written: ReadersCode,
        ours: Assembly,
        token_ids: Tensor,
        sizes: Mapping[str, int] = SMOLLM2,
    ) -> None:
        self.written, self.token_ids, self.sizes = written, token_ids, sizes
        self.weights = ours.model.state_dict()
        self.expected = ours.logits(token_ids)

    def assembled(self, names: Iterable[str]) -> Assembly:
        """Return the model with some of the pieces."""
        return assemble(self.written.only(names), self.weights, self.sizes)

    def is_ours(self, assembly: Assembly) -> bool:
        """Tell whether a model computes the numbers that ours does."""
        logits, right = assembly.logits(self.token_ids), self.expected
        most = TOLERANCE * right.abs().max()
        return logits.shape == right.shape and bool((logits - right).abs().max() <= most)

    def differs(self, names: Iterable[str]) -> bool:
        """Tell whether a model with some of the pieces is not ours, or stops."""
        try:
            return not self.is_ours(self.assembled(names))
        except Exception:
            return True

    def cause(self, names: Sequence[str]) -> str:
        """Say which pieces make the model differ, although each of them is right by itself."""
        alone = [name for name in names if self.differs([name])]
        if alone:
            return f"It is {' and '.join(alone)}, whose check finds nothing wrong."
        return "Each piece alone is right in our model, but not all of them together."


def where_it_stops(error: Exception, folder: Path) -> str:
    """Say with what code stops, and in which line of a reader's file."""
    frames = own_frames(traceback.extract_tb(error.__traceback__), folder.resolve())
    where = f" ({line_of(frames[-1])})" if frames else ""
    is_of_weights = isinstance(error, UnusableError)
    what = "weights that do not fit" if is_of_weights else type(error).__name__
    return f"{what}: {message_of(error)}{where}"
