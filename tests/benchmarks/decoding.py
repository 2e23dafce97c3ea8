"""How long a trained model takes to continue a text: ours with its cache, and transformers' generate."""

import importlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from attention import target
from circumstances import cores
from timing import interleaved, ratios, spread
from torch import Tensor, nn
from torch.nn.functional import linear, scaled_dot_product_attention

from literate_attention import (
    KVCache,
    LanguageModel,
    empty_caches,
    generate,
    grouped_attention,
    load_smollm2,
)
from literate_attention.models.model_file import find_smollm2

QUESTION = "How long does SmolLM2-135M take to continue a text?"
METHOD = """
All contenders have the same weights; before anything was timed, all had continued the prompt by the
same tokens. The prompt is 512 tokens, which are the words of Python's own documentation. The first token
is what `generate` takes for one new token; 128 more are what it takes for 129, less the first token of the
same round. No token ends a text; the most probable is chosen. The bare products are those of a step, in
the same number and sizes: seven for each layer and one for the vocabulary, of one row. In every round each
contender runs once, in an order drawn anew. times_ours is its time divided by ours in the same round; median
and quartiles over rounds. Loading is the second time, from the cache of weights.
"""
PROMPT, NEW = 512, 128
ROUNDS = 5
STEPS = ("the first token", f"{NEW} more tokens")
MOST_OF_TRANSFORMERS = 1.0
MOST_OF_BARE_PRODUCTS = 1.1
MOST_OF_THE_KERNEL = 1.03
MOST_SECONDS_TO_LOAD = 1.0

Result = dict[str, Any]
Continue = Callable[[int], Tensor]


def measure(rounds: int = ROUNDS) -> dict[str, Any]:
    """Measure decoding in float32, and in bfloat16 too; then loading, and one step of attention."""
    torch.set_num_threads(cores())
    results = [
        row for dtype in (torch.float32, torch.bfloat16) for row in measure_decoding(dtype, rounds)
    ]
    results += [*measure_kernel(), measure_loading(rounds)]
    results.append({"step": "the cache", **cache_bytes()})
    return {
        "name": "decoding",
        "question": QUESTION,
        "method": METHOD,
        "packages": ("transformers", "gguf"),
        "results": results,
        "targets": targets(results),
    }


def prompt() -> Tensor:
    """Return the first tokens of a text that comes with Python."""
    _, tokenizer = load_smollm2("cpu")
    text = importlib.import_module("pydoc_data.topics").topics["objects"]
    return torch.tensor([tokenizer.encode(text)[:PROMPT]])


def measure_decoding(dtype: torch.dtype, rounds: int) -> Iterator[Result]:
    """Compare, then time, all contenders with weights of one type."""
    token_ids = prompt()
    ours, _ = load_smollm2("cpu", dtype)
    runs: dict[str, Continue] = {"ours": lambda new: generate(ours, token_ids, new)}
    for kind in ("sdpa", "eager"):
        runs[f"transformers, {kind}"] = theirs(kind, dtype, token_ids)
    expected = runs["ours"](NEW + 1)
    if dtype == torch.float32:
        for name, run in runs.items():
            if not torch.equal(run(NEW + 1), expected):
                raise AssertionError(f"{name} continues the text otherwise")
    first = interleaved({name: lambda run=run: run(1) for name, run in runs.items()}, rounds=rounds)
    whole: dict[str, Callable[[], object]] = {
        name: lambda run=run: run(NEW + 1) for name, run in runs.items()
    }
    whole["bare products"] = bare_products(ours)
    times = interleaved(whole, rounds=rounds, warm_up=1)
    more = {
        name: [taken - first[name][at] for at, taken in enumerate(each)] if name in first else each
        for name, each in times.items()
    }
    for step, measured in zip(STEPS, (first, more), strict=True):
        for name, each in measured.items():
            yield {
                "step": step,
                "dtype": str(dtype).removeprefix("torch."),
                "contender": name,
                "rounds": rounds,
                "ms": spread([1e3 * seconds for seconds in each]),
                "times_ours": spread(ratios(each, measured["ours"])),
            }


def theirs(kind: str, dtype: torch.dtype, token_ids: Tensor) -> Continue:
    """Return what continues the prompt with transformers' model, read from the same file."""
    transformers = importlib.import_module("transformers")
    reader = importlib.import_module("transformers.modeling_gguf_pytorch_utils")
    file = find_smollm2()
    config = transformers.AutoConfig.from_pretrained(file.parent, gguf_file=file.name)
    config._attn_implementation = kind
    model = transformers.LlamaForCausalLM(config).eval()
    read = reader.load_gguf_checkpoint(file, return_tensors=True, model_to_load=model)
    model.load_state_dict(read["tensors"], strict=False)
    model = model.to(dtype)

    def run(new: int) -> Tensor:
        longer: Tensor = model.generate(
            token_ids,
            attention_mask=torch.ones_like(token_ids),
            max_new_tokens=new,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=2,
        )
        return longer

    return run


def bare_products(model: LanguageModel) -> Callable[[], None]:
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


def measure_kernel() -> Iterator[Result]:
    """Time attention alone, with heads that share keys, against torch's kernel for that."""
    for q_len, kv_len in ((1, 512), (512, 512)):
        query, key = torch.randn(1, 9, q_len, 64), torch.randn(1, 3, kv_len, 64)
        runs = {
            "ours": lambda query=query, key=key: grouped_attention(
                query, key, key, is_causal=query.shape[-2] > 1
            ),
            "sdpa with enable_gqa": lambda query=query, key=key: scaled_dot_product_attention(
                query, key, key, is_causal=query.shape[-2] > 1, enable_gqa=True
            ),
        }
        with torch.no_grad():
            times = interleaved(runs, rounds=501, warm_up=20)
        for name, each in times.items():
            yield {
                "step": f"attention of {q_len} to {kv_len} tokens",
                "contender": name,
                "ms": spread([1e3 * seconds for seconds in each]),
                "times_ours": spread(ratios(each, times["ours"])),
            }


def measure_loading(rounds: int) -> Result:
    """Time loading from the cache of weights."""
    load_smollm2("cpu")
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        load_smollm2("cpu")
        taken.append(time.perf_counter() - start)
    return {"step": "loading", "contender": "ours", "ms": spread([1e3 * each for each in taken])}


def cache_bytes() -> Result:
    """Count the bytes of a cache, as they are and as the formula has them."""
    model, _ = load_smollm2("cpu")
    caches: list[KVCache] = empty_caches(model, 1, PROMPT + NEW)
    expected = 2 * 30 * 3 * 64 * (PROMPT + NEW) * 4
    return {"bytes": sum(cache.nbytes for cache in caches), "by the formula": expected}


def targets(results: list[Result]) -> list[Result]:
    """Hold the results against what was promised."""
    judged = []
    for row in results:
        name, step = row.get("contender", "ours"), row["step"]
        where = " in ".join(filter(None, (step, row.get("dtype"))))
        if name == "ours" and step == "loading":
            seconds = row["ms"]["median"] / 1e3
            what = f"at most {MOST_SECONDS_TO_LOAD} s the second time"
            judged.append(target(what, where, seconds, MOST_SECONDS_TO_LOAD))
        if name == "ours" or "times_ours" not in row or row.get("dtype") == "bfloat16":
            continue
        most = {
            "bare products": MOST_OF_BARE_PRODUCTS,
            "sdpa with enable_gqa": MOST_OF_THE_KERNEL,
        }.get(name, MOST_OF_TRANSFORMERS)
        ours = 1 / row["times_ours"]["median"]
        judged.append(target(f"at most {most} of {name}", where, ours, most))
    return judged
