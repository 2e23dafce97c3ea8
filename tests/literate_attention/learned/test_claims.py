"""Intervals that are as wide as they should be, ten draws that differ, and controls from the same layers."""

from collections import Counter

import pytest
import torch
from harness.library.refusals import refusals

import literate_attention as la


def test_an_interval_is_as_wide_as_the_formula_for_means() -> None:
    values = torch.randn(200, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    low, high = la.bootstrap_interval(values)
    error = values.std(correction=0).item() / 200**0.5
    assert low == pytest.approx(values.mean().item() - 1.96 * error, abs=0.15 * error)
    assert high == pytest.approx(values.mean().item() + 1.96 * error, abs=0.15 * error)


ESTIMATES = {
    name: la.Estimate(torch.tensor([mean, mean]), mean, mean - 0.1, mean + 0.1)
    for name, mean in {"all": 0.9, "damaged": 0.25, "elsewhere": 0.8}.items()
}


def stated(controls, kind="control"):
    words = {"held_out": "other texts", "against": "it did not", "kind": kind}
    return la.state_claim("It matters", ESTIMATES, controls=controls, **words)


def test_a_control_is_named_as_what_it_is() -> None:
    assert "\n  positive control, elsewhere: 0.80" in stated(["elsewhere"], "positive control")


def test_each_draw_has_its_own_numbers_and_the_same_seed_the_same() -> None:
    def measure(generator):
        effect, control = torch.rand(2, generator=generator, dtype=torch.float64).tolist()
        return {"effect": effect, "control": control}

    found = la.measure_claim(measure, num_draws=12)
    assert list(found) == ["effect", "control"]
    for name, estimate in found.items():
        assert len(set(estimate.values.tolist())) == 12
        assert estimate.mean == pytest.approx(sum(estimate.values.tolist()) / 12)
        assert (estimate.low, estimate.high) == la.bootstrap_interval(estimate.values)
        assert torch.equal(la.measure_claim(measure, num_draws=12)[name].values, estimate.values)
        assert not torch.equal(
            la.measure_claim(measure, num_draws=12, seed=4)[name].values, estimate.values
        )


def test_a_difference_is_taken_draw_by_draw() -> None:
    """What two conditions share in each draw does not widen the interval of their difference."""
    shared = torch.rand(12, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    less = 0.25 + 0.01 * torch.linspace(-1, 1, 12, dtype=torch.float64)
    one, other = (
        la.Estimate(values, values.mean().item(), 0.0, 1.0) for values in (shared, shared - less)
    )
    lost = one - other
    assert lost.mean == pytest.approx(0.25)
    assert (lost.low, lost.high) == pytest.approx(la.bootstrap_interval(less))
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+"):
        one + other


def test_controls_stand_in_the_same_layers_and_are_none_of_the_heads() -> None:
    heads, drawn = [(5, 0), (7, 3), (5, 2)], Counter[tuple[int, int]]()
    generator = torch.Generator().manual_seed(1)
    for _ in range(60):
        others = la.other_heads(heads, num_heads=5, generator=generator)
        assert [layer for layer, _ in others] == [5, 7, 5]
        assert len({*others, *heads}) == 6
        drawn.update(others)
    assert set(drawn) == {(5, 1), (5, 3), (5, 4), (7, 0), (7, 1), (7, 2), (7, 4)}


test_refused = refusals(
    ("at least 10, got 9", lambda: la.measure_claim(lambda _: {"a": 1.0, "b": 0.0}, num_draws=9)),
    ("needs a control, but only ['a'] was", lambda: la.measure_claim(lambda _: {"a": 1.0})),
    ("number of values must be at least 2, got 1", lambda: la.bootstrap_interval(torch.ones(1))),
    ("a claim needs controls that were measured, got []", lambda: stated([])),
    ("controls that were measured, got ['nowhere']", lambda: stated(["nowhere"])),
    ("layer 3 has 3 heads, too few", lambda: la.other_heads([(3, 0), (3, 1)], num_heads=3)),
)
