"""The drawings of the book: each computed from the tensors that it is handed.

Every function returns a :class:`Drawing`, which a notebook shows as SVG together with its text for those
who cannot see it. A drawing takes tensors from any device, in or out of a graph, and changes nothing.
This is the only part of the package that imports matplotlib; ``import literate_attention`` does not
import it, ``from literate_attention import figures`` does.
"""

from literate_attention.figures._card import Drawing
from literate_attention.figures.learned.heads import *
from literate_attention.figures.models.arrows import *
from literate_attention.figures.models.latents import *
from literate_attention.figures.models.masks import *
from literate_attention.figures.models.rings import *
from literate_attention.figures.models.streams import *
from literate_attention.figures.story.attention_matrix import *
from literate_attention.figures.story.inputs import *
from literate_attention.figures.story.layout import *
from literate_attention.figures.story.looks import *
from literate_attention.figures.story.masks import *
from literate_attention.figures.story.one_query import *
from literate_attention.figures.story.overviews import *
from literate_attention.figures.story.points import *
from literate_attention.figures.story.products import *
from literate_attention.figures.story.sequences import *

__all__ = ["Drawing", *sorted(name for name in globals() if name.startswith("draw_"))]
