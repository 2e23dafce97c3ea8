"""The drawings of the book: each computed from the tensors that it is handed.

Every function returns a :class:`Drawing`, which a notebook shows as SVG together with its text for those
who cannot see it. Arrows lead the way information flows: from where a word looks to the word that looks.
A drawing takes tensors from any device, in or out of a graph, and changes nothing.
This is the only part of the package that imports matplotlib; ``import literate_attention`` does not
import it, ``from literate_attention import figures`` does.
"""

from literate_attention.figures._canvas import Drawing
from literate_attention.figures.learned import *
from literate_attention.figures.models import *
from literate_attention.figures.story.attention_arcs import *
from literate_attention.figures.story.attention_matrix import *
from literate_attention.figures.story.inputs import *
from literate_attention.figures.story.line_charts import *
from literate_attention.figures.story.matrix_products import *
from literate_attention.figures.story.one_query import *
from literate_attention.figures.story.overviews import *
from literate_attention.figures.story.tensor_shapes import *
from literate_attention.figures.story.vectors import *

__all__ = ["Drawing", *sorted(name for name in globals() if name.startswith("draw_"))]
