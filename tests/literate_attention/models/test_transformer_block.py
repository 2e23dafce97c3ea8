"""The parts around attention, alone and stacked."""

import pytest
import torch
from harness.library.random_tensors import random_tensor
from harness.library.refusals import refusals
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing import assert_close

from literate_attention import LanguageModel, MultiHeadAttention, RMSNorm, SwiGLU, TransformerBlock

BATCH, NUM_TOKENS, WIDTH, HIDDEN, VOCABULARY, CONTEXT = 2, 5, 6, 17, 11, 13


def block():
    attention = MultiHeadAttention(WIDTH, WIDTH, CONTEXT, dropout=0.0, num_heads=3)
    return TransformerBlock(attention, WIDTH, HIDDEN)


def model(layers=3):
    torch.manual_seed(123)
    return LanguageModel(VOCABULARY, WIDTH, [block() for _ in range(layers)]).double()


@pytest.mark.parametrize("batch", [(), (2,), (2, 3), (0,)], ids=str)
def test_the_norm_agrees_with_torchs_module(batch) -> None:
    ours, theirs = RMSNorm(WIDTH, 0.25).double(), nn.RMSNorm(WIDTH, 0.25, dtype=torch.float64)
    ours.weight.data = theirs.weight.data = random_tensor(WIDTH)
    for x in (random_tensor(*batch, WIDTH), torch.zeros(*batch, WIDTH, dtype=torch.float64)):
        assert_close(ours(x), theirs(x))


def test_a_half_precision_square_may_be_too_large_for_its_type() -> None:
    x = torch.tensor([3000.0, 4000.0], dtype=torch.float16)
    assert x.square().isinf().all()
    normed = RMSNorm(2).half()(x)
    assert normed.dtype == torch.float16
    assert_close(normed.float(), torch.tensor([1.2, 1.6]) / 2**0.5, atol=1e-3, rtol=0)


def test_the_feed_forward_part_is_its_formula() -> None:
    part, x = SwiGLU(WIDTH, HIDDEN).double(), random_tensor(BATCH, NUM_TOKENS, WIDTH)
    gate = torch.einsum("...i,oi->...o", x, part.W_gate.weight)
    up = torch.einsum("...i,oi->...o", x, part.W_up.weight)
    inner = gate / (1 + torch.exp(-gate)) * up
    assert_close(part(x), torch.einsum("...i,oi->...o", inner, part.W_down.weight))


def test_a_block_adds_what_its_parts_say_to_the_stream() -> None:
    one, x = block().double(), random_tensor(BATCH, NUM_TOKENS, WIDTH)
    y = x + one.attention(one.attention_norm(x))
    assert_close(one(x), y + one.feed_forward(one.feed_forward_norm(y)))


def test_a_block_hands_on_what_the_attention_is_told() -> None:
    class Attention(nn.Module):
        def forward(self, x, *, factor):
            return factor * x

    one, x = TransformerBlock(Attention(), WIDTH, HIDDEN).double(), random_tensor(3, WIDTH)
    assert not one(x, factor=0.0).isclose(one(x, factor=1.0)).any()


def test_the_model_is_its_parts_one_after_the_other() -> None:
    ours, token_ids = model(), torch.tensor([[1, 7, 2], [5, 5, 10]])
    x = ours.token_embedding.weight[token_ids]
    for one in ours.blocks:
        x = one(x)
    expected = torch.einsum("bne,ve->bnv", ours.final_norm(x), ours.token_embedding.weight)
    assert_close(ours(token_ids), expected)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.filterwarnings("ignore:There is a performance drop")  # vmap of torch's kernel
def test_texts_that_are_mapped_and_traced_have_no_numbers_to_look_at() -> None:
    ours, token_ids = model(), torch.tensor([[1, 7, 2], [5, 5, 10]])
    assert_close(torch.vmap(ours)(token_ids), ours(token_ids))
    weights = {name: weight.detach() for name, weight in ours.named_parameters()}
    of_one = torch.func.grad(lambda *given: torch.func.functional_call(ours, *given).sum())
    each = torch.vmap(of_one, (None, 0))(weights, token_ids)
    for text, found in zip(token_ids, each["final_norm.weight"], strict=True):
        assert_close(found, of_one(weights, text)["final_norm.weight"])
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert ours(torch.ones(2, 3, dtype=torch.int64)).shape == (2, 3, VOCABULARY)


test_refuses = refusals(
    ("token_ids must be integers, got torch.fl", lambda: model()(torch.ones(1, 2)), TypeError),
    ("token id 11 is outside the vocab", lambda: model()(torch.tensor([[0, 11]]))),
    ("got 1 caches for 3 blocks", lambda: model()(torch.tensor([[3]]), [None])),
    ("attention_maps retu", lambda: model()(torch.tensor([[3]]), need_weights=True), TypeError),
    ("a module of attent", lambda: block()(torch.ones(2, WIDTH), need_weights=True), TypeError),
)
