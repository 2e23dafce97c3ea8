"""What the models of transformers say with the same weights: `nox -s oracles`."""

import importlib
import random
import re
from itertools import pairwise

import pytest
import torch
from harness.paths import DOCS
from torch import Tensor, nn
from torch.testing import assert_close

import literate_attention as la

pytestmark = pytest.mark.oracle

CONTEXT, BASE = 64, 1000.0
GPT2_PARTS = {
    "attention_norm": "ln_1",
    "feed_forward_norm": "ln_2",
    "feed_forward.0": "mlp.c_fc",
    "feed_forward.2": "mlp.c_proj",
}
KINDS = ("Llama", "Mistral", "Qwen3", "SmolLM3")
SEEDS = range(5)
# Bounds of a whole model's logits of about one: both compute norms and angles in float32 even in float64.
TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-5, torch.bfloat16: 3e-2}

each_kind = pytest.mark.parametrize("kind", KINDS)
each_seed = pytest.mark.parametrize("seed", SEEDS)
each_dtype = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)


@pytest.fixture(scope="session")
def transformers():
    return importlib.import_module("transformers")


def sizes(seed):
    """Draw sizes of a model: heads that share keys in all ways, a head's width that is free."""
    draw = random.Random(seed)
    num_kv_heads = draw.choice([1, 2, 3])
    num_heads = num_kv_heads * draw.choice([1, 2, 5])
    return {
        "vocab_size": draw.choice([53, 101]),
        "embed_dim": num_heads * draw.choice([5, 7]),  # so transformers asks
        "hidden_dim": draw.choice([31, 47]),
        "num_layers": draw.choice([1, 2, 3]),
        "num_heads": num_heads,
        "num_kv_heads": num_kv_heads,
        "head_dim": draw.choice([4, 6, 14]),
    }


def theirs(transformers, kind, seed, window):
    size = sizes(seed)
    torch.manual_seed(seed)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=size["vocab_size"],
        hidden_size=size["embed_dim"],
        intermediate_size=size["hidden_dim"],
        num_hidden_layers=size["num_layers"],
        num_attention_heads=size["num_heads"],
        num_key_value_heads=size["num_kv_heads"],
        head_dim=size["head_dim"],
        max_position_embeddings=CONTEXT,
        rope_parameters={"rope_type": "default", "rope_theta": BASE},
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        initializer_range=0.2,
        **({"sliding_window": window} if kind == "Mistral" else {}),
        **({"no_rope_layers": turned(seed), "pad_token_id": None} if kind == "SmolLM3" else {}),
    )
    model = getattr(transformers, f"{kind}ForCausalLM")(config).eval()
    for name, parameter in model.named_parameters():
        if "norm" in name:  # they begin as ones, which would hide a norm that is left out
            nn.init.normal_(parameter, mean=1.0, std=0.2)
    return model


def ours(model, kind, seed, window):
    size = sizes(seed)
    rope = la.RotaryEmbedding(size["head_dim"], CONTEXT, BASE)
    built = la.llama_model(**size, rope=rope, window=window, qk_norm=kind == "Qwen3")
    built.load_state_dict(renamed(model, size["num_layers"]))
    for block, turns in zip(built.blocks, turned(seed), strict=True):
        if kind == "SmolLM3" and not turns:
            block.attention.rope = None
    return built


def turned(seed):
    """Say for each layer whether it turns queries and keys."""
    return [(layer + seed) % 2 for layer in range(sizes(seed)["num_layers"])]


def renamed(model, num_layers):
    weights = model.state_dict()
    del weights["lm_head.weight"]  # it is that of the embedding
    return la.rename_weights(weights, num_layers)


def pair(transformers, kind, seed, dtype=torch.float32):
    window = 4 + seed if kind == "Mistral" else None
    reference = theirs(transformers, kind, seed, window)
    model = ours(reference, kind, seed, window)
    return reference.to(dtype), model.to(dtype)


def text(seed, length=23, batch=None):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(53, (batch or 1 + seed % 3, length), generator=generator)


def scaled(expected, tolerance):
    return {"rtol": 0.0, "atol": tolerance * max(1.0, expected.abs().max().item())}


@each_kind
@each_seed
@each_dtype
def test_logits_are_equal(transformers, kind, seed, dtype) -> None:
    reference, model = pair(transformers, kind, seed, dtype)
    with torch.no_grad():
        expected = reference(text(seed)).logits
        assert_close(model(text(seed)), expected, **scaled(expected, TOLERANCE[dtype]))


@each_kind
@each_seed
def test_gradients_are_equal(transformers, kind, seed) -> None:
    reference, model = pair(transformers, kind, seed, torch.float64)
    token_ids = text(seed)
    for each in (reference, model):
        logits = each(token_ids)
        logits = logits if isinstance(logits, Tensor) else logits.logits
        nn.functional.cross_entropy(
            logits[:, :-1].flatten(0, 1), token_ids[:, 1:].flatten()
        ).backward()
    expected = {name: weight.grad for name, weight in reference.named_parameters()}
    gradients = la.rename_weights(expected, len(model.blocks))
    for name, parameter in model.named_parameters():
        assert_close(parameter.grad, gradients[name], **scaled(gradients[name], 1e-6))


@each_kind
def test_texts_of_unequal_length_are_padded_alike(transformers, kind) -> None:
    """On the right nothing has to be hidden; on the left, padding is hidden and positions are shifted."""
    reference, model = pair(transformers, kind, seed=0, dtype=torch.float64)
    token_ids = text(0, length=11, batch=3)
    filled = torch.tensor([[place >= 11 - length for place in range(11)] for length in (4, 11, 7)])
    reach = model.blocks[0].attention.window or 11
    causal = torch.ones(11, 11, dtype=torch.bool).tril().triu(1 - reach)
    with torch.no_grad():
        positions = (filled.cumsum(1) - 1).clamp(min=0)
        expected = reference(
            token_ids, attention_mask=filled.long(), position_ids=positions
        ).logits[filled]
        logits = model(token_ids, attn_mask=causal & filled[:, None, None, :])[filled]
    assert_close(logits, expected, **scaled(expected, 1e-6))


@each_seed
def test_a_page_builds_gpt2(transformers, seed) -> None:
    """docs/models/transformer_block.md has the whole model, made of the book's parts."""
    page = (DOCS / "models/transformer_block.md").read_text(encoding="utf-8")
    (cell,) = re.findall(r"```{code-cell} python\n((?:(?!```).)*class GPT2.*?)```", page, re.DOTALL)
    names = vars(la) | {"torch": torch}
    exec(cell, names)
    heads = 1 + seed
    reference = gpt2_reference(transformers, seed, heads).double()
    weights = reference.transformer.state_dict()
    model = names["GPT2"](53, 6 * heads, CONTEXT, heads, 3).double()
    model.embed.token_embedding.weight.data = weights["wte.weight"]
    model.embed.position_embedding.weight.data = weights["wpe.weight"]
    model.final_norm.load_state_dict(reference.transformer.ln_f.state_dict())
    for layer, block in enumerate(model.blocks):
        block.attention = la.gpt2_attention(weights, layer, heads, CONTEXT).double()
        for part, name in GPT2_PARTS.items():
            module = block.get_submodule(part)
            for kind in ("weight", "bias"):
                theirs = weights[f"h.{layer}.{name}.{kind}"]
                module.get_parameter(kind).data = theirs.T if theirs.ndim == 2 else theirs
    token_ids = torch.randint(53, (2, 23))
    assert_close(model(token_ids), reference(token_ids).logits)


def gpt2_reference(transformers, seed, heads):
    torch.manual_seed(seed)
    config = transformers.GPT2Config(
        vocab_size=53, n_embd=6 * heads, n_layer=3, n_head=heads, n_positions=CONTEXT
    )
    reference = transformers.GPT2LMHeadModel(config).eval()
    for name, parameter in reference.named_parameters():
        if name.endswith("bias"):  # they begin as zeros, which would hide one in the wrong place
            nn.init.normal_(parameter)
    return reference


@each_kind
@each_seed
def test_any_split_equals_their_whole(transformers, kind, seed) -> None:
    reference, model = pair(transformers, kind, seed, torch.float64)
    token_ids, draw = text(seed), random.Random(seed)
    with torch.no_grad():
        expected = reference(token_ids).logits
        for _ in range(3):
            cuts = sorted({0, 23, *draw.sample(range(1, 23), draw.randint(0, 6))})
            chunks = [stop - start for start, stop in pairwise(cuts)]
            kept = [la.empty_caches(model, len(token_ids), max_tokens=23)]
            if window := model.blocks[0].attention.window:
                kept.append([la.RollingCache(window) for _ in model.blocks])
            for caches in kept:
                pieces = [model(piece, caches=caches) for piece in token_ids.split(chunks, dim=1)]
                assert_close(torch.cat(pieces, dim=1), expected, **scaled(expected, 1e-6))


def test_the_same_tokens_stay_in_the_running(transformers) -> None:
    logits = torch.randn(50, 101, generator=torch.Generator().manual_seed(7))
    for k in (1, 2, 7, 101):
        assert_close(la.keep_top_k(logits, k), transformers.TopKLogitsWarper(k)(None, logits))
    for p in (0.1, 0.5, 0.9, 0.99):
        assert_close(la.keep_top_p(logits, p), transformers.TopPLogitsWarper(p)(None, logits))


@pytest.mark.parametrize("head_dim", [4, 10, 64, 128])
@pytest.mark.parametrize("base", [100.0, 10_000.0, 500_000.0])
def test_scaled_frequencies_are_equal(transformers, head_dim, base) -> None:
    functions = transformers.modeling_rope_utils.ROPE_INIT_FUNCTIONS
    plain = la.rotary_frequencies(head_dim, base)

    def expected(kind, **settings):
        config = transformers.LlamaConfig(
            head_dim=head_dim,
            max_position_embeddings=32_768,
            rope_parameters={"rope_type": kind, "rope_theta": base, **settings},
        )
        frequencies, factor = functions[kind](config, "cpu")
        return frequencies, factor

    assert_close(la.scale_linear(plain, 4.0), expected("linear", factor=4.0)[0])
    llama3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    for factor, original in ((8.0, 8192), (32.0, 8192), (2.0, 16), (4.0, 100)):
        context = {"factor": factor, "original_max_position_embeddings": original}
        assert_close(
            la.scale_llama3(plain, factor, original), expected("llama3", **context, **llama3)[0]
        )
        frequencies, attention_factor = expected("yarn", **context)
        assert_close(la.scale_yarn(plain, factor, original, base), frequencies)
        assert la.yarn_attention_factor(factor) == pytest.approx(attention_factor)


def test_a_part_is_turned_alike(transformers) -> None:
    theirs = importlib.import_module("transformers.models.qwen3_next.modeling_qwen3_next")
    rope = la.PartialRotaryEmbedding(6, CONTEXT, BASE)
    cos, sin = (torch.cat([table, table], dim=-1)[None] for table in (rope.cos, rope.sin))
    query, key = torch.randn(2, 2, 3, CONTEXT, 14, generator=torch.Generator().manual_seed(7))
    for ours, expected in zip(
        (query, key), theirs.apply_rotary_pos_emb(query, key, cos, sin), strict=True
    ):
        assert_close(rope(ours), expected)


@each_seed
def test_a_learned_sink_is_that_of_gpt_oss(transformers, seed) -> None:
    theirs = importlib.import_module("transformers.models.gpt_oss.modeling_gpt_oss")
    torch.manual_seed(seed)
    module = nn.Module()
    module.sinks, module.num_key_value_groups = torch.randn(4).double(), 2
    query = torch.randn(2, 4, 7, 6).double()
    key, value = torch.randn(2, 2, 2, 7, 6).double()
    mask = torch.ones(7, 7, dtype=torch.bool).tril()
    added = torch.zeros(7, 7).double().masked_fill(~mask, -torch.inf)
    expected, _ = theirs.eager_attention_forward(module, query, key, value, added, 6**-0.5)
    key, value = (each.repeat_interleave(2, dim=1) for each in (key, value))
    context = la.modified_attention(query, key, value, sinks=module.sinks, attn_mask=mask)
    assert_close(context, expected.transpose(1, 2))


def test_caches_are_shared_as_in_gemma_3n(transformers) -> None:
    """Their settings say which layers store what others use, the last of each kind."""
    config = transformers.Gemma3nTextConfig()
    num_own = config.num_hidden_layers - config.num_kv_shared_layers
    borrowed = {*la.lenders(config.layer_types, num_own)[num_own:]}
    assert borrowed == {
        layer for layer, mode in enumerate(config.kv_sharing_modes) if mode == "store"
    }
