"""What a trained model loses if each query reads only a few keys, and whether an index can find them."""

import importlib
import math

import torch
from measuring.targets import target
from torch import nn
from torch.nn.functional import cross_entropy

from literate_attention import (
    Indexer,
    RotaryEmbedding,
    SparseAttention,
    causal_mask,
    index_loss,
    load_smollm2,
    top_k_mask,
    window_mask,
)

QUESTION = (
    "What does SmolLM2-135M lose if each query reads only a few keys, and can an index find them?"
)
METHOD = """
The loss of SmolLM2-135M on tokens 256 to 511 of a text, the words of Python's own documentation on objects.
In every layer a query reads k keys, and all others are hidden from it: those that have the most weight in
its own head (best of each head); those that have the most, averaged over the heads of the layer, the same
for all heads (best for all heads); the first token and the k - 1 last ones (first and last); or those
that an index has chosen, the same for all heads, with eight heads of 16 numbers for each layer. The weights
are those that the layer gives to all keys, computed from what the sparse layers below hand on. An index is
trained by its distance from the mean weights of dense attention in that layer, with AdamW at a rate of 0.01,
one step for each of 40 stretches of 256 tokens in turn, of twelve that come from other articles of the same
documentation. The model is not trained. Three seeds draw the index's first weights; all are tried with k =
32, and the first with each k. The control is the same index before its training. In float32.
"""
PACKAGES = ("gguf",)
KEYS = (4, 8, 16, 32, 64, 128)
K_OF_ALL_SEEDS = 32
SEEDS = range(3)
STEPS = 40
LENGTH, STRETCH = 512, 256
ARTICLES = ("typesseq", "class", "function", "import", "compound", "string-methods")
MOST_LOST_BY_THE_INDEX = 0.5


class Best(nn.Module):
    """Reads the keys that have the most weight, for each head or for all together."""

    def __init__(self, attention, k, *, by_head) -> None:
        super().__init__()
        self.attention, self.k, self.by_head = attention, k, by_head

    def forward(self, x):
        """Attend twice: once to all keys, and then to the best."""
        _, weights = self.attention(x, need_weights=True)
        scores = weights if self.by_head else weights.mean(dim=1, keepdim=True)
        allowed = causal_mask(x.shape[1])
        return self.attention(x, attn_mask=top_k_mask(scores, self.k, allowed))


class FirstAndLast(nn.Module):
    """Reads the first token and the last ones."""

    def __init__(self, attention, k) -> None:
        super().__init__()
        self.attention, self.k = attention, k

    def forward(self, x):
        """Attend under a mask."""
        mask = window_mask(x.shape[1], x.shape[1], self.k - 1, num_sinks=1)
        return self.attention(x, attn_mask=mask)


@torch.no_grad()
def loss_with(model, text, attentions):
    """Return the loss on the second half of a text, with other attention in all layers."""
    own = [block.attention for block in model.blocks]
    for block, attention in zip(model.blocks, attentions, strict=True):
        block.attention = attention
    hidden = model.hidden_states(text)
    for block, attention in zip(model.blocks, own, strict=True):
        block.attention = attention
    half = text.shape[1] // 2
    return cross_entropy(model.logits(hidden[0, half - 1 : -1]), text[0, half:]).item()


def measure():
    """Train indexes for all layers, and let the model read what is chosen."""
    torch.set_num_threads(1)
    model, tokenizer = load_smollm2("cpu")
    topics = importlib.import_module("pydoc_data.topics").topics
    text = torch.tensor([tokenizer.encode(topics["objects"])[:LENGTH]])
    others = [torch.tensor(tokenizer.encode(topics[name])[: 2 * STRETCH]) for name in ARTICLES]
    seen = torch.cat([other.view(2, STRETCH) for other in others])
    layers = list(dense(model, seen))
    attentions = [block.attention for block in model.blocks]
    results = [{"keys": "all", "k": LENGTH, "loss": loss_with(model, text, attentions)}]
    for seed in SEEDS:
        torch.manual_seed(seed)
        indexers = [new_indexer() for _ in layers]
        for name in ("index before training", "index"):
            if name == "index":
                distances = [train(*pair) for pair in zip(indexers, layers, strict=True)]
                print(seed, sum(distances) / len(distances), flush=True)
            for k in KEYS if seed == 0 else (K_OF_ALL_SEEDS,):
                pairs = zip(attentions, indexers, strict=True)
                sparse = [SparseAttention(each, indexer, k) for each, indexer in pairs]
                results.append({"keys": name, "k": k, "seed": seed})
                results[-1]["loss"] = loss_with(model, text, sparse)
                print(results[-1], flush=True)
    for k in KEYS:
        for name, make in {
            "best of each head": lambda each, k=k: Best(each, k, by_head=True),
            "best for all heads": lambda each, k=k: Best(each, k, by_head=False),
            "first and last": lambda each, k=k: FirstAndLast(each, k),
        }.items():
            results.append({"keys": name, "k": k})
            results[-1]["loss"] = loss_with(model, text, [make(each) for each in attentions])
            print(results[-1], flush=True)
    return results


@torch.no_grad()
def dense(model, seen):
    """Return what goes into the attention of each layer, and its weights, averaged over heads."""
    x = model.token_embedding(seen)
    for block in model.blocks:
        normed = block.attention_norm(x)
        context, weights = block.attention(normed, need_weights=True)
        yield normed, weights.mean(dim=1)
        x = x + context
        x = x + block.feed_forward(block.feed_forward_norm(x))


def new_indexer():
    """Make an index of SmolLM2's width, half of whose numbers are rotated."""
    return Indexer(576, 8, 16, rope=RotaryEmbedding(8, LENGTH, base=100_000.0))


def train(indexer, layer):
    """Let an index predict dense attention, one stretch at a time; return the last distance."""
    optimizer = torch.optim.AdamW(indexer.parameters(), lr=0.01, weight_decay=0.0)
    loss = torch.tensor(math.nan)
    for step in range(STEPS):
        x, weights = (each[step % len(each)] for each in layer)
        loss = index_loss(indexer(x), weights[None])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def targets(results):
    """Hold the index against dense attention."""
    at = [row["loss"] for row in results if (row["keys"], row["k"]) == ("index", K_OF_ALL_SEEDS)]
    most = max(at) - results[0]["loss"]
    return [target("more loss than with all keys", "index, k = 32", most, MOST_LOST_BY_THE_INDEX)]
