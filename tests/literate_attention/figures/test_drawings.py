"""A figure shows what it is handed, says it in words, and can be read: by numbers, by pixels, by bytes."""

import gzip
import math
import xml.etree.ElementTree as ET
from functools import cache, partial
from typing import NamedTuple
from unittest.mock import patch

import matplotlib
import numpy as np
import pytest
import torch
from harness.drawings import contrast, in_the_dark
from IPython.core.formatters import DisplayFormatter
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.text import Text

import literate_attention as la
from literate_attention import TOY_TOKENS, figures

X = la.toy_embeddings()
SCORES = la.score_all_queries(X)
WEIGHTS = la.softmax(SCORES)
MASK = la.causal_mask(6)
LONG = ("antidisestablishmentarianism", "of", "$5$", "and\n", "internationalisation", "$6")


def random(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(123))


HEAD_WEIGHTS = la.softmax(la.mask_scores(random(2, 6, 6), MASK))
CONTEXT = random(1, 6, 4)
PROJECTIONS = dict(zip(("query", "key", "value"), random(3, 3, 2), strict=True))
PROJECTED = X[1] @ PROJECTIONS["query"], X @ PROJECTIONS["key"], -X @ PROJECTIONS["value"]
COUNTED = torch.arange(12).view(3, 4)
VIEWED = COUNTED.view(3, 2, 2)
WINDOW = la.window_mask(6, 6, 3)
LOOKS = {"one head": random(2, 2) > 0, "two": random(2, 2, 2) > 0}
PAIR = torch.tensor([[1.0, 0.5], [-0.5, 2.0]])
LABELS = {"x_label": "tokens", "y_label": "time in ms"}

# Hands whose queries lie where the keys do that they ask for, and which look there
HANDS = la.gloves_task()[0].words
TURNS = torch.tensor([0.3, 2.4, 4.5]).repeat_interleave(4) + torch.linspace(-0.1, 0.1, 12)
ASKED, KEYS = (torch.stack([turns.cos(), turns.sin()], dim=1) for turns in (TURNS.roll(4), TURNS))
PASSED = torch.stack([TURNS.roll(2).sin(), TURNS.cos()], dim=1)
DEALT = la.softmax(4 * ASKED[::4] @ KEYS[::4].T)


def call(*arguments, **options):
    """Keep what a drawing is made of."""
    return arguments, options


DRAWINGS = {
    "roadmap": call(),
    "ladder": call(
        [
            ("Who?", "one small step", [2], {"even": torch.ones(3, 3) / 3, "self": torch.eye(3)}),
            ("Whose?", "blue-rock red-paper", [0, 1], LOOKS),
        ]
    ),
    "gpt": call(TOY_TOKENS[:-1], TOY_TOKENS[-1], num_layers=12),
    "colours": call(),
    "gloves": call(HANDS, ASKED, KEYS, PASSED, deal=HANDS[::4], weights=DEALT),
    "windows": call(list("abcdefg"), length=4, stride=2),
    "input_embeddings": call(X - 0.5, X.flip(0) - 1, TOY_TOKENS),
    "embedding_points": call(X, TOY_TOKENS),
    "context_vector": call(X, WEIGHTS[1], TOY_TOKENS, query=1),
    "attention_matrix": call(WEIGHTS, TOY_TOKENS),
    "attention_matrix, long words": call(WEIGHTS, LONG),
    "attention_matrix, mask on scores": call(
        {"Before": SCORES, "After": la.mask_scores(SCORES, MASK)}, TOY_TOKENS, attn_mask=MASK
    ),
    "attention_matrix, many": call(
        {f"step {step}, layer 1": torch.eye(14) for step in range(6)},
        list("journeyjourney"),
        targets=la.previous_token_targets(14),
        decimals=None,
    ),
    "induction": call(list("journeyjou")),
    "matrix_product": call(X, X.T, row=1, column=2),
    "projections": call(X, PROJECTIONS, TOY_TOKENS),
    "shadows": call(X[1], X, TOY_TOKENS),
    "shadows, backwards": call(torch.tensor([-1.1729, -0.0048]), X[:, :2] - 0.5, TOY_TOKENS),
    "query_steps": call(X[1], X, X, TOY_TOKENS, asks=1),
    "query_steps, projected": call(*PROJECTED, TOY_TOKENS, asks=1, scale=2**-0.5),
    "products": call(
        [
            {"inputs": X, "W_query": X.T, "queries": SCORES},
            {"weights": WEIGHTS, "inputs": X, "context": WEIGHTS @ X},
        ]
    ),
    "weight_split": call(CONTEXT.expand(2, 6, 4), TOY_TOKENS, num_heads=2),
    "exercises": call(TOY_TOKENS),
    "looks": call({"no mask": WEIGHTS, "mask": HEAD_WEIGHTS[0]}, TOY_TOKENS),
    "looks, long words": call({"$5$": torch.eye(6).roll(1, 1)}, LONG),
    "masked_row": call(SCORES[2], TOY_TOKENS, query=2),
    "head_circles": call(
        HEAD_WEIGHTS[:, 3:, 3:], ["rock", "scissors", "paper"], alone=WEIGHTS[:3, :3]
    ),
    "reading_order": call(
        {"x": COUNTED, "view": VIEWED, "transpose(0, 1)": VIEWED.transpose(0, 1)},
        embed_dim=4,
        num_heads=2,
    ),
    "shapes": call(
        [
            ("x", torch.ones(2, 6, 3), "b n d_in", "input"),
            ("W_key(x)", torch.ones(2, 6, 8), "b n d_out", "key"),
            ("view", torch.ones(2, 6, 2, 4), "b n h d_k", "heads"),
            ("transpose(1, 2)", torch.ones(2, 2, 6, 4), "b h n d_k", "heads"),
            ("scores and weights", torch.ones(2, 2, 6, 6), "b h n n", "heads"),
            ("merge", torch.ones(2, 6, 8), "b n d_out", "heads"),
        ]
    ),
    "shared_heads": call(6, [6, 3, 2, 1]),
    "turned_arrows": call({"one": PAIR, "turned": PAIR.flip(1) * torch.tensor([1, -1])}),
    "latent": call(3),
    "half_planes": call(
        torch.tensor([[1.0, 0.8], [-0.8, 1.0], [-0.8, 1.0], [-1.0, -1.0]]),
        torch.tensor([[1.0, 0.0], [0.0, -2.0], [0.0, 0.5]]),
        0.1,
        ["1", "$5$", "none", LONG[0]],
    ),
    "residual_streams": call(TOY_TOKENS[:3], torch.arange(108.0).view(3, 3, 12)),
    "mask_parts": call(
        {"window": WINDOW, "sink": la.window_mask(6, 6, 3, 1) & ~WINDOW}, TOY_TOKENS
    ),
    "ring": call(TOY_TOKENS, la.ring_shards(6, 3, zigzag=False)),
    "ring_work": call(
        {"in order": la.ring_shards(8, 4, zigzag=False), "zig-zag": la.ring_shards(8, 4)}
    ),
    "head_scores": call(
        {"Previous token": torch.arange(270).view(30, 9) / 269, "Induction": torch.zeros(30, 9)}
    ),
    "wires": call(
        ["key 17", "the rest"],
        ["random", "words"],
        {"all cut": ("16/0", [False, False], torch.tensor([0.0, 1.0]))},
    ),
    "claim": call(
        {
            "all": (torch.ones(10), 1.0, 1.0, 1.0),
            "some, with a long name" * 3: (torch.arange(10) / 10, 0.45, 0.25, 0.6),
            "": (torch.zeros(10), 0.0, 0.0, 0.0),
        },
        "share of answers that are right",
    ),
    "bottleneck": call(TOY_TOKENS, LONG, translates=[0, 2, 1, 5, 4, 3]),
    "lines": call(
        [128, 256, 512, 1024, 2048, 4096],
        {"step by step": [1, 3.8, 15, 61, 250, 1000], "fused": [0.4, 1, 3, 10, 38, math.nan]},
        **LABELS,
    ),
    "lines, linear": call(torch.arange(40), {"share": torch.arange(40) / 40}, **LABELS, log=False),
}
each_name = pytest.mark.parametrize("name", DRAWINGS)


def draw(name):
    arguments, options = DRAWINGS[name]
    return getattr(figures, f"draw_{name.partition(',')[0]}")(*arguments, **options)


drawn = cache(draw)  # once for several tests


MARGIN = 10
"""Letters may reach a few pixels beyond the box that matplotlib computes for a text."""


class Look(NamedTuple):
    """A drawing as it is seen: the pixels behind its words, as red, green, blue and opacity, and the words.

    Of each text, `inks` holds the numbers of the pixels where it leaves ink, counted row by row.
    """

    behind: np.ndarray
    texts: list[Text]
    inks: list[np.ndarray]


@cache
def seen(name):
    """Look once at what several tests judge: at all but the words, then at each text alone."""
    figure = drawn(name).figure
    renderer = FigureCanvasAgg(figure).get_renderer()
    render_text, found = renderer.draw_text, []

    def postpone(*arguments, mtext, **settings) -> None:
        found.append((mtext, partial(render_text, *arguments, **settings)))

    with patch.object(renderer, "draw_text", postpone):
        figure.draw(renderer)
    behind = np.array(renderer.buffer_rgba())
    inks = [ink_of(text, render, renderer) for text, render in found]
    return Look(behind, [text for text, _ in found], inks)


def ink_of(text, render, renderer):
    """Render one text alone; return the pixels where it leaves ink, searched for around its box."""
    renderer.clear()
    render()
    box = text.get_window_extent(renderer)
    height, width = int(renderer.height), int(renderer.width)
    left, top = max(0, int(box.x0) - MARGIN), max(0, height - int(box.y1) - MARGIN)
    right, bottom = int(box.x1) + MARGIN, height - int(box.y0) + MARGIN
    alpha = np.asarray(renderer.buffer_rgba())[top:bottom, left:right, 3]
    rows, columns = np.nonzero(alpha > int(0.6 * alpha.max(initial=0)))
    return (top + rows) * width + left + columns


# What a reader on a phone needs, checked in pixels


@each_name
def test_nothing_is_clipped_and_no_words_collide(name) -> None:
    look = seen(name)
    assert (look.behind[..., 3] == 255).all()  # it is opaque
    placed = [text.get_position() for axes in drawn(name).figure.axes for text in axes.texts]
    assert np.isfinite(placed).all()  # what is nowhere is not drawn
    assert drawn(name).alt.endswith(".")
    assert "nan" not in drawn(name).alt
    height, width = look.behind.shape[:2]
    taken = np.zeros(height * width, bool)
    for text, ink in zip(look.texts, look.inks, strict=True):
        assert ink.size, text
        box = text.get_window_extent()
        assert 3 <= box.x0 < box.x1 <= width - 3, f"{text} is clipped"
        assert 3 <= box.y0 < box.y1 <= height - 3, f"{text} is clipped"
        assert not taken[ink].any(), f"{text} collides"
        taken[ink] = True


@each_name
def test_all_that_is_drawn_is_on_the_card(name) -> None:
    figure = drawn(name).figure
    seen(name)  # which lays it out
    (left, below), (right, above) = figure.bbox.get_points()
    for axes in figure.axes:
        for mark in (*axes.patches, *axes.lines, *axes.collections):
            box = mark.get_window_extent()
            assert left - 1 <= box.xmin <= box.xmax <= right + 1, mark
            assert below - 1 <= box.ymin <= box.ymax <= above + 1, mark


@each_name
@pytest.mark.parametrize("mode", [lambda rgb: rgb, in_the_dark], ids=["light", "dark"])
def test_letters_contrast_with_what_is_behind_them(mode, name) -> None:
    """At least 4.5 to 1 (WCAG 2, level AA), at every pixel of every letter: no line crosses one."""
    look = seen(name)
    for text, ink in zip(look.texts, look.inks, strict=True):
        behind = mode(look.behind.reshape(-1, 4)[ink, :3] / 255)
        lowest = contrast(behind, mode(np.array(to_rgb(text.get_color())))).min()
        assert lowest >= 4.5, f"{text} has {lowest:.2f}"


@each_name
def test_a_card_fits_a_phone_and_its_letters_are_large(name) -> None:
    on_a_phone = 360 / (drawn(name).figure.get_figwidth() * 96)
    smallest = min(text.get_fontsize() for text in seen(name).texts) * 96 / 72
    assert smallest * on_a_phone >= 10


def test_a_card_is_nearly_as_wide_as_the_text_on_a_laptop() -> None:
    root = ET.fromstring(svg(drawn("attention_matrix")))
    sides = [float(root.attrib[side].removesuffix("pt")) for side in ("width", "height")]
    width, height = drawn("attention_matrix").figure.get_size_inches()
    assert sides[0] * 96 / 72 == pytest.approx(640)
    assert sides[1] / sides[0] == pytest.approx(height / width)


def test_tokens_are_written_as_they_are() -> None:
    """A dollar begins no formula, and a line break is one visible sign."""
    shown = [text.get_text() for text in seen("attention_matrix, long words").texts]
    assert shown.count("$5$") == 2
    assert shown.count("and⏎") == 2


# Bytes


def test_the_callers_settings_change_nothing_and_are_left_alone() -> None:
    expected = svg(drawn("lines"))
    loud = {"font.size": 30, "font.family": "serif", "axes.facecolor": "red"}
    loud |= {"svg.fonttype": "none", "svg.hashsalt": None, "savefig.bbox": "tight"}
    with matplotlib.rc_context(loud):
        before = dict(matplotlib.rcParams)
        assert svg(draw("lines")) == expected
        assert dict(matplotlib.rcParams) == before


@each_name
def test_it_is_small_and_needs_no_font(name) -> None:
    data = svg(drawn(name))
    root = ET.fromstring(data)
    kinds = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert not kinds & {"text", "image", "script"}
    most = 22_000 if "steps" in name or "many" in name else 14_000  # bytes; several frames, or one
    assert len(gzip.compress(data.encode())) < most


def svg(drawing):
    data, _ = drawing._repr_mimebundle_()
    return data["image/svg+xml"]


def test_a_notebook_gets_the_picture_and_its_text() -> None:
    drawing = drawn("attention_matrix")
    data, metadata = DisplayFormatter().format(drawing)
    assert data["image/svg+xml"].startswith("<?xml")
    assert metadata["alt"] == drawing.alt
    # where a notebook puts the SVG into the page, its title is what a screen reader says
    root = ET.fromstring(svg(drawing))
    assert root.findtext("{http://www.w3.org/2000/svg}title") == drawing.alt


def test_every_drawing_is_tested() -> None:
    tested = {f"draw_{name.partition(',')[0]}" for name in DRAWINGS}
    assert tested == set(figures.__all__) - {"Drawing"}


def test_any_tensor_in_or_out_of_a_graph() -> None:
    x = X.double().T.contiguous().T.requires_grad_()
    drawing = figures.draw_query_steps(x[1], x, x, TOY_TOKENS, asks=1)
    assert drawing.alt == drawn("query_steps").alt
