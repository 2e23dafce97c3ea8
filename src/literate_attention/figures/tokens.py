"""Drawings of tokens and their vectors: one query at work, and why it has to be at work."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from jaxtyping import Float
from torch import Tensor

from literate_attention.figures._card import (
    BLUE,
    INK,
    LINE,
    MARGIN,
    ORANGE,
    PAPER,
    QUIET,
    RULE,
    STRONG,
    TINTS,
    WIDTH,
    Array,
    Card,
    Drawing,
    array,
    card,
    index,
    label_width,
    labels,
    number,
    superscript,
    text_width,
)

_THICKEST = 8.0


def context_vector(
    inputs: Float[Tensor, "num_tokens embed_dim"],
    weights: Float[Tensor, "num_tokens"],
    tokens: Sequence[str],
    *,
    query: int,
) -> Drawing:
    """Draw one context vector as the weighted sum of all inputs; the thicker an arrow, the larger the weight.

    Args:
        inputs: one vector for each token.
        weights: the attention weights of the query.
        tokens: what each token is called.
        query: which token asks, counted from 0.

    Returns:
        The drawing. Its text lists the weights and the context vector.

    Raises:
        TypeError: inputs or weights are not a tensor, or labels are a single string.
        ValueError: shapes, labels and the position do not fit, or a weight is negative.

    Example:
        >>> drawing = context_vector(torch.eye(2), torch.tensor([0.25, 0.75]), ["one", "step"], query=1)
        >>> drawing.alt
        "The context vector of 'step' is a weighted sum of 2 inputs: 0.25 of 'one', 0.75 of 'step'. It is
        (0.25, 0.75). The thickest arrow comes from 'step'."
    """
    x = array("inputs", inputs, "num_tokens", "embed_dim")
    num_tokens, embed_dim = x.shape
    w = array("weights", weights, num_tokens)
    tokens = labels("tokens", tokens, num_tokens, "tokens")
    index("query", query, num_tokens)
    if (w < 0).any():
        raise ValueError(f"weights must not be negative to be drawn as arrows, got {w.min():.4f}")
    column = (WIDTH - 2 * MARGIN) / num_tokens
    cell = min(34.0, column - 6)
    result = w @ x
    limit = float(abs(x).max())
    with card() as page:
        top = MARGIN + LINE + 2
        bottom = top + embed_dim * LINE
        drop = 118.0
        result_width = 36.0
        result_x = WIDTH / 2 - embed_dim * result_width / 2
        result_y = bottom + drop
        for j, token in enumerate(tokens):
            x_centre = MARGIN + (j + 0.5) * column
            page.text(
                x_centre,
                MARGIN + LINE / 2,
                token,
                weight="bold" if j == query else "normal",
                color=ORANGE if j == query else INK,
            )
            page.cells(
                x[j][:, None], x_centre - cell / 2, top, cell, LINE, gid=f"x{j}", limit=limit
            )
            end = (
                WIDTH / 2 + (j - (num_tokens - 1) / 2) * embed_dim * result_width * 0.8 / num_tokens
            )
            page.arrow(
                (x_centre, bottom + 22),
                (end, result_y - 3),
                color=BLUE,
                width=_THICKEST * w[j] / (w.max() or 1.0),
                gid=f"weight{j}",
            )
            page.text(x_centre, bottom + 12, number(w[j], 2), color=BLUE, weight="bold")
        page.box(
            result_x - 2,
            result_y - 1,
            embed_dim * result_width + 4,
            LINE + 6,
            edge=ORANGE,
            line=2,
            rounding=3,
            zorder=3,
        )
        page.cells(
            result[None],
            result_x,
            result_y + 1,
            result_width,
            LINE + 2,
            gid="context",
            limit=limit,
        )
        page.text(
            WIDTH / 2,
            result_y + LINE + 16,
            f"z{superscript(query)}, the context vector of {tokens[query]}",
        )
        shares = ", ".join(
            f"{number(weight, 2)} of '{token}'" for weight, token in zip(w, tokens, strict=True)
        )
        vector = ", ".join(number(value, 2) for value in result)
        return page.finish(
            result_y + LINE + 24 + MARGIN,
            f"The context vector of '{tokens[query]}' is a weighted sum of {num_tokens} inputs: {shares}. "
            f"It is ({vector}). The thickest arrow comes from '{tokens[int(w.argmax())]}'.",
        )


def dot_products(
    query: Float[Tensor, "embed_dim"],
    inputs: Float[Tensor, "num_tokens embed_dim"],
    tokens: Sequence[str],
) -> Drawing:
    """Draw how a query scores each input: numbers are multiplied in pairs, and the products are added up.

    Args:
        query: the vector that asks.
        inputs: the vectors that are asked.
        tokens: what each input is called.

    Returns:
        The drawing. Its text lists the scores and names the highest.

    Raises:
        TypeError: query or inputs are not a tensor, or labels are a single string.
        ValueError: shapes and labels do not fit.

    Example:
        >>> dot_products(torch.tensor([2.0, 3.0]), torch.eye(2), ["one", "step"]).alt
        "The query (2.00, 3.00) scores 2 inputs by dot products: 'one' 2.00, 'step' 3.00. 'step' has the
        highest score."
    """
    x = array("inputs", inputs, "num_tokens", "embed_dim")
    num_tokens, embed_dim = x.shape
    q = array("query", query, embed_dim)
    tokens = labels("tokens", tokens, num_tokens, "tokens")
    scores = x @ q
    left = MARGIN + label_width(tokens) + 6
    vector = ", ".join(number(value, 2) for value in q)
    with card() as page:
        page.words(MARGIN, MARGIN + 6, [("query q = ", INK), (f"({vector})", ORANGE)])
        y = MARGIN + LINE + 12
        low, high = min(0.0, scores.min()), max(0.0, scores.max())
        scale = (WIDTH - left - MARGIN - 32) / ((high - low) or 1.0)
        for j, (token, score) in enumerate(zip(tokens, scores, strict=True)):
            page.text(left - 6, y, token, ha="right")
            page.words(left, y, _products(q, x[j], WIDTH - left - MARGIN))
            y += LINE - 3
            page.bar(
                left - low * scale, y - 5, 0.0, score,
                scale=scale, height=10, gid=f"score{j}", facecolor="#82b4de" if score >= 0 else "#e39a5f",
            )  # fmt: skip
            page.text(
                left + (max(score, 0) - low) * scale + 4,
                y,
                number(score, 2),
                ha="left",
                weight="bold",
            )
            y += LINE + 5
        listed = ", ".join(
            f"'{token}' {number(score, 2)}" for token, score in zip(tokens, scores, strict=True)
        )
        return page.finish(
            y - LINE + 4 + MARGIN,
            f"The query ({vector}) scores {num_tokens} inputs by dot products: {listed}. "
            f"'{tokens[int(scores.argmax())]}' has the highest score.",
        )


def _products(q: Array, x: Array, room: float) -> list[tuple[str, str]]:
    """Spell a dot product out, as far as there is room."""
    products = [
        [(number(a, 2), ORANGE), (f"·{number(b, 2)}", INK)] for a, b in zip(q, x, strict=True)
    ]

    def joined(shown: list[list[tuple[str, str]]]) -> list[tuple[str, str]]:
        pieces = [piece for product in shown for piece in (*product, (" + ", QUIET))]
        return pieces[:-1]

    shown = joined(products)
    while len(products) > 1 and sum(text_width(text) for text, _ in shown) > room:
        products.pop()
        shown = joined([*products, [("…", QUIET)]])
    return shown


def normalising(
    scores: Float[Tensor, "num_tokens"], tokens: Sequence[str], *, decimals: int = 4
) -> Drawing:
    """Draw scores beside the weights that come from them: divided by their sum, and through a softmax.

    Args:
        scores: one score for each token.
        tokens: what each token is called.
        decimals: how many decimals are written.

    Returns:
        The drawing. Its text compares the two ways at the highest score.

    Raises:
        TypeError: the scores are not a tensor, or labels are a single string.
        ValueError: shapes and labels do not fit, or the scores sum to zero.

    Example:
        >>> normalising(torch.tensor([1.0, 3.0]), ["one", "step"], decimals=2).alt
        "2 scores and the weights made from them. The highest score, 3.00 of 'step', becomes 0.75 when
        divided by the sum, 4.00, and 0.88 by softmax. The lowest, 1.00 of 'one', becomes 0.25 and 0.12."
    """
    values = array("scores", scores, "num_tokens")
    tokens = labels("tokens", tokens, len(values), "tokens")
    total = values.sum()
    if total == 0:
        raise ValueError(
            f"scores must not sum to 0 to be divided by their sum, got {values.tolist()}"
        )
    exponentials = np.exp(values - values.max())
    columns = {
        "score": values,
        "÷ sum": values / total,
        "softmax": exponentials / exponentials.sum(),
    }
    weights = np.concatenate([columns["÷ sum"], columns["softmax"]])
    left = MARGIN + label_width(tokens) + 8
    gap = 12.0
    width = (WIDTH - left - MARGIN - 2 * gap) / 3
    row = 22.0
    with card() as page:
        top = MARGIN + LINE + 4
        page.row_labels(tokens, left - 8, top, row)
        page.text(left - 8, top + (len(values) + 0.5) * row + 3, "sum", ha="right", color=QUIET)
        for place, (name, column) in enumerate(columns.items()):
            x = left + place * (width + gap)
            page.heading(MARGIN + 6, name, x)
            shared = values if place == 0 else weights
            low, high = min(0.0, shared.min()), max(0.0, shared.max())
            scale = width / (high - low)
            for i, value in enumerate(column):
                y = top + i * row
                page.box(x, y + 2, width, row - 4, fill="#f0eee8", zorder=0)
                page.bar(
                    x - low * scale, y + 2, 0.0, value,
                    scale=scale, height=row - 4, gid=f"{name}{i}",
                    facecolor=(TINTS[1] if value < 0 else TINTS[0] if place else "#dcdad2"),
                )  # fmt: skip
                page.text(x + 4, y + row / 2, number(value, decimals), ha="left")
            y = top + len(values) * row
            page.line((x, y + 2), (x + width, y + 2), color=QUIET)
            page.text(
                x + 4, y + row / 2 + 3, number(column.sum(), decimals), ha="left", color=QUIET
            )
        best, worst = int(values.argmax()), int(values.argmin())

        def made(i: int) -> str:
            return f"{number(values[i], decimals)} of '{tokens[i]}', becomes {number(columns['÷ sum'][i], decimals)}"

        return page.finish(
            top + (len(values) + 1) * row + MARGIN,
            f"{len(values)} scores and the weights made from them. The highest score, {made(best)} when "
            f"divided by the sum, {number(total, decimals)}, and {number(columns['softmax'][best], decimals)} by "
            f"softmax. The lowest, {made(worst)} and {number(columns['softmax'][worst], decimals)}.",
        )


def weighted_sum(
    inputs: Float[Tensor, "num_tokens embed_dim"],
    weights: Float[Tensor, "num_tokens"],
    tokens: Sequence[str],
) -> Drawing:
    """Draw a weighted sum step by step: each input shrinks to its share, and the shares add up.

    Args:
        inputs: one vector for each token.
        weights: one weight for each token.
        tokens: what each token is called.

    Returns:
        The drawing. Its text lists what each token adds, and the sum.

    Raises:
        TypeError: inputs or weights are not a tensor, or labels are a single string.
        ValueError: shapes and labels do not fit.

    Example:
        >>> weighted_sum(torch.eye(2), torch.tensor([0.25, 0.75]), ["one", "step"]).alt
        "A weighted sum of 2 inputs. 'one' adds 0.25 times (1.00, 0.00). 'step' adds 0.75 times
        (0.00, 1.00). The sum is (0.250, 0.750)."
    """
    x = array("inputs", inputs, "num_tokens", "embed_dim")
    num_tokens, embed_dim = x.shape
    w = array("weights", weights, num_tokens)
    tokens = labels("tokens", tokens, num_tokens, "tokens")
    shares = w[:, None] * x
    sums = np.cumsum(shares, axis=0)
    left = MARGIN + label_width(tokens) + 6
    bars = left + 36
    gap = 10.0
    width = (WIDTH - bars - MARGIN - (embed_dim - 1) * gap) / embed_dim
    drawn = np.concatenate([x.ravel(), shares.ravel(), sums.ravel(), [0.0]])
    scale = width / ((drawn.max() - drawn.min()) or 1.0)
    row = 29.0
    with card() as page:
        page.text(left - 6, MARGIN + 6, "token", ha="right", color=QUIET)
        page.text(left, MARGIN + 6, "weight", ha="left", color=QUIET)
        page.text(bars + 10, MARGIN + 6, "weight × input", ha="left", color=QUIET)
        y = MARGIN + LINE + 2
        for j, token in enumerate(tokens):
            page.text(left - 6, y + row / 2, token, ha="right")
            page.text(left, y + row / 2, number(w[j], 2), ha="left", color=BLUE, weight="bold")
            for k in range(embed_dim):
                start = bars + k * (width + gap)
                origin = start - drawn.min() * scale
                page.text(start, y + 8, number(shares[j, k], 3), ha="left")
                page.bar(
                    origin, y + 15, 0.0, x[j, k],
                    scale=scale, height=7, gid=f"input{j},{k}", facecolor="#d9d7cf",
                )  # fmt: skip
                page.bar(
                    origin, y + 15, 0.0, shares[j, k],
                    scale=scale, height=7, gid=f"share{j},{k}", facecolor=BLUE,
                )  # fmt: skip
            y += row
        page.line((MARGIN, y + 2), (WIDTH - MARGIN, y + 2), color=QUIET)
        y += 5
        page.text(bars - 8, y + row / 2, "sum = z", ha="right", weight="bold")
        for k in range(embed_dim):
            start = bars + k * (width + gap)
            page.text(start, y + 8, number(sums[-1, k], 3), ha="left", weight="bold")
            for j in range(num_tokens):
                page.bar(
                    start - drawn.min() * scale, y + 15, sums[j, k] - shares[j, k], shares[j, k],
                    scale=scale, height=9, gid=f"sum{j},{k}", facecolor=BLUE, edgecolor=PAPER, linewidth=0.8,
                )  # fmt: skip
        sentences = [
            f"'{token}' adds {number(w[j], 2)} times ({', '.join(number(v, 2) for v in x[j])})."
            for j, token in enumerate(tokens)
        ]
        result = ", ".join(number(value, 3) for value in sums[-1])
        return page.finish(
            y + row + MARGIN,
            f"A weighted sum of {num_tokens} inputs. {' '.join(sentences)} The sum is ({result}).",
        )


def embedding_points(inputs: Float[Tensor, "num_tokens 3"], tokens: Sequence[str]) -> Drawing:
    """Draw embeddings as points in space: whose numbers are alike, stand together.

    Each point stands on a stem, so that the eye finds its place on the floor. The two closest points are
    set off.

    Args:
        inputs: one vector of three numbers for each token.
        tokens: what each token is called.

    Returns:
        The drawing. Its text names the closest and the farthest pair.

    Raises:
        TypeError: the inputs are not a tensor, or labels are a single string.
        ValueError: the vectors are not three numbers wide, there are fewer than 2, or labels do not fit.

    Example:
        >>> x = torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.5, 0.0]])
        >>> embedding_points(x, ["a", "b", "c"]).alt
        "3 tokens as points in space. Closest are 'b' and 'c', 0.50 apart; farthest are 'a' and 'c', 1.12
        apart."
    """
    x = array("inputs", inputs, "num_tokens", 3)
    tokens = labels("tokens", tokens, len(x), "tokens")
    if len(x) < 2:
        raise ValueError(f"inputs must hold at least 2 vectors, got {len(x)}")
    distances = {
        (i, j): float(np.linalg.norm(x[i] - x[j])) for i, j in combinations(range(len(x)), 2)
    }
    near = min(distances, key=distances.__getitem__)
    far = max(distances, key=distances.__getitem__)
    low, high = np.minimum(x.min(axis=0), 0.0), np.maximum(x.max(axis=0), 0.0)
    view = _clearest_view(x)
    corners = np.array(
        [[(low, high)[b][d] for d, b in enumerate(bits)] for bits in np.ndindex(2, 2, 2)]
    )
    flat = corners @ view
    scale = min(
        (WIDTH - 2 * MARGIN - 40) / (np.ptp(flat[:, 0]) or 1.0), 190 / (np.ptp(flat[:, 1]) or 1.0)
    )
    left = (WIDTH - scale * np.ptp(flat[:, 0])) / 2
    top = MARGIN + LINE

    def place(point: Array) -> tuple[float, float]:
        across, up = point @ view
        return (
            left + scale * (across - flat[:, 0].min()),
            top + scale * (flat[:, 1].max() - up),
        )

    with card() as page:
        _draw_room(page, place, low, high)
        spots = np.array([place(point) for point in x])
        feet = np.array([place(np.array([point[0], point[1], low[2]])) for point in x])
        for i, (spot, foot) in enumerate(zip(spots, feet, strict=True)):
            color = ORANGE if i in near else BLUE
            page.line(tuple(spot), tuple(foot), color=color, zorder=2)
            page.axes.plot(*foot, "o", color=color, markersize=2.5, zorder=2)
        page.axes.plot(
            *spots.T, "o", linestyle="none", color=BLUE, markeredgecolor=PAPER, markersize=8,
            zorder=3, gid="points",
        )  # fmt: skip
        page.axes.plot(
            *spots[list(near)].T, "o", linestyle="none", color=ORANGE, markeredgecolor=PAPER,
            markersize=8, zorder=3, gid="closest",
        )  # fmt: skip
        _label_points(page, spots, feet, tokens, near)
        y = top + scale * np.ptp(flat[:, 1]) + 2 * LINE + 6
        pair = f"{tokens[near[0]]} and {tokens[near[1]]}"
        page.text(
            WIDTH / 2, y, f"closest: {pair}, {number(distances[near], 2)} apart", color=ORANGE
        )
        return page.finish(
            y + 8 + MARGIN,
            f"{len(x)} tokens as points in space. Closest are '{tokens[near[0]]}' and "
            f"'{tokens[near[1]]}', {number(distances[near], 2)} apart; farthest are '{tokens[far[0]]}' and "
            f"'{tokens[far[1]]}', {number(distances[far], 2)} apart.",
        )


def _clearest_view(x: Array) -> Array:
    """Look from where no two points seem much closer than they are; the third axis stays upright."""

    def view(turn: float, tilt: float) -> Array:
        return np.array(
            [
                [np.cos(turn), -np.sin(turn) * np.sin(tilt)],
                [np.sin(turn), np.cos(turn) * np.sin(tilt)],
                [0.0, np.cos(tilt)],
            ]
        )

    def honesty(candidate: Array) -> float:
        return min(
            float(np.linalg.norm((a - b) @ candidate) / (np.linalg.norm(a - b) or 1.0))
            for a, b in combinations(x, 2)
        )

    angles = [(turn, tilt) for turn in range(15, 80, 5) for tilt in (15, 20, 25, 30, 35)]
    return max((view(*np.radians(angle)) for angle in angles), key=honesty)


def _draw_room(
    page: Card, place: Callable[[Array], tuple[float, float]], low: Array, high: Array
) -> None:
    """Draw the floor and the three axes."""
    floor = [
        place(np.array([a, b, low[2]]))
        for a, b in ((low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1]))
    ]
    page.axes.fill(*zip(*floor, strict=True), facecolor="#efede6", edgecolor=RULE, zorder=0)
    origin = low.copy()
    for d, name in enumerate(("1st", "2nd", "3rd")):
        end = origin.copy()
        end[d] = high[d]
        page.arrow(place(origin), place(end), color=QUIET, zorder=1)
        (x0, y0), (x1, y1) = place(origin), place(end)
        length = np.hypot(x1 - x0, y1 - y0) or 1.0
        page.text(
            x1 + 14 * (x1 - x0) / length,
            y1 + 10 * (y1 - y0) / length,
            f"{name}",
            color=QUIET,
        )


def _label_points(
    page: Card, spots: Array, feet: Array, tokens: Sequence[str], near: tuple[int, int]
) -> None:
    """Write each token where it covers no point and no other token."""
    taken = [(px - 5, py - 5, px + 5, py + 5) for px, py in spots]
    taken += [
        (min(a[0], b[0]) - 1, min(a[1], b[1]), max(a[0], b[0]) + 1, max(a[1], b[1]))
        for a, b in zip(spots, feet, strict=True)
    ]
    for i in np.argsort([i not in near for i in range(len(tokens))], kind="stable"):
        width = text_width(tokens[i], weight="bold" if i in near else "normal")
        px, py = spots[i]
        candidates = [
            (px + dx * (width / 2 + 8) * (1 if dy == 0 else 0.8), py + dy)
            for dy in (0, -13, 13, -26, 26)
            for dx in (1, -1, 0)
            if dx or dy
        ]

        def overlaps(spot: tuple[float, float], half: float = width / 2) -> float:
            box = (spot[0] - half - 1, spot[1] - 6, spot[0] + half + 1, spot[1] + 6)
            return sum(
                max(0.0, min(box[2], other[2]) - max(box[0], other[0]))
                * max(0.0, min(box[3], other[3]) - max(box[1], other[1]))
                for other in taken
            )

        x, y = min(candidates, key=overlaps)
        taken.append((x - width / 2, y - 6, x + width / 2, y + 6))
        page.text(
            x, y, tokens[i],
            color=ORANGE if i in near else INK, weight="bold" if i in near else "normal",
        )  # fmt: skip


def bottleneck(
    source: Sequence[str],
    target: Sequence[str] | None = None,
    weights: Float[Tensor, "target_len source_len"] | None = None,
    *,
    step: int | None = None,
) -> Drawing:
    """Draw an encoder and a decoder with one hidden state between them, and below it the same with attention.

    Args:
        source: the tokens that the encoder reads.
        target: the tokens that the decoder writes; by default as many as it reads, by number.
        weights: how much each target token attends to each source token; by default all alike.
        step: the target token whose arrows are set off, counted from 0; by default the one in the middle.

    Returns:
        The drawing. Its text counts the paths from the source to one target token.

    Raises:
        TypeError: the weights are not a tensor, or labels are a single string.
        ValueError: there are no tokens, or shapes and positions do not fit.

    Example:
        >>> bottleneck(["guten", "Tag"], ["good", "day"]).alt
        "Above, an encoder reads 2 tokens; one hidden state is all that passes to the decoder, which writes 2
        tokens. Below, with attention, each of the 2 target tokens looks at all 2 source tokens itself; the
        arrows of 'day' are set off."
    """
    if not source:
        raise ValueError("source must name at least 1 token, got 0 labels")
    source = labels("source", source, len(source), "tokens")
    target = tuple(str(i + 1) for i in range(len(source))) if target is None else target
    if not target:
        raise ValueError("target must name at least 1 token, got 0 labels")
    target = labels("target", target, len(target), "tokens")
    shape = len(target), len(source)
    strength = np.full(shape, 1.0) if weights is None else array("weights", weights, *shape)
    step = index("step", len(target) // 2 if step is None else step, len(target))
    with card() as page:
        page.heading(MARGIN + 6, "One hidden state")
        top, bottom = 60.0, 140.0
        encoder = _chain(page, source, top, TINTS[0], BLUE, above=True)
        decoder = _chain(page, target, bottom, TINTS[1], ORANGE, above=False)
        middle = (top + bottom) / 2
        page.box(WIDTH / 2 - 42, middle - 11, 84, 22, fill=TINTS[2], edge=STRONG[2], rounding=4)
        page.text(WIDTH / 2, middle, "hidden state")
        page.arrow((encoder[-1], top + 10), (WIDTH / 2 + 44, middle), color=QUIET, width=2)
        page.arrow((WIDTH / 2 - 44, middle), (decoder[0], bottom - 10), color=QUIET, width=2)
        page.line((MARGIN, 178), (WIDTH - MARGIN, 178), color=RULE)
        page.heading(196, "Attention")
        top, bottom = 240.0, 330.0
        encoder = _chain(page, source, top, TINTS[0], BLUE, above=True)
        decoder = _chain(page, target, bottom, TINTS[1], ORANGE, above=False)
        for i, to in enumerate(decoder):
            for j, origin in enumerate(encoder):
                start, end = (origin, top + 10), (to, bottom - 11)
                if i == step:
                    width = 3.0 * strength[i, j] / (strength[i].max() or 1.0)
                    page.arrow(start, end, color=BLUE, width=width, zorder=3, gid=f"weight{i},{j}")
                else:
                    page.line(start, end, color=RULE, width=0.7, zorder=1)
        alike = "" if weights is None else f", most at '{source[int(strength[step].argmax())]}'"
        return page.finish(
            bottom + 26 + MARGIN,
            f"Above, an encoder reads {len(source)} tokens; one hidden state is all that passes to the "
            f"decoder, which writes {len(target)} tokens. Below, with attention, each of the "
            f"{len(target)} target tokens looks at all {len(source)} source tokens itself; the arrows of "
            f"'{target[step]}' are set off{alike}.",
        )


def _chain(
    page: Card, tokens: Sequence[str], y: float, fill: str, edge: str, *, above: bool
) -> list[float]:
    """Draw a row of states, each handing over to the next; return where they stand."""
    column = (WIDTH - 2 * MARGIN) / len(tokens)
    centres = [MARGIN + (i + 0.5) * column for i in range(len(tokens))]
    for x, token in zip(centres, tokens, strict=True):
        page.box(x - 9, y - 9, 18, 18, fill=fill, edge=edge, rounding=9, zorder=4)
        page.text(x, y + (-18 if above else 18), token)
    for x, following in zip(centres, centres[1:], strict=False):
        page.arrow((x + 9, y), (following - 10, y), color=QUIET)
    return centres
