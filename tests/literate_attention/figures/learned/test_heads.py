"""All heads are seen at a glance, and the best of them first."""

import numpy as np
import torch
from matplotlib.collections import QuadMesh
from matplotlib.patches import FancyBboxPatch

from literate_attention import figures


def test_the_best_head_is_framed() -> None:
    scores = torch.rand(5, 3)
    drawing = figures.draw_head_scores({"Induction": scores})
    (cells,) = (m for m in drawing.figure.findobj(QuadMesh) if m.get_label() == "Induction")
    (frame,) = (b for b in drawing.figure.findobj(FancyBboxPatch) if b.get_zorder() == 4)
    layer, head = divmod(int(scores.argmax()), 3)
    corner = cells.get_coordinates()[head, layer]
    np.testing.assert_allclose([frame.get_x(), frame.get_y()], corner)
