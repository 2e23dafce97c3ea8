"""The cache stepper counts what the library's layer computes and what its caches keep."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import literate_attention as la

pytestmark = pytest.mark.browser

LENGTH, WIDTH, NUM_HEADS, HEAD_DIM = 12, 24, 6, 4


def products(attention: Any, x: torch.Tensor, cache: Any = None) -> int:
    """Count the multiplications of a layer while it runs."""
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        attention(x, cache=cache, need_weights=True)
    return counter.get_total_flops() // 2  # a product and a sum each


def counted(window: int | None, num_kv_heads: int) -> dict[str, list[int]]:
    """Return what the library's layer computes and its cache keeps, token by token."""
    layer = la.GroupedQueryAttention(
        WIDTH, WIDTH, num_heads=NUM_HEADS, num_kv_heads=num_kv_heads, window=window
    )
    x = torch.randn(1, LENGTH, WIDTH)
    cache = la.RollingCache(window) if window else la.KVCache(1, num_kv_heads, LENGTH, HEAD_DIM)
    counts: dict[str, list[int]] = {"without": [], "with": [], "bytes": []}
    for n in range(1, LENGTH + 1):
        counts["without"].append(products(layer, x[:, :n]))
        counts["with"].append(products(layer, x[:, n - 1 : n], cache))
        kept = cache if window else la.KVCache(1, num_kv_heads, n, HEAD_DIM)
        counts["bytes"].append(kept.keys.nbytes + kept.values.nbytes)
    return counts


def test_counts_are_the_librarys(open_figure: Callable[..., Any]) -> None:
    page = open_figure("cache_stepper")
    script = """([window, numKvHeads]) => [...Array(12).keys()].map((i) => {
        const one = { length: i + 1, window: window ?? Infinity, numKvHeads };
        const { multiplications, bytes } = literateParts.cacheCounts;
        return [multiplications({ ...one, isCached: false }), multiplications({ ...one, isCached: true }),
                bytes({ ...one, isCached: true })];
    })"""
    for window, num_kv_heads in itertools.product((None, 1, 2, 4, 12, 13), (6, 3, 2, 1)):
        expected = counted(window, num_kv_heads)
        got = page.evaluate(script, [window, num_kv_heads])
        assert [list(column) for column in zip(*got, strict=True)] == list(expected.values())


def shown(page: Any) -> list[list[int]]:
    rows = page.locator(".lp-table tbody tr").all()
    return [
        [int(text.replace(",", "")) for text in row.locator("td").all_inner_texts()] for row in rows
    ]


def test_a_keyboard_steps_through_the_text(open_figure: Callable[..., Any]) -> None:
    """What the table shows after each step is the library's, and one row is computed at a time."""
    page = open_figure("cache_stepper")
    expected = counted(None, 2)
    page.get_by_role("button", name="Next token").focus()
    for n in range(1, LENGTH + 1):
        without, with_one = expected["without"][:n], expected["with"][:n]
        assert shown(page) == [
            [without[-1], with_one[-1]],
            [sum(without), sum(with_one)],
            [0, expected["bytes"][n - 1]],
        ]
        assert page.get_by_role("grid", name="Scores").locator("td.lp-now").count() == n
        assert (
            page.get_by_role("grid", name="Scores").locator("td.lp-old").count() == n * (n - 1) / 2
        )
        page.keyboard.press("Enter")
    assert page.get_by_role("button", name="Next token").get_attribute("aria-disabled") == "true"
    page.get_by_label("Old keys and values").focus()
    page.keyboard.press("c")  # computed again
    assert page.get_by_role("grid", name="Scores").locator("td.lp-now").count() == 78
    assert "All 12 rows are computed" in page.get_by_role("status").first.inner_text()


def test_a_window_and_fewer_heads_are_chosen_by_keyboard(open_figure: Callable[..., Any]) -> None:
    page = open_figure("cache_stepper")
    page.get_by_label("Window").focus()
    page.keyboard.press("4")
    page.get_by_label("KV heads").focus()
    page.keyboard.press("1")
    page.get_by_role("slider", name="Token").focus()
    page.keyboard.press("End")
    expected = counted(4, 1)
    assert shown(page)[0] == [expected["without"][-1], expected["with"][-1]]
    assert shown(page)[2] == [0, expected["bytes"][-1]]
    grid = page.get_by_role("grid", name="Scores")
    seen = la.window_mask(LENGTH, LENGTH, 4)
    hidden = grid.locator("tbody td").evaluate_all(
        "cells => cells.map(c => c.matches('.lp-hidden'))"
    )
    assert torch.equal(~torch.tensor(hidden).reshape(LENGTH, LENGTH), seen)


def test_a_cell_says_what_happened_to_it(open_figure: Callable[..., Any]) -> None:
    page = open_figure("cache_stepper")
    page.get_by_role("slider", name="Token").focus()
    page.keyboard.press("End")
    grid = page.get_by_role("grid", name="Scores")
    grid.locator("td[tabindex='0']").focus()
    said = page.get_by_role("status").last
    assert "Nothing of this row is computed again" in said.inner_text()
    page.keyboard.press("ArrowRight")
    assert "comes later" in said.inner_text()
    page.keyboard.press("Control+End")
    products = NUM_HEADS * HEAD_DIM
    assert f"is new and asks \u201cword\u201d: {products} multiplications" in said.inner_text()
