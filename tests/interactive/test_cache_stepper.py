"""The cache stepper counts what the library's layer computes and what its caches keep."""

import itertools

import pytest
import torch
from harness.reading.scripted_pages import table_texts
from torch.utils.flop_counter import FlopCounterMode

import literate_attention as la

pytestmark = pytest.mark.browser

LENGTH, WIDTH, NUM_HEADS, HEAD_DIM = 12, 24, 6, 4


def products(attention, x, cache=None):
    """Count the multiplications of a layer while it runs."""
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        attention(x, cache=cache, need_weights=True)
    return counter.get_total_flops() // 2  # a product and a sum each


def counted(window, num_kv_heads):
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


def test_counts_are_the_librarys(open_figure) -> None:
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


def shown(page):
    """Return the table, row by row: projections, scores and averages, both, all so far, and bytes."""
    rows = table_texts(page.locator(".lp-table"), "tbody tr", "td")
    return [[int(text.replace(",", "")) for text in row] for row in rows]


def looks(page, grid, look):
    """Return which cells of a grid look like this, row by row."""
    rows = page.get_by_role("grid", name=grid).locator("tbody tr")
    found: list[list[bool]] = rows.evaluate_all(
        "(rows, look) => rows.map(row => [...row.cells].slice(1).map(c => c.matches(look)))", look
    )
    return found


def test_a_keyboard_steps_through_the_text(open_figure) -> None:
    """What the table shows after each step is the library's, and one row is computed at a time."""
    page = open_figure("cache_stepper")
    expected = counted(None, 2)
    page.get_by_role("button", name="Next token").focus()
    for n in range(1, LENGTH + 1):
        without, with_one = expected["without"][:n], expected["with"][:n]
        projections, comparisons, *rest = shown(page)
        assert [a + b for a, b in zip(projections, comparisons, strict=True)] == rest[0]
        assert rest == [
            [without[-1], with_one[-1]],
            [sum(without), sum(with_one)],
            [0, expected["bytes"][n - 1]],
        ]
        assert sum(map(sum, looks(page, "Scores", ".lp-now"))) == n
        assert sum(map(sum, looks(page, "Scores", ".lp-old"))) == n * (n - 1) / 2
        page.keyboard.press("Enter")
    assert page.get_by_role("button", name="Next token").get_attribute("aria-disabled") == "true"
