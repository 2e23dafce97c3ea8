"""Scaled dot-product attention in two functions."""

import pytest
from harness.library.loops import attend_by_loops
from harness.library.random_tensors import query_key_value, random_tensor
from torch.testing import assert_close

import literate_attention as la

Q_LEN, KV_LEN = 3, 5


@pytest.mark.parametrize(
    ("batch", "mask_shape"),
    [
        ((0,), (1, 1)),
        ((), (Q_LEN, KV_LEN)),
        ((2,), (Q_LEN, 1)),
        ((2,), (2, Q_LEN, KV_LEN)),
        ((2, 3), (2, 1, 1, KV_LEN)),
        ((2, 3), (3, Q_LEN, KV_LEN)),
    ],
    ids=str,
)
def test_weights_and_output_agree_with_loops(batch, mask_shape) -> None:
    query, key, value = query_key_value(*batch)
    for attn_mask in (None, random_tensor(*mask_shape, seed=5) > -0.3):
        for scale in (None, 0.3):
            context, weights = attend_by_loops(query, key, value, attn_mask, scale)
            found = la.attention_weights(query, key, attn_mask=attn_mask, scale=scale)
            assert_close(found, weights)
            assert_close(la.attention_output(found, value), context)
