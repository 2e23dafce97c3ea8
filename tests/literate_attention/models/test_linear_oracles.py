"""What the gated delta rule of Qwen3-Next in transformers says: `nox -s oracles`."""

import importlib
import inspect
import random

import pytest
import torch
from torch.nn.functional import logsigmoid, normalize
from torch.testing import assert_close

from literate_attention import GatedDeltaNet, linear_attention

pytestmark = pytest.mark.oracle

QWEN = "transformers.models.qwen3_next.modeling_qwen3_next"
THEIRS = "torch_recurrent_gated_delta_rule", "torch_chunk_gated_delta_rule"


def draw(seed):
    """Draw all that goes in, of sizes that a seed draws."""
    sizes = random.Random(seed)
    batch, heads, tokens = sizes.choice([1, 2]), sizes.choice([1, 3]), sizes.choice([1, 7, 70, 131])
    key_dim, value_dim = sizes.choice([5, 16]), sizes.choice([4, 11])
    torch.manual_seed(seed)
    shape = (batch, heads, tokens)
    found = {
        "query": normalize(torch.randn(*shape, key_dim), dim=-1),
        "key": normalize(torch.randn(*shape, key_dim), dim=-1),
        "value": torch.randn(*shape, value_dim),
        "log_decay": logsigmoid(torch.randn(shape) + sizes.choice([-2, 1, 4])),
        "beta": torch.randn(shape).sigmoid(),
        "state": torch.randn(batch, heads, key_dim, value_dim),
    }
    return {name: each.requires_grad_() for name, each in found.items()}


def theirs(name, given):
    qwen = importlib.import_module(QWEN)
    by_token = {each: given[each].transpose(1, 2) for each in given if each != "state"}
    output, state = inspect.unwrap(getattr(qwen, name))(
        by_token["query"] * given["query"].shape[-1] ** 0.5,  # it divides by this
        by_token["key"],
        by_token["value"],
        g=by_token["log_decay"],
        beta=by_token["beta"],
        initial_state=given["state"],
        output_final_state=True,
    )
    return output.transpose(1, 2), state


@pytest.mark.parametrize("chunk_size", [None, 1, 8, 64])
@pytest.mark.parametrize("name", THEIRS)
@pytest.mark.parametrize("seed", range(8))
def test_outputs_states_and_gradients_are_equal(seed, name, chunk_size) -> None:
    """Sums of 131 tokens in float32."""
    given = draw(seed)
    results = []
    for found in (linear_attention(**given, chunk_size=chunk_size), theirs(name, given)):
        torch.manual_seed(seed)
        loss = sum((each * torch.randn(each.shape)).sum() for each in found)
        results.append([*found, *torch.autograd.grad(loss, list(given.values()))])
    for ours, other in zip(*results, strict=True):
        assert_close(ours, other, rtol=0.0, atol=1e-5 * max(1.0, other.abs().max().item()))


@pytest.mark.parametrize("seed", range(4))
def test_the_module_equals_theirs_without_its_convolution(seed) -> None:
    """Their queries are smaller by the root of head_dim, so that their eps is larger by head_dim."""
    heads, head_dim, width = 1 + seed, 5 + seed, 12
    config = importlib.import_module("transformers").Qwen3NextConfig(
        hidden_size=width,
        linear_num_key_heads=heads,
        linear_num_value_heads=heads,
        linear_key_head_dim=head_dim,
        linear_value_head_dim=head_dim,
        linear_conv_kernel_dim=1,
        hidden_act="linear",
    )
    torch.manual_seed(seed)
    theirs = importlib.import_module(QWEN).Qwen3NextGatedDeltaNet(config, layer_idx=0)
    for weight in theirs.parameters():
        torch.nn.init.normal_(weight)
    torch.nn.init.ones_(theirs.conv1d.weight)
    by_head = theirs.in_proj_qkvz.weight.unflatten(0, (heads, 4, head_dim))
    rows = by_head.transpose(0, 1).flatten(1, 2)
    weights = dict(zip(("W_query", "W_key", "W_value", "W_gate"), rows, strict=True))
    by_head = theirs.in_proj_ba.weight.unflatten(0, (heads, 2)).transpose(0, 1)
    weights |= dict(zip(("W_beta", "W_decay"), by_head, strict=True))
    weights |= {"norm": theirs.norm.weight, "out_proj": theirs.out_proj.weight}
    ours = GatedDeltaNet(width, width, heads, head_dim=head_dim, eps=1e-6 * head_dim)
    ours.load_state_dict(
        {f"{name}.weight": weight for name, weight in weights.items()}
        | {"W_decay.bias": theirs.dt_bias, "log_rate": theirs.A_log}
    )
    x = torch.randn(2, 70, width)
    expected = theirs(x)
    assert_close(ours(x), expected, rtol=0.0, atol=1e-5 * expected.abs().max().item())
