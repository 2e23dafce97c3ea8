"""What does the small model learn without one of its parts, from other seeds, sizes and texts?

The training of the page: 1,200 steps of 32 texts of 36 words, none of them seen twice, in float64 on one
thread; the seed draws the texts and the weights. Each model is judged by 300 texts that were drawn before,
so that those with the same seed have the same test. excess says how far each kind of word is above the
floor, and on_the_way how far after so many steps; which colour and which thing are what is left of it if
the model is told which colours or things the text has mentioned, so that only these are possible. The few
texts are 300, which come again and again. As many models are trained at once as there are cores. A model of
another size has another width, twice as much of it in its feed-forward layer, and 4 heads. The texts of
one's own are what Python's help() says of topics, and the docstrings of its standard library, in pages of
2,000 letters, in an order that a seed draws: the first 10 are for the test.
"""

import ast
import pydoc_data.topics
import sysconfig
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path

import torch
from harness.library.writers import MOMENTS, SEEDS, STEPS, trained
from torch import nn
from torch.nn.functional import cross_entropy, dropout

import literate_attention as la

FEW = 300
WIDTHS, AMOUNTS = (24, 48, 96), (600, 4_800, 38_400)
PAGE = 2_000


class Nothing(nn.Module):
    """Stands in the place of attention and finds nothing."""

    def forward(self, x, **options):
        """Return zeros."""
        return torch.zeros_like(x)


def without_attention(model) -> None:
    """Let no word look at another."""
    for block in model.blocks:
        block.attention = Nothing()


def without_positions(model) -> None:
    """Turn nothing."""
    for block in model.blocks:
        block.attention.rope = None


def without_norms(model) -> None:
    """Leave each vector as large as it is."""
    model.final_norm = nn.Identity()
    for block in model.blocks:
        block.attention_norm, block.feed_forward_norm = nn.Identity(), nn.Identity()


def with_dropout(model) -> None:
    """Drop a tenth of what each block returns, in training."""
    for block in model.blocks:
        block.register_forward_hook(
            lambda block, inputs, output: dropout(output, 0.1, training=block.training)
        )


def measure():
    """Train."""
    torch.set_num_threads(1)
    return [*trainings(), *own_texts()]


def trainings():
    """Train the model of the page, from several seeds, and what differs from it in one thing."""
    with ProcessPoolExecutor(initializer=torch.set_num_threads, initargs=(1,)) as pool:
        waiting = [pool.submit(trained, name, seed, **options) for name, seed, options in plan()]
        yield from (training.result() for training in waiting)


def plan():
    """Name the trainings, their seeds, and what is changed or measured."""
    for seed in SEEDS:
        yield "whole", seed, {"moments": MOMENTS}
        yield "no attention", seed, {"change": without_attention}
        yield "no positions", seed, {"change": without_positions}
        yield "one layer", seed, {"num_layers": 1}
        yield "no norms", seed, {"change": without_norms}
        yield "rate too high", seed, {"learning_rate": 0.1}
        yield "few texts", seed, {"num_texts": FEW}
        yield "few texts, dropout", seed, {"change": with_dropout, "num_texts": FEW}
    for seed in SEEDS[:3]:
        for width, amount in product(WIDTHS, AMOUNTS):
            sizes = {"embed_dim": width, "hidden_dim": 2 * width}
            yield f"{width} wide", seed, {"num_texts": amount, **sizes}


def pages():
    """Return what Python says of itself, in pages."""
    found = list(pydoc_data.topics.topics.values())
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if not {"site-packages", "test", "tests", "idle_test", "lib2to3"} & {*path.parts}:
            try:
                tree = ast.parse(path.read_text(encoding="utf-8"))
            except (SyntaxError, UnicodeDecodeError):
                continue
            kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
            nodes = (node for node in ast.walk(tree) if isinstance(node, kinds))
            found += filter(None, map(ast.get_docstring, nodes))
    text = "\n".join(found)
    text = "".join(letter for letter in text if letter.isascii())
    whole = [text[place : place + PAGE] for place in range(0, len(text) - PAGE + 1, PAGE)]
    order = torch.randperm(len(whole), generator=torch.Generator().manual_seed(123))
    return [whole[place] for place in order]


def own_texts():
    """Train on ten pages and on a thousand, letter by letter, and measure on ten other ones."""
    found = pages()
    letters = tuple(sorted({*"".join(found)}))
    for num_pages, width, length in ((10, 48, 36), (1000, 48, 36), (1000, 96, 72)):
        unseen, own = "".join(found[:10]), "".join(found[10 : 10 + num_pages])
        tests, pieces = (cut(text, letters, length) for text in (unseen, own))
        torch.manual_seed(123)
        sizes = {"embed_dim": width, "hidden_dim": 2 * width, "context_length": length}
        model = la.tiny_llama(len(letters), **sizes)
        begin = time.process_time()
        la.train_in_batches(model, la.next_words(pieces, letters), STEPS)
        seconds = time.process_time() - begin
        start = torch.tensor([[letters.index("\n")]])
        luck = torch.Generator().manual_seed(5)
        with torch.no_grad():
            written = la.generate(
                model, start, length - 1, choose=partial(la.sample, generator=luck)
            )
            losses = [loss_on(model, some[:600]) for some in (tests, pieces)]
        yield {
            "own_text": f"{num_pages} pages",
            "letters_at_once": length,
            "parameters": sum(weight.numel() for weight in model.parameters()),
            "seconds": round(seconds, 1),
            "loss": losses[0],
            "loss_on_own_pages": losses[1],
            "wrote": "".join(letters[one] for one in written[0].tolist()[1:]),
        }
        print(num_pages, width, losses, round(seconds), flush=True)


def cut(text, letters, length):
    """Cut a text into overlapping pieces, in an order that a seed draws."""
    places = {letter: place for place, letter in enumerate(letters)}
    token_ids = torch.tensor([places[letter] for letter in text])
    pieces = token_ids.unfold(0, length, 1)
    order = torch.randperm(len(pieces), generator=torch.Generator().manual_seed(123))
    return pieces[order[: STEPS * 32]]


def loss_on(model, pieces):
    """Return the loss on some pieces."""
    return cross_entropy(model(pieces[:, :-1]).flatten(0, 1), pieces[:, 1:].flatten()).item()
