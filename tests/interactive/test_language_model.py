"""The language model in the page computes what the library computes, whatever its weights and sizes."""

from contextlib import ExitStack

import pytest
import torch
from harness.library.models_in_pages import READ, assert_reads

import literate_attention as la

pytestmark = pytest.mark.browser


@pytest.fixture
def page(open_figure):
    return open_figure("induction_lab")


def small_model(num_heads, head_dim, base, qk_norm):
    width = num_heads * head_dim
    rope = la.RotaryEmbedding(head_dim, 32, base)
    heads = {"num_heads": num_heads, "num_kv_heads": num_heads}
    model = la.llama_model(
        13, width, 2 * width - 1, 3, rope=rope, qk_norm=qk_norm, **heads
    ).double()
    for weight in model.parameters():  # much larger than at the beginning of a training
        torch.nn.init.normal_(weight, std=0.4)
    return model


def random_places(count, first, end, num_heads):
    """Return heads of the layers from the first on."""
    layers, heads = torch.randint(first, end, (count,)), torch.randint(num_heads, (count,))
    return list(zip(layers.tolist(), heads.tolist(), strict=True))


@pytest.mark.parametrize(("num_heads", "head_dim", "base"), [(1, 6, 100.0), (3, 4, 10_000.0)])
def test_random_models_read_random_texts(page, num_heads, head_dim, base) -> None:
    """With and without heads and wires, as `ablate_heads` and `path_patch` have it."""
    torch.manual_seed(2017)
    for number in range(16):
        model = small_model(num_heads, head_dim, base, qk_norm=number % 2 == 1)
        tokens = torch.randint(13, (1 + 2 * number,))
        silent = random_places(number % 3, 0, 3, num_heads)
        cut = []
        with ExitStack() as wires:
            wires.enter_context(la.ablate_heads(model, silent))
            for part in ("query", "key", "value")[: number % 4]:
                some = {
                    one: sorted(set(random_places(2, one[0] + 1, 3, num_heads)))
                    for one in random_places(3, 0, 2, num_heads)
                }
                wires.enter_context(la.path_patch(model, some, part=part))
                cut += [{"from": one, "to": to, "part": part} for one in some for to in some[one]]
            weights = {name: weight.tolist() for name, weight in model.state_dict().items()}
            its = {"weights": weights, "numHeads": num_heads, "base": base}
            assert_reads(page.evaluate(READ, [its, tokens.tolist(), silent, cut]), model, tokens)
