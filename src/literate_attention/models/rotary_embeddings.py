"""Rotary position embeddings: a token's place is an angle, and only differences of angles matter."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from literate_attention._argument_checks import require_context

__all__ = [
    "PartialRotaryEmbedding",
    "RotaryEmbedding",
    "interleaved_to_half_split",
    "rotary_frequencies",
    "rotate_half_split",
    "rotate_interleaved",
    "scale_linear",
    "scale_llama3",
    "scale_yarn",
    "yarn_attention_factor",
]


def rotary_frequencies(
    head_dim: int, base: float = 10_000.0, dtype: torch.dtype = torch.float32
) -> Float[Tensor, " pairs"]:
    r"""Say how far each pair of numbers turns from one token to the next, in radians.

    .. math:: \theta_i = b^{-2i/d}, \qquad i = 0, 1, \dots, d/2 - 1

    The first pair turns fast and tells neighbours apart; the last turns so slowly that it still differs
    after thousands of tokens :cite:p:`su2021`.

    Args:
        head_dim: how wide a query or key is, :math:`d`; it is even, since two numbers make a pair.
        base: :math:`b`. The larger, the slower the last pairs turn.
        dtype: of the angles; most models are trained with float32.

    Example:
        >>> rotary_frequencies(head_dim=8, base=16.0)
        tensor([1.0000, 0.5000, 0.2500, 0.1250])
    """
    if head_dim % 2:
        raise ValueError(
            f"head_dim must be even, since RoPE turns pairs of numbers, got {head_dim}"
        )
    return 1.0 / base ** (torch.arange(0, head_dim, 2, dtype=dtype) / head_dim)


def rotate_half_split(
    x: Float[Tensor, "*batch num_tokens head_dim"],
    cos: Float[Tensor, "num_tokens pairs"],
    sin: Float[Tensor, "num_tokens pairs"],
) -> Float[Tensor, "*batch num_tokens head_dim"]:
    r"""Turn each pair of numbers by its angle; number i of the first half is paired with i of the second.

    .. math::
        \begin{pmatrix} x_i \\ x_{i + d/2} \end{pmatrix} \to
        \begin{pmatrix} \cos\phi_i & -\sin\phi_i \\ \sin\phi_i & \cos\phi_i \end{pmatrix}
        \begin{pmatrix} x_i \\ x_{i + d/2} \end{pmatrix}

    That is the pairing of Llama in transformers, and of this book. The other one is
    :func:`rotate_interleaved`.

    Args:
        x: queries or keys.
        cos: the cosine of each token's angle, for each pair.
        sin: the sine of it.

    Raises:
        ValueError: `x` is not twice as wide as there are pairs.

    Example:
        A quarter of a turn takes (1, 2) to (-2, 1), (3, 4) to (-4, 3), and so on.

        >>> x = torch.tensor([1.0, 3.0, 5.0, 7.0, 2.0, 4.0, 6.0, 8.0]).expand(5, 8)
        >>> rotate_half_split(x, cos=torch.zeros(5, 4), sin=torch.ones(5, 4))[0]
        tensor([-2., -4., -6., -8.,  1.,  3.,  5.,  7.])
    """
    require_pairs(x, cos)
    first, second = x.chunk(2, dim=-1)
    turned = torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)
    return turned.to(x.dtype)


def rotate_interleaved(
    x: Float[Tensor, "*batch num_tokens head_dim"],
    cos: Float[Tensor, "num_tokens pairs"],
    sin: Float[Tensor, "num_tokens pairs"],
) -> Float[Tensor, "*batch num_tokens head_dim"]:
    r"""Turn each pair of numbers by its angle; neighbours are pairs.

    .. math::
        \begin{pmatrix} x_{2i} \\ x_{2i + 1} \end{pmatrix} \to
        \begin{pmatrix} \cos\phi_i & -\sin\phi_i \\ \sin\phi_i & \cos\phi_i \end{pmatrix}
        \begin{pmatrix} x_{2i} \\ x_{2i + 1} \end{pmatrix}

    That is the pairing of the paper :cite:p:`su2021`, of Meta's Llama and of GGUF files. The same numbers in
    another order are what :func:`rotate_half_split` turns, which takes the same arguments: see
    :func:`interleaved_to_half_split`.

    Example:
        A quarter of a turn takes (1, 2) to (-2, 1), (3, 4) to (-4, 3), and so on.

        >>> x = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]).expand(5, 8)
        >>> rotate_interleaved(x, cos=torch.zeros(5, 4), sin=torch.ones(5, 4))[0]
        tensor([-2.,  1., -4.,  3., -6.,  5., -8.,  7.])
    """
    require_pairs(x, cos)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
    return turned.flatten(-2).to(x.dtype)


def interleaved_to_half_split(
    weight: Float[Tensor, "rows *columns"], num_heads: int
) -> Float[Tensor, "rows *columns"]:
    r"""Reorder the rows of a projection's weight or bias, so that the other pairing turns the same pairs.

    .. math:: (0, 1, 2, 3, \dots, d - 1) \to (0, 2, 4, \dots, d - 2, \; 1, 3, 5, \dots, d - 1)

    within each head. Queries and keys are reordered alike, so that no score changes. A checkpoint for one
    pairing runs with the other without any error, and with wrong scores: this is what it needs.

    Example:
        Of two heads, the first has the rows 0 to 3, and the second the rows 4 to 7.

        >>> weight = torch.arange(8.0).unsqueeze(-1).expand(8, 12)
        >>> interleaved_to_half_split(weight, num_heads=2)[:, 0]
        tensor([0., 2., 1., 3., 4., 6., 5., 7.])
    """
    return weight.unflatten(0, (num_heads, -1, 2)).transpose(1, 2).flatten(0, 2)


def scale_linear(frequencies: Float[Tensor, " pairs"], factor: float) -> Float[Tensor, " pairs"]:
    r"""Slow all pairs down alike, so that a longer text takes no larger angles.

    .. math:: \theta'_i = \theta_i / s

    where the text may be :math:`s` times as long: ``factor``. Known as position interpolation
    :cite:p:`chen2023`.

    Example:
        >>> scale_linear(rotary_frequencies(head_dim=8, base=16.0), factor=2.0)
        tensor([0.5000, 0.2500, 0.1250, 0.0625])
    """
    return frequencies / factor


def scale_llama3(
    frequencies: Float[Tensor, " pairs"], factor: float, original_context: int
) -> Float[Tensor, " pairs"]:
    r"""Slow down the pairs that make few turns, as the code of Llama 3.1 does.

    .. math:: \theta'_i = \gamma_i \theta_i + (1 - \gamma_i) \frac{\theta_i}{s}, \qquad
              \gamma_i = \operatorname{clip}\!\left(\frac{r_i - 1}{4 - 1}, 0, 1\right), \qquad
              r_i = \frac{L \, \theta_i}{2 \pi}

    :math:`r_i` counts the turns of a pair in a text as long as those it was trained on. Pairs with many
    turns tell neighbours apart and stay as they are, an idea of YaRN :cite:p:`peng2023`. The bounds 1 and 4
    are known as ``low_freq_factor`` and ``high_freq_factor`` in transformers.

    Args:
        frequencies: from :func:`rotary_frequencies`.
        factor: how many times slower a slow pair becomes, :math:`s`.
        original_context: how many tokens the texts of the first training had, :math:`L`.

    Example:
        The first pair is left alone, the last two are slowed down to a quarter.

        >>> frequencies = rotary_frequencies(head_dim=8)
        >>> scale_llama3(frequencies, factor=4.0, original_context=100) / frequencies
        tensor([1.0000, 0.3979, 0.2500, 0.2500])
    """
    rotations = original_context * frequencies / (2 * math.pi)
    kept = ((rotations - 1) / (4 - 1)).clamp(0, 1)
    return kept * frequencies + (1 - kept) * frequencies / factor


def scale_yarn(
    frequencies: Float[Tensor, " pairs"],
    factor: float,
    original_context: int,
    base: float = 10_000.0,
) -> Float[Tensor, " pairs"]:
    r"""Slow down the pairs with few turns, with a ramp over the pairs themselves, as the code of YaRN does.

    .. math:: \theta'_i = \gamma_i \theta_i + (1 - \gamma_i) \frac{\theta_i}{s}, \qquad
              \gamma_i = 1 - \operatorname{clip}\!\left(\frac{i - i_{32}}{i_1 - i_{32}}, 0, 1\right),
              \qquad i_r = \frac{d}{2} \log_b \frac{L}{2 \pi r}

    :math:`i_r` is the pair that makes :math:`r` turns in :math:`L` tokens, rounded outwards. YaRN also
    sharpens the scores: :func:`yarn_attention_factor` :cite:p:`peng2023`. The arguments are those of
    :func:`scale_llama3`, and the base :math:`b` of the frequencies; 1 and 32 turns are known as ``beta_slow``
    and ``beta_fast``.

    Example:
        The first pair is left alone, the last two are slowed down to a quarter.

        >>> frequencies = rotary_frequencies(head_dim=8)
        >>> scale_yarn(frequencies, factor=4.0, original_context=100) / frequencies
        tensor([1.0000, 0.6250, 0.2500, 0.2500])
    """

    def pair_that_makes(rotations: int) -> float:
        return len(frequencies) * math.log(original_context / (2 * math.pi * rotations), base)

    # The bounds are those of the authors' program, although there are only
    # half as many pairs.
    first = max(math.floor(pair_that_makes(32)), 0)
    last = min(math.ceil(pair_that_makes(1)), 2 * len(frequencies) - 1)
    pair = torch.arange(len(frequencies), device=frequencies.device)
    kept = 1 - ((pair - first) / max(last - first, 0.001)).clamp(0, 1)
    return kept * frequencies + (1 - kept) * frequencies / factor


def yarn_attention_factor(factor: float) -> float:
    r"""Say by how much YaRN lengthens queries and keys, so that a text s times as long blurs no weights.

    .. math:: m = 0.1 \ln s + 1

    Example:
        >>> yarn_attention_factor(1.0)
        1.0
    """
    return 0.1 * math.log(max(factor, 1.0)) + 1.0


class RotaryEmbedding(nn.Module):
    r"""Turn queries and keys by angles that grow with their position.

    .. math:: \phi_{p,i} = p \, \theta_i, \qquad
              \langle R_p q, R_{p'} k \rangle = \langle q, R_{p' - p} k \rangle

    The second equation is the point: two rotations of a scalar product leave only their difference, so a
    score depends on how far two tokens are apart and not on where they stand :cite:p:`su2021`.

    Args:
        head_dim: how wide a query or key is.
        context_length: how many positions there are.
        base: of the frequencies: see :func:`rotary_frequencies`.
        scale: slows the frequencies down for longer texts, such as :func:`scale_llama3` with its settings.
        attention_factor: what cosines and sines are multiplied by: see :func:`yarn_attention_factor`.
        dtype: of the tables of cosines and sines.

    Example:
        The first pair, of the numbers 0 and 4, turns by one radian from each token to the next.

        >>> rope = RotaryEmbedding(head_dim=8, context_length=32)
        >>> x = torch.tensor([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).expand(5, 8)
        >>> rope(x)[:3, [0, 4]]
        tensor([[ 1.0000,  0.0000],
                [ 0.5403,  0.8415],
                [-0.4161,  0.9093]])
    """

    cos: Tensor
    sin: Tensor

    def __init__(
        self,
        head_dim: int,
        context_length: int,
        base: float = 10_000.0,
        *,
        scale: Callable[[Float[Tensor, " pairs"]], Float[Tensor, " pairs"]] | None = None,
        attention_factor: float = 1.0,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        with torch.device("cpu"):  # where numbers are kept, even of a model without memory
            frequencies = rotary_frequencies(head_dim, base, dtype)
            if scale is not None:
                frequencies = scale(frequencies)
            angles = torch.outer(torch.arange(context_length, dtype=dtype), frequencies)
            cos, sin = attention_factor * angles.cos(), attention_factor * angles.sin()
        self.tables, device = (cos, sin), torch.get_default_device()
        self.register_buffer("cos", cos.to(device), persistent=False)
        self.register_buffer("sin", sin.to(device), persistent=False)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "RotaryEmbedding":
        """Move the tables; `to_empty` leaves their numbers behind, and no checkpoint brings them back."""
        super()._apply(fn, recurse)
        self.cos, self.sin = (table.to(self.cos) for table in self.tables)
        return self

    def extra_repr(self) -> str:
        """Name the sizes of the tables when the module is printed."""
        return f"head_dim={2 * self.cos.shape[-1]}, context_length={len(self.cos)}"

    def forward(
        self, x: Float[Tensor, "*batch num_tokens head_dim"], start: int = 0
    ) -> Float[Tensor, "*batch num_tokens head_dim"]:
        """Turn each query or key by its position.

        Args:
            x: queries or keys of neighbouring tokens.
            start: the position of the first of them.
        """
        stop = start + x.shape[-2]
        if start < 0:  # Python would count from the end
            raise ValueError(f"start must be at least 0, got {start}")
        require_context(stop, len(self.cos))
        if self.cos.is_meta and not x.is_meta:  # load_state_dict(assign=True) brings no tables
            self.to_empty(device=x.device)
        return rotate_half_split(x, self.cos[start:stop], self.sin[start:stop])


class PartialRotaryEmbedding(RotaryEmbedding):
    r"""Turn only the first numbers of each query and key, and leave the others without a position.

    .. math:: x \to (R_p \, x_{1 \dots r}, \; x_{r + 1 \dots d})

    The arguments are those of :class:`RotaryEmbedding`: ``head_dim`` is how many numbers are turned,
    :math:`r`. Elsewhere the share :math:`r / d` is known as ``partial_rotary_factor``.

    Example:
        >>> rope = PartialRotaryEmbedding(head_dim=2, context_length=32)
        >>> rope(torch.tensor([1.0, 0.0, 5.0, 6.0]).expand(3, 4))
        tensor([[ 1.0000,  0.0000,  5.0000,  6.0000],
                [ 0.5403,  0.8415,  5.0000,  6.0000],
                [-0.4161,  0.9093,  5.0000,  6.0000]])
    """

    def forward(
        self, x: Float[Tensor, "*batch num_tokens head_dim"], start: int = 0
    ) -> Float[Tensor, "*batch num_tokens head_dim"]:
        """Turn the first numbers of each query or key by its position."""
        turned, left = x.tensor_split([2 * self.cos.shape[-1]], dim=-1)
        return torch.cat([super().forward(turned, start), left], dim=-1)


def require_pairs(x: Tensor, cos: Tensor) -> None:
    """Refuse another width than that of the angles: a single pair would be turned by all of them."""
    if x.shape[-1] != 2 * cos.shape[-1]:
        raise ValueError(
            f"the last dimension of x must be twice the number of angles = {2 * cos.shape[-1]}, "
            f"got shape {tuple(x.shape)}"
        )
