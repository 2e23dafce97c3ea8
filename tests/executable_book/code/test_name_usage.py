"""Where code uses the package's public names is found without running it."""

import pytest

from executable_book.code.name_usage import Scope

PUBLIC = frozenset({"softmax", "causal_mask", "figures.lines", "exercises.check_mask"})


def used(*cells):
    """Return the names used in each of some cells, and assert that they are where they are said to be."""
    scope = Scope("literate_attention", PUBLIC)
    found = [scope.uses(cell) for cell in cells]
    for cell, uses in zip(cells, found, strict=True):
        for use in uses:
            assert cell[use.start :].startswith((use.name.rpartition(".")[2], "renamed"))
    return [[use.name for use in uses] for uses in found]


IMPORT = "from literate_attention import softmax\n"
SEVERAL = "from literate_attention import (\n    causal_mask,\n    softmax,\n)"
FIGURE = "import literate_attention as la\nla.figures.lines(la.softmax(x))"
CASES = [
    (IMPORT + "softmax(x)", ["softmax", "softmax"]),
    ("from literate_attention import softmax as renamed\nrenamed(x)", ["softmax", "softmax"]),
    ("from literate_attention.story.simple_attention import softmax", ["softmax"]),
    ("from literate_attention import figures\nfigures.lines(x)", ["figures.lines"]),
    ("from literate_attention.figures import lines", ["figures.lines"]),
    (FIGURE, ["figures.lines", "softmax"]),
    ("import literate_attention\nliterate_attention.softmax", ["softmax"]),
    (IMPORT + "softmax.__name__", ["softmax", "softmax"]),
    ("é = 'ö'; from literate_attention import softmax; x = 3", ["softmax"]),
    (SEVERAL, ["causal_mask", "softmax"]),
    ("from torch import softmax\nsoftmax(x)", []),
    ("softmax(x)", []),
    (IMPORT + "softmax = 3\nprint(softmax)", ["softmax"]),
    (IMPORT + "f(softmax=3)", ["softmax"]),
    (IMPORT + "x.softmax(dim=-1)", ["softmax"]),
    (IMPORT + "def softmax(x): ...\nsoftmax(3)", ["softmax"]),
    (IMPORT + "def f(softmax):\n    return softmax", ["softmax"]),
    (IMPORT + "from torch import softmax\nsoftmax(3)", ["softmax"]),
]


@pytest.mark.parametrize(("code", "names"), CASES)
def test_a_name_counts_where_it_means_the_library(code, names) -> None:
    assert used(code) == [names]


def test_cells_share_their_names() -> None:
    first = "from literate_attention import causal_mask, softmax"
    assert used(first, "softmax(x)\ncausal_mask = 1", "softmax(causal_mask)") == [
        ["causal_mask", "softmax"],
        ["softmax"],
        ["softmax"],
    ]
