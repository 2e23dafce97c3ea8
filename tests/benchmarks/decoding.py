"""How long does SmolLM2-135M take to continue a text: ours with its cache, and transformers' generate?

All contenders have the same weights, and none is timed before all have continued the prompt by the same
tokens.

The prompt is 512 tokens, which are the words of Python's own documentation; then come 129 tokens.
No token ends the text; the most probable is chosen. The first token is what one new token takes; the 128
after it are what is left of a run of 129 once its first token is there. The bare products are those of 128
steps with the weights, in the same number and sizes, on the same tensors: seven for each layer and one for
the vocabulary, of one row; no attention, no norm, no sum. In every round each contender runs once, in an
order drawn anew. times_ours is its time divided by ours in the same round; median and quartiles over rounds.

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
import time

import torch
from measuring.circumstances import cores
from measuring.targets import target
from measuring.timing import compared, interleaved, say
from memory import forget_peak, in_a_process, resident
from torch import Tensor, nn
from torch.nn.functional import linear, logsigmoid, normalize, scaled_dot_product_attention
from torch.testing import assert_close

import literate_attention as la
from literate_attention import generate, grouped_attention, load_smollm2
from literate_attention.models.model_file import find_smollm2

PACKAGES = ("transformers", "gguf")
PROMPT, NEW = 512, 128
ROUNDS = 3
FIRST_TOKENS = 11
STEPS = ("the first token", f"{NEW} more tokens")
CALLS = ((1, 512, 1001), (1, 8192, 201), (512, 512, 101))
"""Queries, keys, and how often such an attention is timed."""
LONG = 65_536
MOST_OF_TRANSFORMERS = 1.0
MOST_OF_BARE_PRODUCTS = 1.1
MOST_OF_THE_KERNEL = 1.03
MOST_OF_A_COPY = 0.1
MOST_SECONDS_TO_LOAD = 1.0
AFTER = (512, 4_096, 16_384)
MOST_OF_THEIR_CHUNKS = 1.1


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
    _, tokenizer = load_smollm2("cpu")
    text = importlib.import_module("pydoc_data.topics").topics["objects"]
    return torch.tensor([tokenizer.encode(text)[:PROMPT]])


def measure_decoding():
    """Compare, then time, all contenders."""
    say("loading")
    token_ids = prompt()
    model, _ = load_smollm2("cpu")
    runs = {"ours": ours(model, token_ids)}
    runs |= {f"transformers, {kind}": theirs(kind, token_ids) for kind in ("sdpa", "eager")}
    say("comparing")
    texts = {name: run(NEW + 1, lambda: None) for name, run in runs.items()}
    alike = {name: torch.equal(text, texts["ours"]) for name, text in texts.items()}
    if not all(alike.values()):
        raise AssertionError(f"not all continue the text as ours does: {alike}")
    only = {name: lambda run=run: run(1, lambda: None) for name, run in runs.items()}
    alone = interleaved(only, rounds=FIRST_TOKENS, warm_up=0, named="the first token")
    firsts = {name: [] for name in runs}
    whole = {
        name: lambda run=run, name=name: firsts[name].append(seconds_to_first(run))
        for name, run in runs.items()
    }
    whole["bare products"] = bare_products(model)
    times = interleaved(whole, rounds=ROUNDS, warm_up=0, named=STEPS[1])
    more = {
        name: [taken - first for taken, first in zip(each, firsts[name], strict=True)]
        if name in firsts
        else each
        for name, each in times.items()
    }
    for step, measured in zip(STEPS, (alone, more), strict=True):
        for name, each in measured.items():
            yield {"step": step} | compared(name, each, ours=measured["ours"])


def seconds_to_first(run):
    """Continue the prompt, and return when its first token was there."""
    ticks = []
    start = time.perf_counter()
    run(NEW + 1, lambda: ticks.append(time.perf_counter()))
    if len(ticks) != NEW + 1:
        raise AssertionError(f"{len(ticks)} tokens instead of {NEW + 1}")
    return ticks[0] - start


def ours(model, token_ids):
    """Return what continues the prompt with our model."""

    def run(new, tick):
        def progress(steps):
            for step in steps:
                yield step
                tick()

        return generate(model, token_ids, new, progress=progress)

    return run


class Ticking:
    """What transformers hands each new token to; the first that it is handed is the prompt."""

    def __init__(self, tick) -> None:
        self.tick, self.has_prompt = tick, False

    def put(self, _) -> None:
        """Take notice of tokens."""
        if self.has_prompt:
            self.tick()
        self.has_prompt = True

    def end(self) -> None:
        """Take notice of the end."""


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

    def run(new, tick):
        return model.generate(
            token_ids,
            attention_mask=torch.ones_like(token_ids),
            max_new_tokens=new,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=2,
            streamer=Ticking(tick),
        )

    return run


def bare_products(model):
    """Return what multiplies one row with every matrix of the model, as often as it decodes."""
    matrices = [module.weight for module in model.modules() if isinstance(module, nn.Linear)]
    matrices.append(model.token_embedding.weight)
    rows = {weight.shape[1]: weight.new_ones(1, 1, weight.shape[1]) for weight in matrices}

    @torch.no_grad()
    def run() -> None:
        for _ in range(NEW):
            for weight in matrices:
                linear(rows[weight.shape[1]], weight)

    return run


def measure_kernel():
    """Time attention alone, with heads that share keys, against torch's kernel for that."""
    for q_len, kv_len, rounds in CALLS:
        query, key = torch.randn(1, 9, q_len, 64), torch.randn(1, 3, kv_len, 64)
        with torch.no_grad():
            runs = {
                name: lambda attend=attend, query=query, key=key: attend(query, key)
                for name, attend in ATTENTIONS.items()
            }
            times = interleaved(runs, rounds=rounds, warm_up=10)
        for name, each in times.items():
            row = compared(name, each, ours=times["ours"])
            yield {"step": f"attention of {q_len} to {kv_len} tokens"} | row


def in_groups(query, key):
    """Attend as the library does."""
    return grouped_attention(query, key, key, is_causal=query.shape[-2] > 1)


def in_the_kernel(query, key):
    """Attend as torch does when it is told that heads share keys."""
    is_causal = query.shape[-2] > 1
    return scaled_dot_product_attention(query, key, key, is_causal=is_causal, enable_gqa=True)


def with_copies(query, key):
    """Attend with a copy of the keys for each head of queries."""
    key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
    return scaled_dot_product_attention(query, key, key, is_causal=query.shape[-2] > 1)


ATTENTIONS = {"ours": in_groups, "sdpa with enable_gqa": in_the_kernel}
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
    with torch.no_grad():
        attend(query, key[..., :64, :])
        forget_peak()
        before = resident("VmRSS")
        attend(query, key)
    return round((resident("VmHWM") - before) / 1024, 2)


def measure_loading():
    """Time loading from the cache of weights."""
    load_smollm2("cpu")
    times = interleaved({"ours": lambda: load_smollm2("cpu")}, rounds=ROUNDS)["ours"]
    return {"step": "loading"} | compared("ours", times)


def softmax_layer(room):
    """Make a layer, and a cache with room for so many tokens."""
    attention = la.GroupedQueryAttention(1024, 1024, 16, 4, rope=la.RotaryEmbedding(64, room))
    return attention, la.KVCache(1, 4, room, 64)


def latent_layer(room):
    """Make the same with latents."""
    attention = la.MultiHeadLatentAttention(
        1024, 1024, 16, head_dim=64, latent_dim=256, rope=la.RotaryEmbedding(32, room)
    )
    return attention, la.LatentCache(1, room, 256, 32)


def linear_layer(_):
    """Make the same with a state."""
    cache = la.StateCache()
    cache.state = torch.empty(1, 8, 128, 128)
    return la.GatedDeltaNet(1024, 1024, 8, head_dim=128), cache


def sparse_layer(room):
    """Make the same with an index."""
    attention, cache = softmax_layer(room)
    indexer = la.Indexer(1024, 8, 64, rope=la.PartialRotaryEmbedding(32, room))
    layer = la.SparseAttention(attention, indexer, top_k=512)
    return layer, la.SparseCache(cache, index_dim=64)


LAYERS = {
    "softmax": softmax_layer,
    "latent": latent_layer,
    "linear": linear_layer,
    "sparse": sparse_layer,
}


def measure_kinds(after=AFTER, rounds=101):
    """Time a token of each kind of attention, side by side, and say what each keeps."""
    x = torch.randn(1, 1, 1024)
    for num_tokens in after:
        made = {name: make(num_tokens + 1) for name, make in LAYERS.items()}
        runs = {name: one_token(*each, x, num_tokens) for name, each in made.items()}
        with torch.no_grad():
            times = interleaved(runs, rounds=rounds, warm_up=5, named=f"after {num_tokens} tokens")
        for name, each in times.items():
            row = compared(name, each, softmax=times["softmax"]) | {"bytes": made[name][1].nbytes}
            yield {"step": f"one layer, one token after {num_tokens}"} | row


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


def measure_chunks(num_tokens=4_096, rounds=21):
    """Compare, then time, linear attention in chunks, and what transformers has of it for Qwen3-Next."""
    qwen = importlib.import_module("transformers.models.qwen3_next.modeling_qwen3_next")
    rule = inspect.unwrap(qwen.torch_chunk_gated_delta_rule)
    query, key, value = normalize(torch.randn(3, 1, 8, num_tokens, 128), dim=-1)
    log_decay = logsigmoid(torch.randn(1, 8, num_tokens) + 4)
    beta = torch.rand(1, 8, num_tokens)
    given = [each.transpose(1, 2).contiguous() for each in (query, key, value, log_decay, beta)]

    gates = {"log_decay": log_decay, "beta": beta}
    runs = {
        "ours": lambda: la.linear_attention(query / 128**0.5, key, value, **gates, chunk_size=64)[
            0
        ],
        "transformers, in chunks": lambda: rule(*given, chunk_size=64)[0],
    }
    with torch.no_grad():
        output, expected = (run() for run in runs.values())
        assert_close(output, expected.transpose(1, 2), rtol=0, atol=1e-5)
        times = interleaved(runs, rounds=rounds, named="linear attention in chunks")
    for name, each in times.items():
        row = compared(name, each, ours=times["ours"])
        yield {"step": f"linear attention of {num_tokens} tokens in chunks"} | row


def targets(results):
    """Hold the results against what was promised."""
    judged = []
    of_copy = next((row["mib"] for row in results if row["contender"] == "with copies"), None)
    for row in results:
        name, where = row["contender"], row["step"]
        if name == "ours" and where == "loading":
            seconds = row["ms"]["median"] / 1e3
            what = f"at most {MOST_SECONDS_TO_LOAD} s the second time"
            judged.append(target(what, where, seconds, MOST_SECONDS_TO_LOAD))
        if name == "ours" and "mib" in row:
            what = f"at most {MOST_OF_A_COPY} of what copies for each head take"
            judged.append(target(what, where, row["mib"] / of_copy, MOST_OF_A_COPY))
        if name == "ours" or "times_ours" not in row:
            continue
        most = {
            "bare products": MOST_OF_BARE_PRODUCTS,
            "sdpa with enable_gqa": MOST_OF_THE_KERNEL,
            "transformers, in chunks": MOST_OF_THEIR_CHUNKS,
        }.get(name, MOST_OF_TRANSFORMERS)
        judged.append(
            target(f"at most {most} of {name}", where, 1 / row["times_ours"]["median"], most)
        )
    return judged


if __name__ == "__main__":
    print(extra_mib(sys.argv[1]))
