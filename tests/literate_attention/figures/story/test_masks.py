"""What a mask hides is drawn as the library computes it."""

import pytest
import torch
from harness.drawings import lengths, meshes
from torch.testing import assert_close

import literate_attention as la
from literate_attention import TOY_TOKENS, figures

SCORES = la.score_all_queries(la.toy_embeddings())
WEIGHTS = la.softmax(la.mask_scores(SCORES, la.causal_mask(6)))


@pytest.mark.parametrize("query", range(6))
def test_a_masked_row_ends_in_the_weights_of_the_library(query) -> None:
    drawing = figures.draw_masked_row(SCORES[query], TOY_TOKENS, query=query)
    assert_close(lengths(drawing, "÷ sum."), WEIGHTS[query])
    allowed = la.causal_mask(6)[query]
    assert torch.equal(torch.from_numpy(meshes(drawing)["masked"].mask[:, 0]), ~allowed)
