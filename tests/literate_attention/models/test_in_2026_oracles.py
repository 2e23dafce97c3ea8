"""The settings of each model are those of its configuration in transformers: `nox -s oracles`."""

import importlib
import re
from collections import Counter
from pathlib import Path

import pytest

from literate_attention.models import model_cards as cards
from literate_attention.models.in_2026 import (
    index,
    keys_and_values,
    latents,
    one_vector,
    state,
)

pytestmark = pytest.mark.oracle

SLIDING, FULL, OF_KIMI = "sliding_attention", "full_attention", [4, 8, 12, 16, 20, 24, 27]
YARN = {"rope_type": "yarn", "original_max_position_embeddings": 4096}
ITS_OWN = {  # where a model is not what its class has by default
    "olmo3": {"rope_scaling": YARN | {"factor": 8.0, "original_max_position_embeddings": 8192}},
    "deepseek_v32": {"rope_parameters": YARN | {"factor": 40.0, "rope_theta": 10_000.0}},
    "kimi_linear": {
        "linear_attn_config": {
            "full_attn_layers": OF_KIMI,
            "kda_layers": [one for one in range(1, 28) if one not in OF_KIMI],
        }
    },
    "gemma4": {
        "num_hidden_layers": 35,
        "num_key_value_heads": 1,
        "num_kv_shared_layers": 20,
        "layer_types": [*[SLIDING] * 4, FULL] * 7,
    },
    "deepseek_v4": {
        "compress_ratios": [0, 0, 4, *[128, 4] * 20],
        "rope_scaling": YARN | {"factor": 16.0, "original_max_position_embeddings": 65_536},
    },
    "minimax_m3_vl": {"sparse_attention_config": {"sparse_attention_freq": [0] * 3 + [1] * 57}},
}
SIGNS = {
    cards.NORM: r"self\.q(_b)?_norm = ",
    cards.SINK: r"self\.sinks = ",
    cards.GATE: r"sigmoid\(gate\)|NormGated\(",
}
"""By what one knows in the code of a model that it has a feature."""
SHARES = {"a quarter": 0.25, "a third": 0.334, "an eighth": 0.125, "half": 0.5}


def first(config, *names):
    """Return the first of some settings that a configuration has."""
    return next((getattr(config, name) for name in names if getattr(config, name, None)), None)


def layer_of(config, place, kind):
    """Return what a layer keeps, as its model's configuration has it."""
    heads, window = config.num_attention_heads, config.sliding_window if kind == SLIDING else None
    if kind == "linear_attention":
        count = first(config, "linear_num_value_heads", "linear_num_heads")
        return (state(count, first(config, "linear_value_head_dim", "linear_head_dim")),)
    if config.model_type == "deepseek_v4":
        near = one_vector(heads, config.head_dim, window=config.sliding_window)
        if not (every := config.compress_rates.get(kind)):
            return (near,)
        if kind == "heavily_compressed_attention":
            return near, one_vector(heads, config.head_dim, tokens_each=every)
        far = one_vector(heads, config.head_dim, tokens_each=every, best=config.index_topk)
        return near, index(config.index_n_heads, config.index_head_dim, tokens_each=every), far
    best = first(config, "index_topk")
    by_blocks = kind == "minimax_m3_sparse"
    if by_blocks:
        best = config.index_topk_blocks * config.index_block_size
    sizes = first(config, "index_n_heads"), first(config, "index_head_dim")
    eyes = (index(*sizes, adds_heads=not by_blocks),) if best else ()
    if hasattr(config, "kv_lora_rank"):
        widths = config.qk_nope_head_dim, config.kv_lora_rank, config.qk_rope_head_dim
        return *eyes, latents(heads, *widths, config.v_head_dim, best=best)
    own = config.per_layer_config[place] if config.model_type == "gemma4_text" else config
    kv_heads, width = own.num_key_value_heads, first(own, "head_dim") or config.hidden_size // heads
    if config.model_type == "mimo_v2_flash" and kind == SLIDING:
        kv_heads *= 2  # as its attention does
    is_shared = place >= config.num_hidden_layers - (first(config, "num_kv_shared_layers") or 0)
    settings = {"window": window, "best": best, "is_shared": is_shared}
    return *eyes, keys_and_values(heads, kv_heads, width, first(config, "v_head_dim"), **settings)


@pytest.mark.parametrize("model", cards.MODELS, ids=lambda model: model.name)
def test_a_model_is_what_its_configuration_and_its_code_say(model) -> None:
    name = f"transformers.models.{model.source}.configuration_{model.source}"
    module = importlib.import_module(name)
    classes = {getattr(module, one).model_type: getattr(module, one) for one in module.__all__}
    made = classes.get(f"{model.source}_text") or classes[model.source]
    config = made(**ITS_OWN.get(model.source, {}))
    assert (model.card is not None) == (model.source in ITS_OWN)

    kept = Counter()
    for count, *stores in model.layers:
        kept[tuple(stores)] += count
    kinds = first(config, "layer_types") or [FULL] * config.num_hidden_layers
    assert kept == Counter(layer_of(config, *layer) for layer in enumerate(kinds))

    found, path = model.features(), Path(str(module.__file__).replace("configuration", "modeling"))
    code, rope = path.read_text("utf-8"), str(getattr(config, "rope_parameters", ""))
    signs = {feature: re.search(sign, code) for feature, sign in SIGNS.items()}
    signs |= {cards.FROM_LATENT: first(config, "q_lora_rank"), cards.STRETCHED: "yarn" in rope}
    assert {feature for feature in signs if feature in found} == {
        one for one in signs if signs[one]
    }
    with_rope = getattr(config, "no_rope_layers", [] if cards.NO_ROPE in found else [1])
    if model.source != "kimi_linear":  # its code rotates nothing
        assert found.get(cards.NO_ROPE, 0) == with_rope.count(0)
    shares = {float(one) for one in re.findall(r"'partial_rotary_factor': ([\d.]+)", rope)}
    if hasattr(config, "rotary_dim"):
        shares = {config.rotary_dim / config.head_dim}
    if cards.APART not in found:
        assert shares == {SHARES[one] for one in SHARES if cards.rotated(one) in found}
