"""A run of a model, head by head: what all that is patched, cut or switched off is held against."""

from types import SimpleNamespace

import torch
from torch.nn.functional import softmax


def unchanged(*given):
    """Return the last that is given."""
    return given[-1]


def run_in_parts(model, token_ids, *, enter=unchanged, hear=unchanged, say=unchanged):
    """Run a model, and return all that is computed on the way.

    What may be changed: the stream where it enters a block, `enter(layer, x)`; what a query, a key or a
    value reads of it, `hear(layer, part, head, x)`; and what a head writes, `say(layer, head, output)`.
    """
    x = model.token_embedding.weight[token_ids]
    found = {"stream": [], "maps": [], "outputs": [], "feed_forward": []}
    for layer, block in enumerate(model.blocks):
        x = enter(layer, x)
        found["stream"].append(x)
        heads = [attend(block, layer, head, x, hear) for head in range(block.attention.num_heads)]
        outputs = [say(layer, head, output) for head, (_, output) in enumerate(heads)]
        found["maps"].append(torch.stack([weights for weights, _ in heads], dim=-3))
        found["outputs"].append(torch.stack(outputs, dim=-3))
        x = x + sum(outputs)
        found["feed_forward"].append(block.feed_forward(block.feed_forward_norm(x)))
        x = x + found["feed_forward"][-1]
    x = enter(len(model.blocks), x)
    found["stream"].append(x)
    hidden = model.final_norm(x)
    logits = hidden @ model.token_embedding.weight.T
    dims = {"stream": -3, "maps": -4, "outputs": -4, "feed_forward": -3}
    stacked = {name: torch.stack(found[name], dim=dim) for name, dim in dims.items()}
    return SimpleNamespace(hidden=hidden, logits=logits, **stacked)


def attend(block, layer, head, x, hear):
    """Return one head's weights, and what it writes."""
    attention = block.attention
    group = head * attention.num_kv_heads // attention.num_heads

    def project(part, head):
        rows = getattr(attention, f"W_{part}").weight.split(attention.head_dim)[head]
        return block.attention_norm(hear(layer, part, head, x)) @ rows.T

    query, key, value = project("query", head), project("key", group), project("value", group)
    if attention.rope is not None:
        query, key = attention.rope(query), attention.rope(key)
    scores = query @ key.mT / attention.head_dim**0.5
    hidden = torch.ones(scores.shape[-2:]).triu(1) == 1
    weights = softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
    columns = attention.out_proj.weight.split(attention.head_dim, dim=1)[head]
    return weights, weights @ value @ columns.T
