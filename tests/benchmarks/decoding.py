"""How long does SmolLM2-135M take to continue a text: ours with its cache, and transformers' generate?

All contenders have the same weights, and none is timed before all have continued the prompt by the same
tokens.

The prompt is 512 tokens, which are the words of Python's own documentation; then come 129 tokens.
No token ends the text; the most probable is chosen. The first token is what one new token takes; the 128
after it are what 129 take, less the median of what the first one takes. The bare products are those of 128
steps with the weights, in the same number and sizes, on the same tensors: seven for each layer and one for
the vocabulary, of one row; no attention, no norm, no sum. In every round all run in an order drawn anew.
times_ours is a contender's time divided by ours in the same round; median and quartiles over rounds.

Attention alone is timed with random queries, keys and values. Its memory is the highest resident size of
a process of its own while it ran, less the size before: one query of nine heads, and 65,536 keys and values
of three. Loading is the second time, from the cache of weights.

A layer of each kind is 1,024 wide, with random weights, and runs one token after a cache of random numbers.
Softmax has 16 heads of 64 numbers and 4 of keys and values; latent has 16 of 64, latents of 256, rotated keys
of 32; linear has 8 of 128; sparse is softmax over 512 keys that an index of 8 heads of 64 has chosen. In
chunks, 8 heads of 128 run over 4,096 tokens, by 64.
"""

import importlib
import inspect
import sys
from functools import partial

import torch
from measuring.circumstances import cores
from measuring.timing import compared, interleaved, less_median, say, side_by_side
from memory import forget_peak, in_a_process, resident
from torch import Tensor, nn
from torch.nn.functional import linear, logsigmoid, normalize, scaled_dot_product_attention
from torch.testing import assert_close

import literate_attention as la
from literate_attention.models.model_file import find_smollm2

PACKAGES = ("transformers", "gguf")
PROMPT, NEW = 512, 128
ROUNDS = 5
CALLS = ((1, 512, 1001), (1, 8192, 201), (512, 512, 101))
"""Queries, keys, and how often such an attention is timed."""
LONG = 65_536
MOST = {
    "transformers, sdpa": 1.0,
    "transformers, eager": 1.0,
    "bare products": 1.1,
    "sdpa with enable_gqa": 1.03,
    "transformers, in chunks": 1.1,
}
"""Our time as a share of a contender's."""
MOST_OF_A_COPY = 0.1
MOST_SECONDS_TO_LOAD = 1.0
AFTER = (512, 4_096, 16_384)
CHUNKED = 4_096


@torch.no_grad()
def measure():
    """Measure decoding; then attention alone, loading, and layers of each kind."""
    torch.set_num_threads(cores())
    return [
        *measure_decoding(),
        *measure_kernel(),
        *measure_memory(),
        measure_loading(),
        *measure_kinds(),
        *measure_chunks(),
    ]


def prompt():
    """Return the first tokens of a text that comes with Python."""
    _, tokenizer = la.load_smollm2("cpu")
    text = importlib.import_module("pydoc_data.topics").topics["objects"]
    return torch.tensor([tokenizer.encode(text)[:PROMPT]])


def measure_decoding():
    """Compare, then time, all contenders."""
    say("loading")
    token_ids = prompt()
    model, _ = la.load_smollm2("cpu")
    runs = {"ours": partial(la.generate, model, token_ids)}
    runs |= {f"transformers, {kind}": theirs(kind, token_ids) for kind in ("sdpa", "eager")}
    say("comparing")
    texts = {name: run(1 + NEW) for name, run in runs.items()}
    alike = {name: torch.equal(text, texts["ours"]) for name, text in texts.items()}
    if not all(alike.values()):
        raise AssertionError(f"not all continue the text as ours does: {alike}")
    calls = {(name, new): partial(runs[name], new) for name in runs for new in (1, 1 + NEW)}
    calls["bare products"] = bare_products(model)
    times = interleaved(calls, rounds=ROUNDS, warm_up=0, named="decoding")
    firsts = {name: times[name, 1] for name in runs}
    more = {name: less_median(times[name, 1 + NEW], firsts[name]) for name in runs}
    more["bare products"] = times["bare products"]
    for step, each in {"the first token": firsts, f"{NEW} more tokens": more}.items():
        for name in each:
            yield {"step": step} | compared(name, each[name], ours=each["ours"])


def theirs(kind, token_ids):
    """Return what continues the prompt with transformers' model, read from the same file."""
    transformers = importlib.import_module("transformers")
    transformers.utils.logging.disable_progress_bar()
    reader = importlib.import_module("transformers.modeling_gguf_pytorch_utils")
    file = find_smollm2()
    config = transformers.AutoConfig.from_pretrained(file.parent, gguf_file=file.name)
    config._attn_implementation = kind
    model = transformers.LlamaForCausalLM(config).eval()
    read = reader.load_gguf_checkpoint(file, return_tensors=True, model_to_load=model)
    model.load_state_dict(read["tensors"], strict=False)

    def run(new):
        return model.generate(
            token_ids,
            attention_mask=torch.ones_like(token_ids),
            max_new_tokens=new,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=2,
        )

    return run


def bare_products(model):
    """Return what multiplies one row with every matrix of the model, as often as it decodes."""
    matrices = [module.weight for module in model.modules() if isinstance(module, nn.Linear)]
    matrices.append(model.token_embedding.weight)
    rows = {weight.shape[1]: weight.new_ones(1, 1, weight.shape[1]) for weight in matrices}

    def run() -> None:
        for _ in range(NEW):
            for weight in matrices:
                linear(rows[weight.shape[1]], weight)

    return run


def measure_kernel():
    """Time attention alone, with heads that share keys, against torch's kernel for that."""
    for q_len, kv_len, rounds in CALLS:
        query, key = torch.randn(1, 9, q_len, 64), torch.randn(1, 3, kv_len, 64)
        runs = {
            name: partial(attend, query, key, key, is_causal=q_len > 1)
            for name, attend in ATTENTIONS.items()
        }
        for row in side_by_side(runs, "ours", rounds=rounds, warm_up=10):
            yield {"step": f"attention of {q_len} to {kv_len} tokens"} | row


def with_copies(query, key, _):
    """Attend with a copy of the keys, which are the values as well, for each head of queries."""
    key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
    return scaled_dot_product_attention(query, key, key)


ATTENTIONS = {
    "ours": la.grouped_attention,
    "sdpa with enable_gqa": partial(scaled_dot_product_attention, enable_gqa=True),
}
MEASURED_IN_BYTES = ATTENTIONS | {"with copies": with_copies}


def measure_memory():
    """Measure the memory of attention to many keys, in processes of their own."""
    for name in MEASURED_IN_BYTES:
        say(f"memory: {name}")
        step = f"memory of attention of 1 to {LONG} tokens"
        yield {"step": step, "contender": name, "mib": in_a_process(__file__, name)}


def extra_mib(name):
    """Return how many MiB more than before were resident while one query attended to many keys."""
    attend = MEASURED_IN_BYTES[name]
    query, key = torch.randn(1, 9, 1, 64), torch.randn(1, 3, LONG, 64)
    few = key[..., :64, :]
    attend(query, few, few)
    forget_peak()
    before = resident("VmRSS")
    attend(query, key, key)
    return round((resident("VmHWM") - before) / 1024, 2)


def measure_loading():
    """Time loading from the cache of weights."""
    (row,) = side_by_side({"ours": lambda: la.load_smollm2("cpu")}, rounds=ROUNDS)
    return {"step": "loading"} | row


def layers(room):
    """Make a layer of each kind, each with a cache that has room for so many tokens."""
    softmax = la.GroupedQueryAttention(1024, 1024, 16, 4, rope=la.RotaryEmbedding(64, room))
    latent = la.MultiHeadLatentAttention(
        1024, 1024, 16, head_dim=64, latent_dim=256, rope=la.RotaryEmbedding(32, room)
    )
    state = la.StateCache()
    state.state = torch.empty(1, 8, 128, 128)
    indexer = la.Indexer(1024, 8, 64, rope=la.PartialRotaryEmbedding(32, room))
    sparse_cache = la.SparseCache(la.KVCache(1, 4, room, 64), index_dim=64)
    return {
        "softmax": (softmax, la.KVCache(1, 4, room, 64)),
        "latent": (latent, la.LatentCache(1, room, 256, 32)),
        "linear": (la.GatedDeltaNet(1024, 1024, 8, head_dim=128), state),
        "sparse": (la.SparseAttention(softmax, indexer, top_k=512), sparse_cache),
    }


def measure_kinds():
    """Time a token of each kind of attention, side by side, and say what each keeps."""
    x = torch.randn(1, 1, 1024)
    for num_tokens in AFTER:
        made = layers(num_tokens + 1)
        runs = {name: one_token(*each, x, num_tokens) for name, each in made.items()}
        for row in side_by_side(runs, "softmax", rounds=101, warm_up=5):
            kept = {"bytes": made[row["contender"]][1].nbytes}
            yield {"step": f"one layer, one token after {num_tokens}"} | row | kept


def fill(cache) -> None:
    """Let a cache hold random numbers, and a cache in it too."""
    for part in vars(cache).values():
        if isinstance(part, Tensor):
            part.normal_()
        elif hasattr(part, "nbytes"):
            fill(part)


def one_token(layer, cache, x, num_tokens):
    """Return what runs a token as if so many stood in the cache."""
    fill(cache)

    def run():
        getattr(cache, "cache", cache).num_tokens = num_tokens
        return layer(x, cache=cache)

    return run


def measure_chunks():
    """Compare, then time, linear attention in chunks, and what transformers has of it for Qwen3-Next."""
    qwen = importlib.import_module("transformers.models.qwen3_next.modeling_qwen3_next")
    rule = inspect.unwrap(qwen.torch_chunk_gated_delta_rule)
    query, key, value = normalize(torch.randn(3, 1, 8, CHUNKED, 128), dim=-1)
    log_decay = logsigmoid(torch.randn(1, 8, CHUNKED) + 4)
    beta = torch.rand(1, 8, CHUNKED)
    given = [each.transpose(1, 2).contiguous() for each in (query, key, value, log_decay, beta)]

    def ours():
        gates = {"log_decay": log_decay, "beta": beta}
        return la.linear_attention(query / 128**0.5, key, value, **gates, chunk_size=64)[0]

    runs = {"ours": ours, "transformers, in chunks": lambda: rule(*given, chunk_size=64)[0]}
    output, expected = (run() for run in runs.values())
    assert_close(output, expected.transpose(1, 2), rtol=0, atol=1e-5)
    for row in side_by_side(runs, "ours", rounds=21, named="linear attention in chunks"):
        yield {"step": f"linear attention of {CHUNKED} tokens in chunks"} | row


def targets(results):
    """Hold the results against what was promised."""
    judged = []
    for row in results:
        name = row["contender"]
        if name in MOST and "times_ours" in row:
            share, most = 1 / row["times_ours"]["median"], MOST[name]
            judged.append((f"at most {most} of {name}", row["step"], share, most))
    mib = {row["contender"]: row["mib"] for row in results if "mib" in row}
    (loading,) = (row for row in results if row["step"] == "loading")
    what = f"at most {MOST_OF_A_COPY} of what copies for each head take"
    judged.append((what, "memory", mib["ours"] / mib["with copies"], MOST_OF_A_COPY))
    what = f"at most {MOST_SECONDS_TO_LOAD} s the second time"
    seconds = loading["ms"]["median"] / 1e3
    return [*judged, (what, "loading", seconds, MOST_SECONDS_TO_LOAD)]


if __name__ == "__main__":
    print(extra_mib(sys.argv[1]))
