"""Devices, seeds, and the two streams of random numbers that dropout masks come from.

Both streams are computed here once more, from the words of the Mersenne Twister and in plain Python.
NumPy's `RandomState` starts the twister as torch's CPU generator does.
"""

import random
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from harness.library.refusals import refusals
from torch import nn
from torch.testing import assert_close

import literate_attention as la

# What torch 2.9 says of every way to set the precision of products, its own new one among them
pytestmark = pytest.mark.filterwarnings("ignore:Please use the new API:UserWarning")

STREAMS = ["torch", "mkl"]
RATES = [0.1, 0.2, 0.5, 0.9]
SHAPES = [(6, 6), (3, 5, 7), (1,), (2001,)]

each_stream = pytest.mark.parametrize("stream", STREAMS)


@pytest.fixture
def machine(monkeypatch):
    """Return a function that makes torch report the accelerators of another machine."""
    monkeypatch.delenv("LITERATE_DEVICE", raising=False)

    def pretend(cuda=0, mps=False) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    return pretend


@pytest.mark.parametrize(("cuda", "mps"), [(0, False), (0, True), (1, False), (1, True)])
def test_picks_the_best_device_present(machine, cuda, mps) -> None:
    machine(cuda, mps)
    assert la.pick_device().type == ("cuda" if cuda else "mps" if mps else "cpu")


def test_an_argument_wins_over_the_environment_and_both_over_the_best(machine, monkeypatch) -> None:
    machine(cuda=2, mps=True)
    monkeypatch.setenv("LITERATE_DEVICE", "mps")
    assert la.pick_device() == torch.device("mps")
    assert la.pick_device("cpu") == torch.device("cpu")
    assert la.pick_device("cuda:1") == torch.device("cuda:1")
    monkeypatch.setenv("LITERATE_DEVICE", "")
    assert la.pick_device() == torch.device("cuda")


@pytest.mark.parametrize("name", ["cuda", "mps", "xpu", "cuda:2", "gpu"])
def test_refuses_a_device_that_is_not_there(machine, monkeypatch, name) -> None:
    machine(cuda=2 if name == "cuda:2" else 0)
    with pytest.raises(ValueError, match=f"'{name}'"):
        la.pick_device(name)
    monkeypatch.setenv("LITERATE_DEVICE", name)
    with pytest.raises(ValueError, match=f"'{name}'"):
        la.pick_device()


def draw_from_everything():
    return random.random(), float(np.random.rand()), float(torch.rand(()))


@pytest.mark.parametrize("seed", [0, 123, 2**32 - 1])
def test_a_seed_repeats_every_generator(seed) -> None:
    la.seed_everything(seed)
    first, second = draw_from_everything(), draw_from_everything()
    la.seed_everything(seed)
    assert draw_from_everything() == first
    assert not set(first) & set(second)
    la.seed_everything(seed ^ 1)
    assert not set(first) & set(draw_from_everything())


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_not_all_generators_take_changes_none(seed) -> None:
    before = torch.get_rng_state(), random.getstate()
    with pytest.raises(ValueError, match="between 0 and"):
        la.seed_everything(seed)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]


# The two streams


def twister(seed):
    """Yield the 32-bit words of the Mersenne Twister."""
    words = np.random.RandomState(seed)
    while True:
        yield int.from_bytes(words.bytes(4), "little")


def torch_stream(words, count, p):
    """Keep where the low 53 of 64 random bits, as a fraction, are below 1 - p."""
    kept = []
    for _ in range(count):
        high, low = next(words), next(words)
        kept.append(((high << 32 | low) & (2**53 - 1)) / 2**53 < 1 - p)
    return kept


def mkl_stream(words, count, p):
    """Keep where the state of MCG31m1, as a fraction, is below 1 - p; one word starts it."""
    kept, state = [], next(words) % (2**31 - 1)
    for _ in range(count):
        kept.append(state / (2**31 - 1) < 1 - p)
        state = state * 1132489760 % (2**31 - 1)
    return kept


PLAIN = {"torch": torch_stream, "mkl": mkl_stream}


@each_stream
@pytest.mark.parametrize("p", [0.0, *RATES])
@pytest.mark.parametrize("seed", [0, 123, 2**32 - 1])
def test_masks_follow_the_definition_one_after_the_other(stream, p, seed) -> None:
    """Three masks in a row: the generator is left just where the next one has to start."""
    words = twister(seed)
    torch.manual_seed(seed)
    for shape in SHAPES:
        mask = la.dropout_mask(*shape, p=p, stream=stream)
        expected = PLAIN[stream](words, mask.numel(), p)
        assert mask.shape == shape
        assert mask.flatten().tolist() == expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_exactly_one_stream_is_this_processors_own(dtype) -> None:
    """Bit for bit, and the generator afterwards too, for every rate and shape; the other never.

    The module stands in the place of torch's, and has its defaults.
    """
    module = la.ReproducibleDropout()
    assert (isinstance(module, nn.Dropout), module.p, module.stream) == (True, 0.5, "torch")

    def outcome(dropout, shape):
        torch.manual_seed(7)
        x = torch.rand(shape, generator=torch.Generator().manual_seed(1)).to(dtype)
        return [dropout(x), dropout(x), torch.get_rng_state()]

    def is_native(stream, p, shape):
        ours = outcome(la.ReproducibleDropout(p, stream), shape)
        return all(map(torch.equal, ours, outcome(nn.Dropout(p), shape)))

    cases = [(p, shape) for p in RATES for shape in SHAPES]
    matches = {stream: sum(is_native(stream, *case) for case in cases) for stream in STREAMS}
    assert sorted(matches.values()) == [0, len(cases)], matches


@each_stream
def test_nothing_is_drawn_where_nothing_can_be_dropped(stream) -> None:
    x = torch.rand(6, 6)
    before = torch.get_rng_state()
    assert torch.equal(la.ReproducibleDropout(0.0, stream)(x), x)
    assert la.ReproducibleDropout(0.5, stream)(x[:0]).shape == (0, 6)
    assert torch.equal(la.ReproducibleDropout(0.5, stream).eval()(x), x)
    assert torch.equal(torch.get_rng_state(), before)


@each_stream
def test_a_mask_is_drawn_on_the_cpu_whatever_the_device(stream) -> None:
    torch.manual_seed(123)
    expected, after = la.dropout_mask(6, 6, p=0.5, stream=stream), torch.get_rng_state()
    for device in ("meta", torch.device("meta")):
        torch.manual_seed(123)
        assert la.dropout_mask(6, 6, p=0.5, stream=stream, device=device).is_meta
        assert torch.equal(torch.get_rng_state(), after)
    with torch.device("meta"):
        torch.manual_seed(123)
        assert la.dropout_mask(6, 6, p=0.5, stream=stream).is_meta
        torch.manual_seed(123)
        mask = la.dropout_mask(6, 6, p=0.5, stream=stream, device="cpu")
        torch.manual_seed(123)
        kept = la.ReproducibleDropout(0.5, stream)(expected.float())
    assert torch.equal(mask, expected)
    assert torch.equal(kept, expected * 2.0)
    assert la.ReproducibleDropout(0.5, stream)(expected.float().to("meta")).is_meta


test_refuses = refusals(
    ("p must lie in [0, 1), got -0.1", lambda: la.dropout_mask(6, p=-0.1, stream="mkl")),
    ("p must lie in [0, 1), got 1.0", lambda: la.ReproducibleDropout(1.0, "torch")),
    ("must be one of ('torch', 'mkl'), got 'intel'", lambda: la.ReproducibleDropout(0.5, "intel")),
    ("got 'intel'", lambda: la.dropout_mask(6, p=0, stream="intel")),
)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_each_number_moves_to_a_neighbour_or_stays_and_always_in_the_same_way(dtype) -> None:
    x = torch.randn(101, 103, dtype=dtype)
    moved = la.round_otherwise(x, seed=1)
    up, down = (torch.nextafter(x, torch.full_like(x, end)) for end in (torch.inf, -torch.inf))
    shares = [(moved == one).double().mean().item() for one in (up, x, down)]
    assert shares == pytest.approx([0.25, 0.5, 0.25], abs=0.03)
    assert sum(shares) == pytest.approx(1.0)
    assert torch.equal(la.round_otherwise(x.T[:, 5:], seed=1), moved.T[:, 5:])
    agree = (la.round_otherwise(x, seed=2) == moved).double().mean().item()
    assert agree == pytest.approx(0.375, abs=0.03)


def test_what_is_exact_stays_and_gradients_pass() -> None:
    exact = torch.tensor([0.0, -0.0, torch.inf, -torch.inf])
    assert torch.equal(la.round_otherwise(exact, seed=3), exact)
    assert la.round_otherwise(torch.tensor([torch.nan]), seed=3).isnan().all()
    whole = torch.arange(5)
    assert la.round_otherwise(whole, seed=3) is whole
    x = torch.randn(7, requires_grad=True)
    la.round_otherwise(x, seed=3).square().sum().backward()
    assert_close(x.grad, 2 * x.detach())


def test_noise_reaches_modules_and_steps_and_ends() -> None:
    def train(noisy):
        torch.manual_seed(123)
        layer = nn.Linear(37, 41)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
        with la.rounding_noise(1) if noisy else nullcontext():
            output = layer(torch.ones(37))
            optimizer.step(lambda: None)
        return [output.detach(), layer.weight.detach()]

    plain, noisy, once_more, after = train(False), train(True), train(True), train(False)
    for one, other, again, last in zip(plain, noisy, once_more, after, strict=True):
        assert not torch.equal(one, other)
        assert_close(one, other)
        assert torch.equal(other, again)
        assert torch.equal(one, last)
    with la.rounding_noise(1):
        kept = nn.Embedding(5, 3)
        assert torch.equal(kept(torch.arange(5)), kept.weight)
