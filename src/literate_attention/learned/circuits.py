"""What heads tell each other: a run taken apart, patched and cut, and what the weights alone say."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from literate_attention._argument_checks import require_at_least, require_token_ids
from literate_attention.learned.induction import require_head
from literate_attention.models.transformer_block import LanguageModel, RMSNorm
from literate_attention.story.multi_head_attention import split_heads

__all__ = [
    "Attribution",
    "feed_forward_output",
    "head_outputs",
    "logit_attribution",
    "ov_circuit",
    "patch_heads",
    "patch_residual_stream",
    "path_patch",
    "qk_circuit",
    "residual_stream",
    "run_from_layer",
]


@torch.no_grad()
def residual_stream(
    model: LanguageModel, token_ids: Int[Tensor, "*batch num_tokens"]
) -> Float[Tensor, "*batch stages num_tokens embed_dim"]:
    r"""Keep the residual stream as it is before the first block, and after each block.

    .. math:: x_0 = E_t, \qquad x_l = \text{block}_l(x_{l-1})

    Returns:
        One stage more than there are blocks; block :math:`l`, counted from 0, reads stage :math:`l`.

    Example:
        >>> from literate_attention import llama_model
        >>> model = llama_model(11, 12, 16, num_layers=3, num_heads=6, num_kv_heads=2)
        >>> token_ids = torch.tensor([1, 7, 2, 5])
        >>> stream = residual_stream(model, token_ids)
        >>> torch.equal(model.final_norm(stream[-1]), model.hidden_states(token_ids))
        True
    """
    require_token_ids(token_ids, model.token_embedding.num_embeddings)
    stages = [model.token_embedding(token_ids)]
    for block in model.blocks:
        stages.append(block(stages[-1]))
    return torch.stack(stages, dim=-3)


@torch.no_grad()
def head_outputs(
    model: LanguageModel, token_ids: Int[Tensor, "*batch num_tokens"]
) -> Float[Tensor, "*batch num_layers num_heads num_tokens embed_dim"]:
    r"""Say what each head adds to the residual stream.

    .. math:: \text{output}_h = A_h \, V_h \, W_o^{(h)}, \qquad \text{Attention}(x) = \sum_h \text{output}_h

    The output projection mixes the heads, but its columns can be dealt out to them, and then each head has a
    matrix of its own :cite:p:`elhage2021`.

    Example:
        >>> from literate_attention import llama_model
        >>> model = llama_model(11, 12, 16, num_layers=3, num_heads=6, num_kv_heads=2)
        >>> head_outputs(model, torch.tensor([1, 7, 2, 5])).shape
        torch.Size([3, 6, 4, 12])
    """
    stream = residual_stream(model, token_ids)
    blocks: Iterable[Any] = model.blocks
    outputs = []
    for layer, block in enumerate(blocks):
        attention = block.attention
        normed = block.attention_norm(stream[..., layer, :, :])
        _, weights = attention(normed, need_weights=True)
        value = split_heads(attention.W_value(normed), attention.num_kv_heads)
        shared_by = attention.num_heads // attention.num_kv_heads
        found = weights @ value.repeat_interleave(shared_by, dim=-3)
        outputs.append(found @ output_matrices(attention))
    return torch.stack(outputs, dim=-4)


def output_matrices(attention: Any) -> Float[Tensor, "num_heads head_dim embed_dim"]:
    """Deal the output projection out to the heads: what carries each one's findings into the stream."""
    return attention.out_proj.weight.T.unflatten(0, (attention.num_heads, -1))


def feed_forward_output(
    block: Any, x: Float[Tensor, "*batch num_tokens embed_dim"]
) -> Float[Tensor, "*batch num_tokens embed_dim"]:
    """Say what the second half of a block adds to the stream that its attention leaves."""
    if not hasattr(block, "feed_forward"):  # a block of attention alone
        return torch.zeros_like(x)
    return block.feed_forward(block.feed_forward_norm(x))


class Attribution(NamedTuple):
    """A logit as a sum: what each part of a model contributes to it, from :func:`logit_attribution`.

    Example:
        >>> parts = Attribution(torch.tensor(0.5), torch.tensor([[1.0, -0.5]]), torch.tensor([2.0]))
        >>> parts.total()
        3.0
    """

    embedding: Float[Tensor, ""]
    """What the token's own embedding contributes."""
    heads: Float[Tensor, "num_layers num_heads"]
    """What each head contributes, layer by layer."""
    feed_forward: Float[Tensor, " num_layers"]
    """What each layer's feed-forward part contributes."""

    def total(self) -> float:
        """Add it all up."""
        return (self.embedding + self.heads.sum() + self.feed_forward.sum()).item()


@torch.no_grad()
def logit_attribution(
    model: LanguageModel,
    token_ids: Int[Tensor, " num_tokens"],
    token: int,
    versus: int | None = None,
    place: int = -1,
) -> Attribution:
    r"""Divide the logit of a token among all parts of a model that write into the residual stream.

    .. math:: \text{logit}_t = \Bigl\langle \sum_p x_p, \; \frac{w \odot E_t}{r} \Bigr\rangle
              = \sum_p \Bigl\langle x_p, \frac{w \odot E_t}{r} \Bigr\rangle, \qquad
              r = \sqrt{\tfrac{1}{d} \bigl\lVert \textstyle\sum_p x_p \bigr\rVert^2 + \epsilon}

    :math:`x_p` is what a part adds to the stream, and :math:`w` the weight of the last norm. The divisor
    :math:`r` depends on all parts together. It is kept as it was in this run, so the sum is exact; without
    one of the parts, it would be another :cite:p:`elhage2021`.

    Args:
        model: a stack of blocks.
        token_ids: what the model reads.
        token: whose logit is divided, :math:`t`.
        versus: a second token, if the difference of two logits is divided.
        place: after which token the logit is read; by default after the last.

    Example:
        >>> from literate_attention import llama_model
        >>> model = llama_model(11, 12, 16, num_layers=3, num_heads=6, num_kv_heads=2)
        >>> token_ids = torch.tensor([1, 7, 2, 5])
        >>> parts = logit_attribution(model, token_ids, token=3)
        >>> abs(parts.total() - model(token_ids)[-1, 3].item()) < 1e-4
        True
    """
    require_token_ids(
        torch.tensor([token, token if versus is None else versus], device="cpu"),
        model.token_embedding.num_embeddings,
    )
    stream, heads = residual_stream(model, token_ids), head_outputs(model, token_ids)
    attended = stream[:-1] + heads.sum(dim=1)
    halves = [
        feed_forward_output(block, x) for block, x in zip(model.blocks, attended, strict=True)
    ]
    table, norm = model.token_embedding.weight, model.final_norm
    asked = table[token] if versus is None else table[token] - table[versus]
    mean_square = stream[-1, place].square().mean()
    reads = norm.weight * asked * torch.rsqrt(mean_square + norm.eps)
    return Attribution(
        stream[0, place] @ reads,
        heads[:, :, place] @ reads,
        torch.stack(halves)[:, place] @ reads,
    )


@torch.no_grad()
def run_from_layer(
    model: LanguageModel, stream: Float[Tensor, "*batch num_tokens embed_dim"], layer: int
) -> Float[Tensor, "*batch vocab_size"]:
    r"""Let a model go on from a residual stream that it is given, and return the logits after the last token.

    .. math:: \text{logits} = \text{norm}\bigl(\text{block}_L(\cdots \text{block}_{l}(x))\bigr) \, E^\top

    where :math:`l` may be as large as the number of blocks: then only the norm is left. With a stream that
    mixes two runs, it says what the model makes of the part that was carried over :cite:p:`vig2020,meng2022`.

    Raises:
        ValueError: the model has no such layer.

    Example:
        >>> from literate_attention import llama_model
        >>> model = llama_model(11, 12, 16, num_layers=3, num_heads=6, num_kv_heads=2)
        >>> token_ids = torch.tensor([1, 7, 2, 5])
        >>> logits = run_from_layer(model, residual_stream(model, token_ids)[2], layer=2)
        >>> torch.equal(logits, model.logits(model.hidden_states(token_ids)[-1]))
        True
    """
    if not 0 <= layer <= len(model.blocks):
        raise ValueError(
            f"the model has {len(model.blocks)} blocks, so its stream has the stages 0 to "
            f"{len(model.blocks)}, got {layer}"
        )
    for block in model.blocks[layer:]:
        stream = block(stream)
    return model.logits(model.final_norm(stream[..., -1, :]))


@torch.no_grad()
def patch_residual_stream(
    model: LanguageModel,
    token_ids: Int[Tensor, " num_tokens"],
    other_ids: Int[Tensor, " num_tokens"],
    places: Sequence[int],
) -> Float[Tensor, "stages places vocab_size"]:
    r"""Carry one token's vector from another run over into this one, at each stage of the residual stream.

    .. math:: \tilde x_{l,i} = x'_{l,i}, \qquad \tilde x_{l,j} = x_{l,j} \text{ for all } j \ne i

    Args:
        model: a stack of blocks.
        token_ids: what the model reads.
        other_ids: the text that the vectors come from, of as many tokens.
        places: the tokens whose vectors are carried over, one at a time, :math:`i`.

    Returns:
        The logits after the last token, for each stage and each place.

    Raises:
        ValueError: the texts differ in length.

    Example:
        >>> from literate_attention import llama_model
        >>> model = llama_model(11, 12, 16, num_layers=3, num_heads=6, num_kv_heads=2)
        >>> one, other = torch.tensor([1, 7, 2, 5]), torch.tensor([1, 3, 2, 5])
        >>> patch_residual_stream(model, one, other, places=[1, 3]).shape
        torch.Size([4, 2, 11])
    """
    require_same_length(token_ids, other_ids)
    stream, other = residual_stream(model, torch.stack([token_ids, other_ids]))
    runs = stream.new_empty(0, *stream[0].shape)
    for layer in range(len(stream)):
        mixed = stream[layer].repeat(len(places), 1, 1)
        for row, place in enumerate(places):
            mixed[row, place] = other[layer, place]
        runs = torch.cat([runs, mixed])  # all go on together
        if layer < len(model.blocks):
            runs = model.blocks[layer](runs)
    logits = model.logits(model.final_norm(runs[:, -1]))
    return logits.unflatten(0, (-1, len(places)))


@torch.no_grad()
def patch_heads(
    model: LanguageModel,
    token_ids: Int[Tensor, " num_tokens"],
    other_ids: Int[Tensor, " num_tokens"],
    first: int = 0,
) -> Float[Tensor, "num_layers num_heads vocab_size"]:
    r"""Carry the output of one head from another run over into this one, one head at a time.

    .. math:: \tilde x_l = x_l + \sum_h \text{output}_{l,h} - \text{output}_{l,g} + \text{output}'_{l,g}

    for each head :math:`g` of the layers from ``first`` on.

    Returns:
        The logits after the last token, for each of these heads.

    Raises:
        ValueError: the texts differ in length, or there is no such layer.

    Example:
        >>> from literate_attention import llama_model
        >>> model = llama_model(11, 12, 16, num_layers=3, num_heads=6, num_kv_heads=2)
        >>> one, other = torch.tensor([1, 7, 2, 5]), torch.tensor([1, 3, 2, 5])
        >>> patch_heads(model, one, other).shape
        torch.Size([3, 6, 11])
    """
    require_same_length(token_ids, other_ids)
    require_head([block.attention for block in model.blocks], first, head=0)
    stream = residual_stream(model, token_ids)
    heads, others = head_outputs(model, torch.stack([token_ids, other_ids]))
    logits = []
    for layer, block in enumerate(model.blocks[first:], start=first):
        attended = stream[layer] + heads[layer].sum(dim=0)
        mixed = attended - heads[layer] + others[layer]  # a row for each head
        mixed = mixed + feed_forward_output(block, mixed)
        logits.append(run_from_layer(model, mixed, layer + 1))
    return torch.stack(logits)


@torch.no_grad()
def qk_circuit(
    model: LanguageModel, layer: int, head: int, distance: int = 0
) -> Float[Tensor, "embed_dim embed_dim"]:
    r"""Say from the weights alone how a head scores a pair of tokens that are so far apart.

    .. math:: \text{score}_{ij} = \hat x_i \, W_{QK}^{(i-j)} \, \hat x_j^\top, \qquad
              W_{QK}^{(\Delta)} = \frac{1}{\sqrt{d_h}} \, w W_q^\top R_\Delta^\top W_k w

    :math:`\hat x` is a vector of the stream, divided by the root of its mean square, and :math:`w` the weight
    of the norm. Of the two rotations in a score only their difference is left, :math:`R_\Delta`. So a head
    with rotary positions has a matrix for each ``distance``, :math:`\Delta`, from the key to the query
    :cite:p:`elhage2021`.

    Returns:
        The matrix: rows for what asks, columns for what is asked about.

    Raises:
        ValueError: the model has no such head, the distance is below 0, or there are norms of queries and
            keys, which no matrix can express.

    Example:
        >>> from literate_attention import llama_model
        >>> model = llama_model(11, 12, 16, num_layers=3, num_heads=6, num_kv_heads=2)
        >>> qk_circuit(model, layer=1, head=4).shape
        torch.Size([12, 12])
    """
    require_head([block.attention for block in model.blocks], layer, head)
    require_at_least("distance", distance, 0)
    query, key, _ = head_matrices(model, layer)
    attention: Any = model.blocks[layer].attention
    asks = query[head].T.unsqueeze(-2)  # each column is turned like a query of its own
    if attention.rope is not None:
        asks = attention.rope(asks, distance)
    return asks.squeeze(-2) @ key[head] / attention.head_dim**0.5


@torch.no_grad()
def ov_circuit(model: LanguageModel, layer: int, head: int) -> Float[Tensor, "embed_dim embed_dim"]:
    r"""Say from the weights alone what a head writes about a token that it looks at.

    .. math:: \text{output}_i = \sum_j A_{ij} \, \hat x_j \, W_{OV}, \qquad W_{OV} = w W_v^\top W_o^{(h)}

    :math:`\hat x` and :math:`w` are those of :func:`qk_circuit`. No position plays a part here
    :cite:p:`elhage2021`.

    Returns:
        The matrix: rows for what is looked at, columns for what is written.

    Raises:
        ValueError: the model has no such head, or norms of queries and keys.

    Example:
        >>> from literate_attention import llama_model
        >>> model = llama_model(11, 12, 16, num_layers=3, num_heads=6, num_kv_heads=2, head_dim=4)
        >>> torch.linalg.matrix_rank(ov_circuit(model, layer=1, head=4)).item()
        4
    """
    require_head([block.attention for block in model.blocks], layer, head)
    _, _, value = head_matrices(model, layer)
    return value[head].T @ output_matrices(model.blocks[layer].attention)[head]


def head_matrices(
    model: LanguageModel, layer: int
) -> tuple[Float[Tensor, "num_heads head_dim embed_dim"], ...]:
    """Give each head of a layer its three projections, the weight of the norm before them included."""
    block: Any = model.blocks[layer]
    attention = block.attention
    if not isinstance(attention.query_norm, nn.Identity):  # their divisor depends on the text
        raise ValueError(
            "with norms of queries and keys, no matrix says how a head scores two tokens"
        )
    shared_by = attention.num_heads // attention.num_kv_heads
    query = attention.W_query.weight.unflatten(0, (attention.num_heads, -1))
    key = attention.W_key.weight.unflatten(0, (attention.num_kv_heads, -1))
    value = attention.W_value.weight.unflatten(0, (attention.num_kv_heads, -1))
    norm = block.attention_norm.weight
    return (
        query * norm,
        key.repeat_interleave(shared_by, dim=0) * norm,
        value.repeat_interleave(shared_by, dim=0) * norm,
    )


@contextmanager
def path_patch(
    model: LanguageModel,
    wires: Mapping[tuple[int, int], Sequence[tuple[int, int]]],
    replacement: Callable[[Tensor], Tensor] = torch.zeros_like,
    part: Literal["query", "key", "value"] = "key",
) -> Iterator[None]:
    r"""Hide what heads write from some keys of later layers, for as long as a ``with`` lasts.

    .. math:: \tilde k_j = R_j \, W_k \, \text{norm}\Bigl(x_j - \sum_s \bigl(\text{output}_{s,j}
              - \text{replacement}(\text{output}_s)_j\bigr)\Bigr)

    All that else reads the stream goes on reading what the heads have written. So do these keys, where other
    parts have passed it on: only the direct wires are cut. Path patching :cite:p:`goldowskydill2023` puts the
    output of another run in the place of the head's own. However the ``with`` ends, no wire stays cut.

    Args:
        model: a stack of blocks.
        wires: for each head that writes, :math:`s`, as (layer, head), the keys that it is hidden from, as
            (layer, key-value head). With grouped queries, several heads share a key.
        replacement: makes what these keys read in its place, of what the head has written; by default zeros.
        part: whether it is hidden from keys, from values or from queries. A wire to queries ends in
            (layer, head).

    Raises:
        ValueError: the model has no such head or keys, they are not in a later layer, or wires to that layer
            are already cut.

    Example:
        >>> from literate_attention import llama_model
        >>> model = llama_model(11, 12, 16, num_layers=3, num_heads=6, num_kv_heads=2)
        >>> token_ids = torch.tensor([1, 7, 2, 5])
        >>> whole = model(token_ids)
        >>> with path_patch(model, {(0, 3): [(2, 1)]}):
        ...     cut = model(token_ids)
        >>> torch.equal(cut, whole), torch.equal(model(token_ids), whole)
        (False, True)
    """
    blocks: list[Any] = list(model.blocks)
    hidden: dict[int, dict[int, list[tuple[int, int]]]] = {}
    for sender, keys in wires.items():
        require_wires(blocks, sender, keys, part)
        for layer, kv_head in keys:
            hidden.setdefault(layer, {}).setdefault(kv_head, []).append(sender)
    note: dict[Any, Tensor] = {}
    hooks = []
    for sender in wires:
        attention = blocks[sender[0]].attention
        keep = partial(note_output, note, sender, attention, replacement)
        hooks.append(attention.out_proj.register_forward_pre_hook(keep))
    for layer, senders in hidden.items():
        norm, attention = blocks[layer].attention_norm, blocks[layer].attention
        anew = partial(project_anew, note, senders, norm, heads_of(attention, part))
        hooks.append(norm.register_forward_pre_hook(partial(note_stream, note)))
        hooks.append(getattr(attention, f"W_{part}").register_forward_hook(anew))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def heads_of(attention: Any, part: str) -> int:
    """Say how many heads have queries, or keys or values, of their own."""
    return attention.num_heads if part == "query" else attention.num_kv_heads


def note_output(
    note: dict[Any, Tensor],
    sender: tuple[int, int],
    attention: Any,
    replacement: Callable[[Tensor], Tensor],
    _: nn.Module,
    inputs: tuple[Tensor],
) -> None:
    """Note what one head is about to write, less what is read instead."""
    found = inputs[0].unflatten(-1, (attention.num_heads, -1))[..., sender[1], :]
    output = found @ output_matrices(attention)[sender[1]]
    note[sender] = output - replacement(output)


def note_stream(note: dict[Any, Tensor], _: nn.Module, inputs: tuple[Tensor]) -> None:
    """Note what the next keys are made of."""
    note["stream"] = inputs[0]


def project_anew(
    note: dict[Any, Tensor],
    senders: dict[int, list[tuple[int, int]]],
    norm: RMSNorm,
    num_heads: int,
    project: nn.Linear,
    _: tuple[Tensor],
    projected: Tensor,
) -> Tensor:
    """Make keys, values or queries anew, of a stream to which some heads have written nothing."""
    split = projected.unflatten(-1, (num_heads, -1)).clone()
    for head, hidden in senders.items():
        without = norm.forward(note["stream"] - sum(note[sender] for sender in hidden))
        made = project.forward(without).unflatten(-1, (num_heads, -1))
        split[..., head, :] = made[..., head, :]
    return split.flatten(-2)


def require_same_length(token_ids: Tensor, other_ids: Tensor) -> None:
    """Refuse texts whose tokens do not stand opposite each other."""
    if token_ids.shape != other_ids.shape:
        raise ValueError(
            f"both texts must have as many tokens, got {len(token_ids)} and {len(other_ids)}"
        )


def require_wires(
    blocks: Sequence[Any], sender: tuple[int, int], ends: Sequence[tuple[int, int]], part: str
) -> None:
    """Refuse a wire that ends before it begins, or in a head that is not there."""
    require_head([block.attention for block in blocks], *sender)
    for layer, head in ends:
        if not sender[0] < layer < len(blocks):
            raise ValueError(
                f"a wire from layer {sender[0]} can end in layers {sender[0] + 1} to "
                f"{len(blocks) - 1}, got {layer}"
            )
        attention = blocks[layer].attention
        if not 0 <= head < heads_of(attention, part):
            kind = "heads" if part == "query" else "key-value heads"
            raise ValueError(
                f"layer {layer} has {heads_of(attention, part)} {kind}, "
                f"counted from 0; there is no {head}"
            )
        hooks = getattr(attention, f"W_{part}")._forward_hooks.values()
        if any(isinstance(hook, partial) and hook.func is project_anew for hook in hooks):
            raise ValueError(
                f"wires to layer {layer} are already cut; name all of them in one call"
            )
