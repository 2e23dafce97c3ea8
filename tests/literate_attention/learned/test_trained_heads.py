"""Blocks that have read already."""

import torch
from harness.library.refusals import refusals

from literate_attention import ablate_heads, cache_first_layers, llama_model


def small_model():
    torch.manual_seed(123)
    heads = {"num_heads": 6, "num_kv_heads": 2, "head_dim": 4}
    return llama_model(11, 10, 17, num_layers=3, **heads).requires_grad_(False)


def test_a_resumed_model_is_the_same_above() -> None:
    """What the first blocks have read is not read again; what is switched off above is missing in both."""
    model, token_ids = small_model(), torch.tensor([[3, 8, 5, 2], [1, 0, 4, 4]])
    whole, state = model(token_ids), torch.get_rng_state()
    for layer in (1, 2):
        upper = cache_first_layers(model, token_ids, layer)
        assert torch.equal(torch.get_rng_state(), state)
        assert torch.equal(upper(token_ids), whole)
        with ablate_heads(model, [(2, 1)]):
            assert torch.equal(upper(token_ids), model(token_ids))
            assert not torch.equal(upper(token_ids), whole)
        with ablate_heads(model, [(layer - 1, 1)]):
            assert torch.equal(upper(token_ids), whole)


M, ONE, OTHER = small_model(), torch.tensor([1, 2]), torch.tensor([1, 3])

test_refused = refusals(
    ("1 to 2 can have read a text already, got 0", lambda: cache_first_layers(M, ONE, layer=0)),
    ("already, got 3", lambda: cache_first_layers(M, ONE, layer=3)),
    ("the first blocks have read another text", lambda: cache_first_layers(M, ONE, layer=1)(OTHER)),
)
