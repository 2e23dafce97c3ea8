"""The drawings of the book: each computed from the tensors that it is handed.

Every function returns a :class:`Drawing`, which a notebook shows as SVG together with its text for those
who cannot see it. A drawing takes tensors from any device, in or out of a graph, and changes nothing.
This is the only part of the package that imports matplotlib; ``import literate_attention`` does not
import it, ``from literate_attention import figures`` does.
"""

from literate_attention.figures._card import Drawing
from literate_attention.figures.learned.heads import draw_claim, draw_head_scores, draw_induction
from literate_attention.figures.models.arrows import draw_shared_heads, draw_turned_arrows
from literate_attention.figures.models.masks import draw_mask_parts
from literate_attention.figures.models.rings import draw_ring, draw_ring_work
from literate_attention.figures.models.streams import draw_residual_streams
from literate_attention.figures.story.attention_matrix import draw_attention_matrix
from literate_attention.figures.story.inputs import draw_input_embeddings, draw_windows
from literate_attention.figures.story.layout import (
    draw_reading_order,
    draw_shapes,
    draw_weight_split,
)
from literate_attention.figures.story.looks import (
    draw_head_circles,
    draw_ladder,
    draw_looks,
    draw_training,
)
from literate_attention.figures.story.masks import (
    draw_dropout_masks,
    draw_exercises,
    draw_masked_row,
)
from literate_attention.figures.story.one_query import draw_context_vector, draw_query_steps
from literate_attention.figures.story.overviews import draw_colours, draw_gpt, draw_roadmap
from literate_attention.figures.story.points import draw_embedding_points, draw_gloves, draw_shadows
from literate_attention.figures.story.products import (
    draw_matrix_product,
    draw_products,
    draw_projections,
)
from literate_attention.figures.story.sequences import draw_bottleneck, draw_lines

__all__ = [
    "Drawing",
    "draw_attention_matrix",
    "draw_bottleneck",
    "draw_claim",
    "draw_colours",
    "draw_context_vector",
    "draw_dropout_masks",
    "draw_embedding_points",
    "draw_exercises",
    "draw_gloves",
    "draw_gpt",
    "draw_head_circles",
    "draw_head_scores",
    "draw_induction",
    "draw_input_embeddings",
    "draw_ladder",
    "draw_lines",
    "draw_looks",
    "draw_mask_parts",
    "draw_masked_row",
    "draw_matrix_product",
    "draw_products",
    "draw_projections",
    "draw_query_steps",
    "draw_reading_order",
    "draw_residual_streams",
    "draw_ring",
    "draw_ring_work",
    "draw_roadmap",
    "draw_shadows",
    "draw_shapes",
    "draw_shared_heads",
    "draw_training",
    "draw_turned_arrows",
    "draw_weight_split",
    "draw_windows",
]
