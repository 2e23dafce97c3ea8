"""Attention on one sequence that is spread over several processes: keys and values go round in a ring."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch import distributed as dist
from torch.autograd.function import once_differentiable

from literate_attention._argument_checks import require_at_least, require_head_split
from literate_attention.story.causal_attention import mask_scores

__all__ = [
    "attend_in_ring",
    "join_shards",
    "merge_partials",
    "partial_attention",
    "partial_gradients",
    "ring_shards",
    "shard_sequence",
]

# Attention to a part of the keys


def partial_attention(
    query: Float[Tensor, "*batch q_len head_dim"],
    key: Float[Tensor, "*#batch kv_len head_dim"],
    value: Float[Tensor, "*#batch kv_len value_dim"],
    *,
    attn_mask: Bool[Tensor, "q_len kv_len"] | None = None,
    scale: float | None = None,
) -> tuple[Float[Tensor, "*batch q_len value_dim"], Float[Tensor, "*batch q_len 1"]]:
    r"""Attend to a part of the keys, and say how much weight that part has.

    .. math:: Z = \operatorname{softmax}(S) \, V, \qquad \lambda_i = \log \sum_j e^{S_{ij}}, \qquad
              S = \frac{Q K^\top}{\sqrt{d_k}}

    The logarithm of the sum of exponentials is all that :func:`merge_partials` has to know, beside the
    context vectors, of keys and values that are no longer there. What is given is as for
    :func:`~literate_attention.story.fused_attention.fused_attention`, with keys and values of this part.

    Returns:
        The context vectors as if there were no other keys, and one :math:`\lambda_i` for each query. A query
        without a key has zeros, and minus infinity.

    Example:
        All scores are zero. The first query sees two keys: their weight is :math:`2 e^0`, of which the
        logarithm is 0.6931. The second sees three.

        >>> query, key = torch.zeros(2, 4), torch.zeros(3, 4)
        >>> value = torch.tensor([[1.0], [5.0], [6.5]]).expand(3, 5)
        >>> attn_mask = torch.tensor([[True, True, False], [True, True, True]])
        >>> context, logsumexp = partial_attention(query, key, value, attn_mask=attn_mask)
        >>> context[:, 0], logsumexp[:, 0]
        (tensor([3.0000, 4.1667]), tensor([0.6931, 1.0986]))
    """
    scores = partial_scores(query, key, attn_mask, scale)
    logsumexp = scores.logsumexp(dim=-1, keepdim=True)
    return exponentials(scores, logsumexp) @ value, logsumexp


def partial_scores(
    query: Tensor, key: Tensor, attn_mask: Tensor | None, scale: float | None
) -> Tensor:
    """Score keys against queries; minus infinity where a query may not attend."""
    if scale is None:
        scale = query.shape[-1] ** -0.5
    scores = (query * scale) @ key.mT
    if attn_mask is not None:
        scores = mask_scores(scores, attn_mask)
    return scores


def exponentials(scores: Tensor, logsumexp: Tensor) -> Tensor:
    """Divide each exponential by a sum of which the logarithm is known: weights, if it is the row's own."""
    # Without a key both are -inf, and their difference would be no number.
    lowest = torch.finfo(logsumexp.dtype).min
    return (scores - logsumexp.clamp(min=lowest)).exp()


def merge_partials(
    one: tuple[Float[Tensor, "*batch q_len value_dim"], Float[Tensor, "*batch q_len 1"]],
    other: tuple[Float[Tensor, "*batch q_len value_dim"], Float[Tensor, "*batch q_len 1"]],
) -> tuple[Float[Tensor, "*batch q_len value_dim"], Float[Tensor, "*batch q_len 1"]]:
    r"""Merge what the same queries found in two parts of the keys.

    .. math:: \lambda = \log\left(e^{\lambda_1} + e^{\lambda_2}\right), \qquad
              Z = e^{\lambda_1 - \lambda} Z_1 + e^{\lambda_2 - \lambda} Z_2

    It is the step of the online softmax :cite:p:`milakov2018`, with a part of the keys in the place of one
    key. The order of the parts does not matter.

    Args:
        one: context vectors and log-sum-exps, as :func:`partial_attention` returns them.
        other: those of the other part.

    Returns:
        Context vectors and log-sum-exps of both parts together. A query without a key in either has zeros,
        and minus infinity.

    Example:
        Three keys with a score of zero, one of them on its own: it gets a third of the weight.

        >>> query, key = torch.zeros(2, 4), torch.zeros(3, 4)
        >>> value = torch.tensor([[0.0], [3.0], [4.0]]).expand(3, 5)
        >>> first = partial_attention(query, key[:1], value[:1])
        >>> rest = partial_attention(query, key[1:], value[1:])
        >>> context, logsumexp = merge_partials(first, rest)
        >>> context[:, 0], logsumexp[:, 0]
        (tensor([2.3333, 2.3333]), tensor([1.0986, 1.0986]))
    """
    (context, logsumexp), (other_context, other_logsumexp) = one, other
    merged = torch.logaddexp(logsumexp, other_logsumexp)
    share = exponentials(logsumexp, merged)
    other_share = exponentials(other_logsumexp, merged)
    return share * context + other_share * other_context, merged


def partial_gradients(
    query: Float[Tensor, "*batch q_len head_dim"],
    key: Float[Tensor, "*#batch kv_len head_dim"],
    value: Float[Tensor, "*#batch kv_len value_dim"],
    context: Float[Tensor, "*batch q_len value_dim"],
    logsumexp: Float[Tensor, "*batch q_len 1"],
    upstream: Float[Tensor, "*batch q_len value_dim"],
    *,
    attn_mask: Bool[Tensor, "q_len kv_len"] | None = None,
    scale: float | None = None,
) -> tuple[Float[Tensor, "..."], Float[Tensor, "..."], Float[Tensor, "..."]]:
    r"""Take the step back through the attention to a part of the keys.

    With the weights :math:`A = e^{S - \lambda}` of this part among *all* keys, and the gradient :math:`G` of
    the context vectors, ``upstream``,

    .. math:: \partial V = A^\top G, \qquad
              \partial S = A \odot \left(G V^\top - \textstyle\sum_c G_{ic} Z_{ic}\right), \qquad
              \partial Q = \frac{\partial S \, K}{\sqrt{d_k}}, \qquad
              \partial K = \frac{\partial S^\top Q}{\sqrt{d_k}}

    Only ``context``, :math:`Z`, and ``logsumexp``, :math:`\lambda`, are kept from the forward pass, those of
    all parts together: the weights are computed a second time, as FlashAttention does :cite:p:`dao2022`.
    Mask and scale are those of :func:`partial_attention`.

    Returns:
        What this part adds to the gradient of the queries, and the gradients of its keys and of its values.

    Example:
        Where all values are zero, nothing depends on queries and keys. A key has a third of the weight of
        each query, and its value gets a third of the gradients of both.

        >>> query, key, value = torch.zeros(2, 4), torch.zeros(3, 4), torch.zeros(3, 5)
        >>> context, logsumexp = partial_attention(query, key, value)
        >>> upstream = torch.full((2, 5), 0.6)
        >>> of_query, of_key, of_value = partial_gradients(
        ...     query, key, value, context, logsumexp, upstream
        ... )
        >>> of_query[0], of_key[0], of_value[0]
        (tensor([0., 0., 0., 0.]), tensor([0., 0., 0., 0.]), tensor([0.4000, 0.4000, 0.4000, 0.4000, 0.4000]))
    """
    if scale is None:
        scale = query.shape[-1] ** -0.5
    scores = partial_scores(query, key, attn_mask, scale)
    weights = exponentials(scores, logsumexp)
    average = (upstream * context).sum(dim=-1, keepdim=True)
    of_products = weights * (upstream @ value.mT - average) * scale
    of_key, of_value = of_products.mT @ query, weights.mT @ upstream
    # Query heads that share a key add up what they want of it.
    return of_products @ key, of_key.sum_to_size(key.shape), of_value.sum_to_size(value.shape)


# Who holds which tokens


def ring_shards(
    num_tokens: int, world_size: int, *, zigzag: bool = True
) -> Int[Tensor, "world_size num_chunks chunk_tokens"]:
    r"""Say which tokens each process holds.

    .. math:: \text{process } r \text{ of } P \text{ holds the chunks } r \text{ and } 2P - 1 - r

    of the sequence cut into :math:`2P` chunks, :math:`P` being the ``world_size``. In this zig-zag order
    every process has an early chunk and a late one, so that a causal mask leaves all of them the same work.
    Without it, process r holds the chunk r of P.

    Returns:
        For each process, the positions of its tokens, chunk by chunk.

    Raises:
        ValueError: the tokens cannot be cut into chunks of one size.

    Example:
        >>> ring_shards(24, 3).flatten(1)
        tensor([[ 0,  1,  2,  3, 20, 21, 22, 23],
                [ 4,  5,  6,  7, 16, 17, 18, 19],
                [ 8,  9, 10, 11, 12, 13, 14, 15]])
        >>> ring_shards(24, 3, zigzag=False).flatten(1)
        tensor([[ 0,  1,  2,  3,  4,  5,  6,  7],
                [ 8,  9, 10, 11, 12, 13, 14, 15],
                [16, 17, 18, 19, 20, 21, 22, 23]])
    """
    require_at_least("world_size", world_size, 1)
    num_chunks = world_size * (2 if zigzag else 1)
    if num_tokens % num_chunks:
        raise ValueError(
            f"{num_tokens} tokens cannot be cut into {num_chunks} chunks of one size, "
            f"{num_chunks // world_size} for each of {world_size} processes; "
            f"pad the sequence to {num_tokens + -num_tokens % num_chunks} tokens"
        )
    chunks = torch.arange(num_tokens, device="cpu").view(num_chunks, -1)
    if not zigzag:
        return chunks.unsqueeze(1)
    return torch.stack([chunks[:world_size], chunks.flip(0)[:world_size]], dim=1)


def shard_sequence(
    x: Float[Tensor, "*batch num_tokens width"], shard: Int[Tensor, "num_chunks chunk_tokens"]
) -> Float[Tensor, "*batch shard_tokens width"]:
    r"""Take from a sequence the tokens of one process, those in its row of :func:`ring_shards`.

    .. math:: (x_r)_j = x_i \quad \text{where token } i \text{ is the } j\text{th that process } r
              \text{ holds}

    Example:
        >>> x = torch.arange(24.0).unsqueeze(-1).expand(24, 5)
        >>> shard_sequence(x, ring_shards(24, 3)[0])[:, 0]
        tensor([ 0.,  1.,  2.,  3., 20., 21., 22., 23.])
    """
    return x[..., shard.flatten(), :]


def join_shards(
    parts: Sequence[Float[Tensor, "*batch shard_tokens width"]],
    shards: Int[Tensor, "world_size num_chunks chunk_tokens"],
) -> Float[Tensor, "*batch num_tokens width"]:
    r"""Put the tokens of all processes back in their order: the inverse of :func:`shard_sequence`.

    .. math:: x_i = (x_r)_j \quad \text{where token } i \text{ is the } j\text{th that process } r
              \text{ holds}

    Example:
        >>> x, shards = torch.arange(120.0).view(24, 5), ring_shards(24, 3)
        >>> torch.equal(join_shards([shard_sequence(x, shard) for shard in shards], shards), x)
        True
    """
    together = torch.cat(list(parts), dim=-2)
    return together[..., shards.flatten().argsort(), :]


def tiles(
    q_shard: Tensor,
    kv_shard: Tensor,
    is_causal: bool,
    block_size: int,
    device: torch.device,
) -> Iterator[tuple[slice, slice, Tensor | None]]:
    """Cut the scores between two shards into tiles; leave out those whose keys are all in the future."""
    for rows, q_at in blocks(q_shard, block_size):
        for columns, k_at in blocks(kv_shard, block_size):
            if not is_causal or k_at[-1] <= q_at[0]:
                yield rows, columns, None
            elif k_at[0] <= q_at[-1]:
                yield rows, columns, (q_at[:, None] >= k_at).to(device)


def blocks(shard: Tensor, block_size: int) -> Iterator[tuple[slice, Tensor]]:
    """Cut each chunk of a shard into blocks: where they are in the process, and where in the sequence."""
    start = 0
    for chunk in shard:
        for positions in chunk.split(block_size):
            yield slice(start, start + len(positions)), positions
            start += len(positions)


# The ring


class Ring:
    """The processes of a group in a circle: each sends to the next one, and receives from the one before."""

    def __init__(self, group: dist.ProcessGroup | None = None) -> None:
        self.group = group
        self.rank = dist.get_rank(group)
        self.size = dist.get_world_size(group)
        processes = dist.get_process_group_ranks(group or dist.group.WORLD)
        self.next = processes[(self.rank + 1) % self.size]
        self.previous = processes[self.rank - 1]

    def pass_on(self, *tensors: Tensor) -> Callable[[], tuple[Tensor, ...]]:
        """Begin to send tensors to the next process, and return what waits for those of the previous one."""
        if self.size == 1:
            return lambda: tensors
        arriving = tuple(torch.empty_like(tensor) for tensor in tensors)
        sends = [dist.P2POp(dist.isend, x, self.next, self.group) for x in tensors]
        receives = [dist.P2POp(dist.irecv, x, self.previous, self.group) for x in arriving]
        transfers = dist.batch_isend_irecv(sends + receives)

        def arrived() -> tuple[Tensor, ...]:
            for transfer in transfers:
                transfer.wait()
            return arriving

        return arrived

    def rounds(self, *tensors: Tensor) -> Iterator[tuple[int, tuple[Tensor, ...]]]:
        """Yield every process's tensors, and whose they are, while the next ones are on their way."""
        for step in range(self.size):
            is_last = step == self.size - 1
            arrived = None if is_last else self.pass_on(*tensors)
            yield (self.rank - step) % self.size, tensors
            if arrived is not None:
                tensors = arrived()


class RingAttention(torch.autograd.Function):
    """Attention whose keys and values go round a ring, and whose gradients go round with them."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        ring: Ring,
        tiles_with: Callable[[int], Iterator[tuple[slice, slice, Tensor | None]]],
        scale: float | None,
    ) -> Tensor:
        """Merge what the queries find in each shard as it comes by."""
        context = zeros(*query.shape[:-1], value.shape[-1], like=query)
        logsumexp = zeros(*query.shape[:-1], 1, like=query) - torch.inf
        for owner, (k, v) in ring.rounds(key, value):
            for rows, columns, attn_mask in tiles_with(owner):
                tile = take(query, rows), take(k, columns), take(v, columns)
                found = partial_attention(*tile, attn_mask=attn_mask, scale=scale)
                so_far = context[..., rows, :], logsumexp[..., rows, :]
                merged = merge_partials(so_far, found)
                context[..., rows, :], logsumexp[..., rows, :] = merged
        ctx.save_for_backward(query, key, value, context, logsumexp)
        ctx.ring, ctx.tiles_with, ctx.scale = ring, tiles_with, scale
        return context

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        """Let each shard collect its gradient from process to process, until it is home again."""
        query, key, value, context, logsumexp = ctx.saved_tensors
        of_query, of_key, of_value = (zeros(*x.shape, like=x) for x in (query, key, value))
        for owner, (k, v) in ctx.ring.rounds(key, value):
            for rows, columns, attn_mask in ctx.tiles_with(owner):
                found = partial_gradients(
                    *(take(query, rows), take(k, columns), take(v, columns)),
                    *(take(x, rows) for x in (context, logsumexp, upstream)),
                    attn_mask=attn_mask,
                    scale=ctx.scale,
                )
                of_query[..., rows, :] += found[0]
                of_key[..., columns, :] += found[1]
                of_value[..., columns, :] += found[2]
            of_key, of_value = ctx.ring.pass_on(of_key, of_value)()
        return of_query, of_key, of_value, None, None, None


def take(x: Tensor, tokens: slice) -> Tensor:
    """Take some tokens, in float32 at least: sums of half precision lose too many digits."""
    return x[..., tokens, :].to(torch.promote_types(x.dtype, torch.float32))


def zeros(*shape: int, like: Tensor) -> Tensor:
    """Make zeros to add to, in float32 at least."""
    dtype = torch.promote_types(like.dtype, torch.float32)
    return torch.zeros(shape, dtype=dtype, device=like.device)


def attend_in_ring(
    query: Float[Tensor, "*batch num_heads shard_tokens head_dim"],
    key: Float[Tensor, "*batch num_kv_heads shard_tokens head_dim"],
    value: Float[Tensor, "*batch num_kv_heads shard_tokens value_dim"],
    *,
    is_causal: bool = False,
    zigzag: bool = True,
    scale: float | None = None,
    block_size: int = 256,
    group: dist.ProcessGroup | None = None,
) -> Float[Tensor, "*batch num_heads shard_tokens value_dim"]:
    r"""Attend to a whole sequence of which each process holds a part.

    .. math:: Z_r = \operatorname{softmax}\!\left(\frac{Q_r K^\top}{\sqrt{d_k}}\right) V, \qquad
              K = (K_1, \dots, K_P), \quad V = (V_1, \dots, V_P)

    No process ever holds the whole sequence: keys and values go from each to the next one, and after
    :math:`P - 1` steps every query has met every key :cite:p:`liu2023`. All processes of the group call it
    at the same time and with the same shapes, as they do for any collective operation of
    ``torch.distributed``.

    Args:
        query: what the tokens of this process ask.
        key: the keys of the tokens of this process; as many heads as the queries, or fewer that are shared.
        value: their values.
        is_causal: each token attends to itself and to the tokens before it in the whole sequence.
        zigzag: whether the processes hold the tokens in zig-zag order; see :func:`ring_shards`.
        scale: what scores are multiplied by; by default :math:`1/\sqrt{d_k}`.
        block_size: the most queries and keys whose scores are held at one time.
        group: the processes, by default all.

    Raises:
        ValueError: there is no group of processes yet, heads cannot be shared evenly, there are not as many
            queries as keys and values, or another process holds more or fewer.

    Example:
        A ring of one process is attention as it always was.

        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> query, key = torch.zeros(2, 6, 4), torch.zeros(1, 6, 4)
        >>> value = torch.arange(6.0).unsqueeze(-1).expand(1, 6, 5)
        >>> attend_in_ring(query, key, value, is_causal=True)[0, :, 0]
        tensor([0.0000, 0.5000, 1.0000, 1.5000, 2.0000, 2.5000])
        >>> dist.destroy_process_group()
    """
    ring = Ring(group)
    require_same_shards(ring, query, key, value)
    require_head_split("num_heads", query.shape[-3], key.shape[-3], "num_kv_heads")
    if not query.shape[-2] == key.shape[-2] == value.shape[-2]:
        raise ValueError(
            f"a process must hold queries, keys and values of the same tokens, "
            f"got {query.shape[-2]}, {key.shape[-2]} and {value.shape[-2]}"
        )
    num_tokens = ring.size * query.shape[-2]
    shards = ring_shards(num_tokens, ring.size, zigzag=zigzag)

    def tiles_with(owner: int) -> Iterator[tuple[slice, slice, Tensor | None]]:
        held, arrived = shards[ring.rank], shards[owner]
        return tiles(held, arrived, is_causal, block_size, query.device)

    grouped = query.unflatten(-3, (key.shape[-3], -1))
    shared = (x.unsqueeze(-3).contiguous() for x in (key, value))
    context = RingAttention.apply(grouped, *shared, ring, tiles_with, scale)
    return context.flatten(-4, -3).to(query.dtype)


def require_same_shards(ring: Ring, query: Tensor, key: Tensor, value: Tensor) -> None:
    """Refuse shards of unequal size: what arrives would not fit, and gloo would end the process."""
    sizes = torch.tensor([query.shape[-2], key.nbytes, value.nbytes], device=query.device)
    all_sizes = [torch.empty_like(sizes) for _ in range(ring.size)]
    dist.all_gather(all_sizes, sizes, ring.group)
    if not all(torch.equal(sizes, others) for others in all_sizes):
        raise ValueError(
            "all processes must hold as many tokens, in the same heads and type; they have queries of "
            f"{', '.join(str(int(others[0])) for others in all_sizes)} tokens"
        )
