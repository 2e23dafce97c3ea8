r"""Seeds, devices, and dropout masks that are the same everywhere.

Random numbers are drawn on the CPU, where a seed means the same on every machine, and then moved. One
thing is still different from CPU to CPU: dropout. Builds of torch with Intel's MKL draw the mask from
MKL's generator on Intel processors and from torch's own on all others. Both streams are written out
here, so that a mask that was printed on either kind of machine can be drawn on any.
"""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook
from torch.optim.optimizer import register_optimizer_step_post_hook

__all__ = [
    "ReproducibleDropout",
    "dropout_mask",
    "pick_device",
    "round_otherwise",
    "rounding_noise",
    "seed_everything",
]

DropoutStream = Literal["torch", "mkl"]

_MCG31_MULTIPLIER = 1132489760
_MCG31_MODULUS = 2**31 - 1
_MIXER = 0x2545F4914F6CDD1D
_SAME_WIDTH = {torch.float32: torch.int32, torch.float64: torch.int64}
_COMPUTES_NOTHING = (nn.Dropout, nn.Embedding, nn.Identity, nn.ModuleList)


def pick_device(name: str | None = None) -> torch.device:
    """Pick the device to compute on: the one asked for, else the best one present.

    Args:
        name: a device as torch names it (``"cpu"``, ``"cuda"``, ``"cuda:1"``, ``"mps"``). Without it,
            the environment variable ``LITERATE_DEVICE`` decides; without that, ``cuda`` where there is
            one, else ``mps``, else ``cpu``.

    Raises:
        ValueError: the device is not one that torch knows, or it is not on this machine.

    Example:
        >>> pick_device("cpu")
        device(type='cpu')
    """
    wanted = name or os.environ.get("LITERATE_DEVICE") or _best_device()
    try:
        device = torch.device(wanted)
    except RuntimeError:
        raise ValueError(
            f"device must be one that torch knows, such as 'cpu', 'cuda' or 'mps', got {wanted!r}"
        ) from None
    if not _is_present(device):
        raise ValueError(
            f"device {wanted!r} is not on this machine; use 'cpu', or unset LITERATE_DEVICE"
        )
    return device


def _best_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _is_present(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count()
    if device.type == "mps":
        return torch.backends.mps.is_available()
    return device.type in {"cpu", "meta"}


def seed_everything(seed: int) -> None:
    """Start every random generator that the book uses from the same number, from 0 to 2**32 - 1.

    Seeds Python's ``random``, NumPy's global generator and torch's, on the CPU and on every accelerator.
    Nothing else is changed.

    Example:
        >>> seed_everything(123)
        >>> first = torch.rand(2)
        >>> seed_everything(123)
        >>> torch.equal(first, torch.rand(2))
        True
    """
    np.random.seed(seed)  # it refuses a seed that it cannot take
    random.seed(seed)
    torch.manual_seed(seed)


def round_otherwise(x: Shaped[Tensor, "*shape"], seed: int) -> Shaped[Tensor, "*shape"]:
    r"""Round numbers as another machine might: up or down by one unit in the last place, or not at all.

    .. math:: x_i \mapsto x_i + d_i \, \text{ulp}(x_i), \qquad d_i \in \{-1, 0, 1\}

    The digits of :math:`x_i` and the seed decide :math:`d_i`, so a number is always rounded in the same way,
    as on any one machine. Zeros, what is not finite and other types than float32 and float64 stay, and
    gradients pass through. This is Monte Carlo arithmetic :cite:p:`parker1997`.

    Example:
        >>> thirds = torch.arange(1.0, 7.0, dtype=torch.float64) / 3
        >>> ((round_otherwise(thirds, seed=1) - thirds).abs() <= 4.5e-16).all()
        tensor(True)
    """
    if x.dtype not in _SAME_WIDTH:
        return x
    exact = x.detach()
    bits = exact.contiguous().view(_SAME_WIDTH[x.dtype]).long()
    mixed = bits ^ (seed * _MIXER % 2**62)
    for _ in range(2):
        mixed = (mixed ^ (mixed >> 29)) * _MIXER
    choice = (mixed >> 40) % 4
    towards = torch.where(choice == 0, -torch.inf, torch.inf).to(x.dtype)
    moved = torch.nextafter(exact, towards)
    has_neighbours = (exact != 0) & exact.isfinite() & moved.isfinite()
    return x + torch.where(has_neighbours & (choice < 2), moved - exact, 0)


@contextmanager
def rounding_noise(seed: int) -> Iterator[None]:
    """Let modules and optimizers round as another machine might, as long as a ``with`` lasts.

    What a module computes, and all parameters after each step of an optimizer, pass through
    :func:`round_otherwise`. A digit that this changes is a digit that the machine computed, not the program.

    Example:
        >>> layer, x = nn.Linear(64, 64), torch.ones(64)
        >>> before = layer(x)
        >>> with rounding_noise(seed=1):
        ...     there = layer(x)
        >>> torch.equal(there, before), torch.allclose(there, before)
        (False, True)
    """

    def after_module(module: nn.Module, args: Any, output: Any) -> Any:
        if isinstance(module, _COMPUTES_NOTHING):
            return output
        if type(output) is tuple:
            return tuple(after_module(module, args, one) for one in output)
        return round_otherwise(output, seed) if isinstance(output, Tensor) else output

    def after_step(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        with torch.no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    parameter.copy_(round_otherwise(parameter, seed))

    hooks = [
        register_module_forward_hook(after_module),
        register_optimizer_step_post_hook(after_step),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def dropout_mask(
    *shape: int, p: float, stream: DropoutStream = "torch", device: torch.device | str | None = None
) -> Bool[Tensor, "..."]:
    r"""Draw which elements dropout keeps (True), from the stream of your choice, on any machine.

    Both streams start from torch's CPU generator, so :func:`torch.manual_seed` decides what is drawn. The
    finished mask is put on the ``device``.

    ``"torch"`` is torch's own: element :math:`i` is kept where a uniform float64
    :math:`u_i < 1 - p`. It is what ``nn.Dropout`` draws on a CPU that Intel did not make.

    ``"mkl"`` is what ``nn.Dropout`` draws on an Intel CPU: MKL's multiplicative congruential generator
    MCG31m1. From a first state :math:`x_0` (the next 32 bits of torch's generator),

    .. math:: x_{i+1} = 1132489760 \, x_i \bmod (2^{31} - 1),
              \qquad \text{kept}_i = \frac{x_i}{2^{31} - 1} < 1 - p.

    Raises:
        ValueError: ``p`` is outside [0, 1), or the stream is unknown.

    Example:
        >>> _ = torch.manual_seed(123)
        >>> dropout_mask(2, 6, p=0.5, stream="mkl").int()
        tensor([[1, 1, 1, 1, 1, 1],
                [0, 1, 0, 0, 0, 0]], dtype=torch.int32)
        >>> _ = torch.manual_seed(123)
        >>> dropout_mask(2, 6, p=0.5, stream="torch").int()
        tensor([[1, 1, 0, 1, 1, 0],
                [0, 0, 0, 1, 0, 1]], dtype=torch.int32)
    """
    require_stream(p, stream)
    if stream == "torch":
        uniform = torch.rand(shape, dtype=torch.float64, device="cpu")
    else:
        uniform = _mcg31_uniform(torch.Size(shape).numel()).reshape(shape)
    return (uniform < 1 - p).to(device or torch.empty(0).device)


def _mcg31_uniform(count: int) -> Float[Tensor, "{count}"]:
    state = _spend_one_word() % _MCG31_MODULUS or 1
    uniform = np.empty(count)
    for i in range(count):
        uniform[i] = state / _MCG31_MODULUS
        state = state * _MCG31_MULTIPLIER % _MCG31_MODULUS
    return torch.from_numpy(uniform)


def _spend_one_word() -> int:
    """Take the next 32 bits of torch's CPU generator, and leave it one word further."""
    before = torch.get_rng_state()
    two_words = torch.empty((), dtype=torch.int64, device="cpu").random_(-(2**63), None)
    torch.set_rng_state(before)
    torch.empty((), dtype=torch.int32, device="cpu").random_()
    return int(two_words) >> 32 & 0xFFFFFFFF


class ReproducibleDropout(nn.Dropout):
    r"""``nn.Dropout``, with the same mask for the same seed on every device and every CPU.

    .. math:: \text{drop}(x)_i = \frac{m_i}{1 - p} \, x_i, \qquad m_i \in \{0, 1\},\; P(m_i = 0) = p

    The streams are those of :func:`dropout_mask`. An attention class uses it once it is put in the place of
    the class's own: ``attention.dropout = ReproducibleDropout(0.5, stream="mkl")``.

    Example:
        >>> _ = torch.manual_seed(123)
        >>> ReproducibleDropout(0.5, stream="mkl")(torch.ones(2, 6))
        tensor([[2., 2., 2., 2., 2., 2.],
                [0., 2., 0., 0., 0., 0.]])
    """

    def __init__(self, p: float = 0.5, stream: DropoutStream = "torch") -> None:
        require_stream(p, stream)
        super().__init__(p)
        self.stream = stream

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Drop elements of `x` while training, and scale up the rest; else return `x`."""
        if not self.training or self.p == 0.0 or x.numel() == 0:  # as torch does: nothing is drawn
            return x
        kept = dropout_mask(*x.shape, p=self.p, stream=self.stream, device=x.device)
        return x * kept.to(x.dtype).div(1 - self.p)

    def extra_repr(self) -> str:
        """Name the rate and the stream when the module is printed."""
        return f"p={self.p}, stream={self.stream!r}"


def require_stream(p: float, stream: str) -> None:
    """Refuse a rate that leaves nothing, and a stream that nobody draws from."""
    if not 0.0 <= p < 1.0:
        raise ValueError(f"p must lie in [0, 1), got {p}")
    if stream not in get_args(DropoutStream):
        raise ValueError(f"stream must be one of {get_args(DropoutStream)}, got {stream!r}")
