"""The drawings of the book: each computed from the tensors that it is handed.

Every function returns a :class:`Drawing`, which a notebook shows as SVG together with its text for those
who cannot see it. A drawing takes tensors from any device, in or out of a graph, and changes nothing.
This is the only part of the package that imports matplotlib; ``import literate_attention`` does not
import it, ``from literate_attention import figures`` does.
"""

from literate_attention.figures._card import Drawing
from literate_attention.figures.heads import heads, weight_split
from literate_attention.figures.matrices import (
    attention_matrices,
    attention_matrix,
    dropout_masks,
    matrix_product,
    projections,
)
from literate_attention.figures.one_query import (
    context_vector,
    dot_products,
    normalising,
    weighted_sum,
)
from literate_attention.figures.points import embedding_points
from literate_attention.figures.sequences import bottleneck, lines

__all__ = [
    "Drawing",
    "attention_matrices",
    "attention_matrix",
    "bottleneck",
    "context_vector",
    "dot_products",
    "dropout_masks",
    "embedding_points",
    "heads",
    "lines",
    "matrix_product",
    "normalising",
    "projections",
    "weight_split",
    "weighted_sum",
]
