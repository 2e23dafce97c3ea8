"""Linear attention: a state of fixed size instead of keys and values, which decays and is corrected."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize, silu, softplus

from literate_attention._argument_checks import require_cache, seen_range
from literate_attention.models.transformer_block import RMSNorm
from literate_attention.story.causal_attention import causal_mask
from literate_attention.story.multi_head_attention import merge_heads, split_heads

__all__ = [
    "GatedDeltaNet",
    "StateCache",
    "linear_attention",
]


def attend_by_token(
    state: Float[Tensor, "*batch key_dim value_dim"],
    query: Float[Tensor, "*batch 1 key_dim"],
    key: Float[Tensor, "*batch 1 key_dim"],
    value: Float[Tensor, "*batch 1 value_dim"],
    log_decay: Float[Tensor, "*batch 1 1"],
    beta: Float[Tensor, "*batch 1 1"] | None = None,
) -> tuple[Float[Tensor, "*batch 1 value_dim"], Float[Tensor, "*batch key_dim value_dim"]]:
    """Let a state decay, correct it by one token and read it; return what is read, and the new state."""
    state = log_decay.exp() * state
    if beta is not None:
        value = beta * (value - key @ state)
    state = state + key.mT @ value
    return query @ state, state


def attend_by_chunk(
    state: Float[Tensor, "*batch key_dim value_dim"],
    query: Float[Tensor, "*batch num_tokens key_dim"],
    key: Float[Tensor, "*batch num_tokens key_dim"],
    value: Float[Tensor, "*batch num_tokens value_dim"],
    log_decay: Float[Tensor, "*batch num_tokens 1"],
    beta: Float[Tensor, "*batch num_tokens 1"] | None = None,
) -> tuple[Float[Tensor, "*batch num_tokens value_dim"], Float[Tensor, "*batch key_dim value_dim"]]:
    """Do for many tokens at once what :func:`attend_by_token` does for one after the other."""
    later = ~causal_mask(key.shape[-2], device=key.device)
    total = log_decay.cumsum(dim=-2)
    kept = (total - total.mT).masked_fill(later, -torch.inf).exp()  # at i, of what j wrote
    kept_of_state = total.exp()
    if beta is not None:
        found = kept_of_state * (key @ state)
        others = beta * kept * (key @ key.mT)
        value = torch.linalg.solve_triangular(
            others, beta * (value - found), upper=False, unitriangular=True
        )
    output = kept_of_state * (query @ state)
    output = output + (kept * (query @ key.mT)) @ value
    left = kept[..., -1:, :] * key.mT
    state = kept_of_state[..., -1:, :] * state + left @ value
    return output, state


def linear_attention(
    query: Float[Tensor, "*batch num_tokens key_dim"],
    key: Float[Tensor, "*batch num_tokens key_dim"],
    value: Float[Tensor, "*batch num_tokens value_dim"],
    *,
    log_decay: Float[Tensor, "*batch num_tokens"] | None = None,
    beta: Float[Tensor, "*batch num_tokens"] | None = None,
    state: Float[Tensor, "*batch key_dim value_dim"] | None = None,
    chunk_size: int | None = None,
) -> tuple[Float[Tensor, "*batch num_tokens value_dim"], Float[Tensor, "*batch key_dim value_dim"]]:
    r"""Causal attention without a softmax: a state of fixed size holds what all tokens so far have written.

    .. math::
        H_t = \gamma_t H_{t-1} + k_t^\top \tilde v_t, \qquad
        \tilde v_t = \beta_t \, (v_t - k_t \, \gamma_t H_{t-1}), \qquad
        z_t = q_t H_t

    With :math:`\tilde v_t = v_t` and no decay :math:`\gamma_t` this is linear attention
    :cite:p:`katharopoulos2020`; with :math:`\beta_t`, it is the delta rule :cite:p:`schlag2021`, and with
    both, the gated delta rule :cite:p:`yang2025`. It is computed one token at a time, or in chunks, which
    gives the same.

    Args:
        query: what each token reads. Nothing is scaled.
        key: where each token writes; with ``beta``, of length one, or the state may grow without bound.
        value: what each token writes.
        log_decay: for each token the logarithm of :math:`\gamma_t`, finite and at most zero, of shape
            ``(*batch, num_tokens)``; by default nothing decays. Elsewhere ``g``.
        beta: for each token the part of what its key finds that is replaced by its value, of the same shape;
            by default values are added.
        state: what tokens before these have left; by default nothing.
        chunk_size: how many tokens are computed at once; by default one at a time.

    Returns:
        What each token reads, and the state after the last one, in float32 at least.

    Raises:
        ValueError: a log decay (on the CPU) is above zero, or gates or state are of another shape.

    Example:
        The key finds 3 in the state, so with a beta of one half it adds half of what is missing to 5.

        >>> one, three, five = torch.tensor([[1.0]]), torch.tensor([[3.0]]), torch.tensor([[5.0]])
        >>> linear_attention(one, one, five, beta=torch.tensor([0.5]), state=three)
        (tensor([[4.]]), tensor([[4.]]))
    """
    require_fitting(query, key, value, log_decay=log_decay, beta=beta, state=state)
    dtype = torch.promote_types(value.dtype, torch.float32)
    if log_decay is None:
        log_decay = key.new_zeros(key.shape[:-1])
    if state is None:
        state = key.new_zeros(*key.shape[:-2], key.shape[-1], value.shape[-1])
    gates = [gate.unsqueeze(-1) for gate in (log_decay, beta) if gate is not None]
    inputs = [x.to(dtype).split(chunk_size or 1, dim=-2) for x in (query, key, value, *gates)]
    attend = attend_by_chunk if chunk_size else attend_by_token
    state, outputs = state.to(dtype), []
    for piece in zip(*inputs, strict=True):
        output, state = attend(state, *piece)
        outputs.append(output)
    return torch.cat(outputs, dim=-2).to(value.dtype), state


class StateCache:
    """What linear attention keeps of all tokens so far: one state, as large after the first as after any.

    It takes the place of a :class:`~literate_attention.models.kv_cache.KVCache`.

    Example:
        >>> attention = GatedDeltaNet(24, 24, num_heads=3, head_dim=8)
        >>> cache = StateCache()
        >>> for num_tokens in (1, 10):
        ...     _ = attention(torch.ones(1, num_tokens, 24), cache=cache)
        ...     print(cache.num_tokens, cache.nbytes)
        1 768
        11 768
    """

    def __init__(self) -> None:
        self.state: Tensor | None = None
        self.num_tokens = 0

    def __repr__(self) -> str:
        return f"StateCache(num_tokens={self.num_tokens}, nbytes={self.nbytes})"

    @property
    def nbytes(self) -> int:
        """How many bytes the state takes; none before the first token."""
        return 0 if self.state is None else self.state.nbytes


class GatedDeltaNet(nn.Module):
    r"""The gated delta rule in several heads, with gates that each token sets for itself.

    .. math::
        \beta_t = \sigma(x_t W_\beta), \qquad
        \log \gamma_t = -e^{r} \operatorname{softplus}(x_t W_\gamma + b_\gamma), \qquad
        y_t = \bigl(\operatorname{norm}(z_t) \odot \operatorname{SiLU}(x_t W_{gate})\bigr) W_o

    :math:`z_t` is what :func:`linear_attention` reads with queries and keys of length one, in each head
    :cite:p:`yang2025`. In Qwen3-Next, queries, keys and values also pass a short convolution, which is left
    out here. Each head has a state, and ``chunk_size`` tokens are computed at once.

    Example:
        >>> GatedDeltaNet(24, 12, num_heads=3, head_dim=8)(torch.ones(2, 5, 24)).shape
        torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        num_heads: int,
        *,
        head_dim: int,
        chunk_size: int = 64,
        eps: float = 1e-6,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.chunk_size = chunk_size
        width = num_heads * head_dim
        self.W_query = nn.Linear(d_in, width, bias=False)
        self.W_key = nn.Linear(d_in, width, bias=False)
        self.W_value = nn.Linear(d_in, width, bias=False)
        self.W_beta = nn.Linear(d_in, num_heads, bias=False)
        self.W_decay = nn.Linear(d_in, num_heads)
        # Some heads forget half within a token, some keep it for a hundred.
        self.log_rate = nn.Parameter(torch.linspace(-5, 0, num_heads))
        self.W_gate = nn.Linear(d_in, width, bias=False)
        self.norm = RMSNorm(head_dim, eps)
        self.out_proj = nn.Linear(width, d_out, bias=False)

    def extra_repr(self) -> str:
        """Name what the shapes do not tell when the module is printed."""
        return f"num_heads={self.num_heads}, chunk_size={self.chunk_size}"

    def forward(
        self, x: Float[Tensor, "*batch num_tokens d_in"], *, cache: Any | None = None
    ) -> Float[Tensor, "*batch num_tokens d_out"]:
        """Let every token write into the state of each head, and read from it.

        The states that the tokens before these have left are in the cache, a :class:`StateCache`.
        """
        require_cache("linear attention", cache, "StateCache", has="state")
        query, key, value, gate = (
            split_heads(layer(x), self.num_heads)
            for layer in (self.W_query, self.W_key, self.W_value, self.W_gate)
        )
        context, state = linear_attention(
            normalize(query, dim=-1),
            normalize(key, dim=-1),
            value,
            log_decay=(-self.log_rate.exp() * softplus(self.W_decay(x))).mT,
            beta=self.W_beta(x).sigmoid().mT,
            state=None if cache is None else cache.state,
            chunk_size=self.chunk_size if x.shape[-2] > 1 else None,
        )
        if cache is not None:
            cache.state = state
            cache.num_tokens += x.shape[-2]
        return self.out_proj(merge_heads(self.norm(context) * silu(gate)))


def require_fitting(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    log_decay: Tensor | None,
    beta: Tensor | None,
    state: Tensor | None,
) -> None:
    """Refuse other lengths, gates for each channel, a decay above one, and a state of other texts."""
    if query.shape != key.shape or value.shape[:-1] != key.shape[:-1]:
        raise ValueError(
            f"queries, keys and values must be of as many tokens, and queries as wide as keys, "
            f"got {tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}"
        )
    for name, gate in (("log_decay", log_decay), ("beta", beta)):
        if gate is not None and gate.shape != key.shape[:-1]:
            raise ValueError(
                f"{name} must be one number for each token and head, of shape {tuple(key.shape[:-1])}, "
                f"got {tuple(gate.shape)}"
            )
    highest = 0.0 if log_decay is None else seen_range(log_decay)[1]
    if highest > 0:
        raise ValueError(
            f"log_decay is the logarithm of a number from 0 to 1, so at most 0, "
            f"got {highest:g}; is it that number itself, or a beta?"
        )
    expected = (*key.shape[:-2], key.shape[-1], value.shape[-1])
    if state is not None and state.shape != expected:
        raise ValueError(
            f"the state must be of shape (*batch, key_dim, value_dim) = {expected}, "
            f"got {tuple(state.shape)}; begin each batch of texts without a state"
        )
