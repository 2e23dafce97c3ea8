"""A model from parts, and weights from elsewhere."""

import re

import pytest
import torch

from literate_attention import LLAMA_NAMES, llama_model, rename_weights

SIZES = {"vocab_size": 11, "embed_dim": 10, "hidden_dim": 17, "num_layers": 3}
HEADS = {"num_heads": 6, "num_kv_heads": 2, "head_dim": 4}


def test_parameters_can_be_counted_by_hand() -> None:
    model = llama_model(**SIZES, **HEADS)
    attention = 10 * 6 * 4 + 2 * 10 * 2 * 4 + 6 * 4 * 10
    each_layer = attention + 3 * 10 * 17 + 2 * 10
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count == 11 * 10 + 3 * each_layer + 10


def test_every_weight_of_a_model_has_a_name_elsewhere() -> None:
    model = llama_model(**SIZES, **HEADS, qk_norm=True)
    named = {ours.format(layer) for ours in LLAMA_NAMES for layer in range(3)}
    assert set(model.state_dict()) == named


def test_renamed_weights_load() -> None:
    model, other = (llama_model(**SIZES, **HEADS, qk_norm=True) for _ in range(2))
    theirs = {
        LLAMA_NAMES[re.sub(r"\d+", "{}", name)].format(*re.findall(r"\d+", name)): weight
        for name, weight in model.state_dict().items()
    }
    other.load_state_dict(rename_weights(theirs, num_layers=3))
    token_ids = torch.tensor([[1, 7, 2]])
    assert torch.equal(other(token_ids), model(token_ids))


def test_a_weight_without_a_place_is_refused() -> None:
    checkpoint = {
        "model.norm.weight": torch.ones(2),
        "model.layers.0.self_attn.q_proj.bias": torch.ones(2),
        "model.layers.3.mlp.up_proj.weight": torch.ones(2, 2),
    }
    message = (
        "2 of 3 weights have no place in the model, "
        "the first is 'model.layers.0.self_attn.q_proj.bias'"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        rename_weights(checkpoint, num_layers=3)
