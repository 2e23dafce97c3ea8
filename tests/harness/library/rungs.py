"""The trained models of the story with other seeds: the cells of a page run as they stand otherwise."""

import contextlib
import io
import math
import re
from functools import cache, partial
from itertools import product

import jupytext
import torch
from harness.paths import ROOT

from literate_attention import accuracy, answer_logits, train

SEED = re.compile(r"torch\.manual_seed\(\d+\)")


def _answers_unseen(page, name="model"):
    return accuracy(page[name], page["unseen"]) >= 0.99


def _reaches_the_floor(page):
    task = page["task"]
    with torch.no_grad():
        chances = answer_logits(page["model"], task).log_softmax(-1)
    loss = -chances.gather(-1, task.answers.unsqueeze(-1)).mean().item()
    floor = math.log(len(task.examples)) / task.answers.shape[1]
    return abs(loss - floor) < 0.005


def _learns_what_it_is_shown(page, scale, large, weight_decay):
    """Tell whether the wide model does so at any of three learning rates."""
    return any(
        min(train(page["wide_model"](scale, large), page["seen"], 400, lr, weight_decay)) < 0.1
        for lr in RATES
    )


RATES = (0.0003, 0.001, 0.003)
STARTS = {"small": (False, 2.0), "decay": (True, 2.0), "large": (True, 0.0)}
SCALES = {"with": 128**-0.5, "without": 1.0}
RUNGS = {
    "lookup": ("simple_attention", _answers_unseen),
    "order": ("simple_attention", _answers_unseen),
    "gloves": ("self_attention", _answers_unseen),
    "mask": ("causal_attention", _reaches_the_floor),
    "heads": ("multi_head_attention", _answers_unseen),
    "tied": ("self_attention", lambda page: _answers_unseen(page, "tied")),
    "alone": ("self_attention", lambda page: _answers_unseen(page, "alone")),
    "single": ("multi_head_attention", lambda page: _answers_unseen(page, "one_head")),
} | {
    f"root_{start}_{root}": (
        "self_attention",
        partial(_learns_what_it_is_shown, scale=scale, large=large, weight_decay=weight_decay),
    )
    for (start, (large, weight_decay)), (root, scale) in product(STARTS.items(), SCALES.items())
}
"""The tag of the cells, after ``rung-`` and up to ``_``: their page, and when a training has succeeded."""


@cache
def cells(rung):
    """Return the code of a page that trains one model."""
    notebook = jupytext.read(ROOT / "docs" / "story" / f"{RUNGS[rung][0]}.md")
    tag = f"rung-{rung.partition('_')[0]}"
    found = [c.source for c in notebook.cells if tag in c.metadata.get("tags", ())]
    code = re.sub(r"^:.*\n", "", "\n".join(found), flags=re.MULTILINE)
    assert len(SEED.findall(code)) == 1, f"{rung}: expected one seed in {code or 'no cell'}"
    return code


def succeeds(rung, seed):
    """Tell whether the page's own cells train a model that can do its task, from another seed."""
    page = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(SEED.sub(f"torch.manual_seed({seed})", cells(rung)), page)
    return RUNGS[rung][1](page)


def successes(rung, seeds):
    """Return the seeds that succeed."""
    return [seed for seed in seeds if succeeds(rung, seed)]
