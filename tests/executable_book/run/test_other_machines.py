"""Pages run once more as other machines would run them, and what moves there is named."""

import re

import pytest
from harness.books import cell
from harness.kernels import titled
from sphinx.errors import SphinxError

FIGURE = """
import os
import matplotlib.pyplot as plt
from IPython.display import SVG
figure, axes = plt.subplots(figsize=(1, 1))
axes.text(0, 0, os.environ.get("ELSEWHERE", "42 %"))
figure.savefig("drawn.svg", metadata={"Title": "a number", "Date": None})
plt.close()
SVG("drawn.svg")
"""


def test_each_machine_is_tried_and_what_moves_is_named_with_its_place(project) -> None:
    titled(
        project,
        "moves",
        cell("import os\nprint('the loss:', os.environ.get('ELSEWHERE', 0.25))"),
        cell("print('the same:', 0.5)"),
        cell(FIGURE),
        cell("assert 'ELSEWHERE' not in os.environ"),
        cell("print(os.environ.get('ELSEWHERE'))", ":nondeterministic: it names this machine"),
    )
    titled(project, "stays", cell("print('one')"))
    elsewhere = {"almost here": {"ELSEWHERE": "0.250000001"}, "far away": {"ELSEWHERE": "41"}}
    build = project.build(builder="machines", book_machines=elsewhere)
    lines = project.cell_lines("moves")
    found = re.findall(r"moves.md:(\d+): WARNING: with (.*), this cell", build.err)
    assert found == [
        *((str(lines[number]), "almost here") for number in (2, 3)),
        *((str(lines[number]), "far away") for number in (0, 2, 3)),
    ]
    assert "    - the loss: 0.25\n    + the loss: 41" in re.sub(r" *\?.*\n", "", build.err)
    assert re.search(r"    \+ in it: .* 41\n", build.err)
    assert "    + AssertionError" in build.err
    assert "stays.md" not in build.err
    assert "far away: 3 cells moved; " in build.said
    assert not list(build.out.rglob("*.html"))


def test_noise_is_a_machine_for_each_seed_and_one_page_may_be_tried_alone(project) -> None:
    titled(project, "one", cell("import os\nprint(os.environ.get('BOOK_NOISE', 'none'))"))
    titled(project, "two", cell("import os\nprint(os.environ.get('BOOK_NOISE', 'none'))"))
    noise = {"book_noise": "contextlib:nullcontext", "book_noises": 2}
    build = project.build(builder="machines", book_only_pages="two", **noise)
    assert re.findall(r"(\w+).md:.*with (noise \d)", build.err) == [
        ("two", "noise 1"),
        ("two", "noise 2"),
    ]
    assert "+ 2 contextlib:nullcontext" in build.err
    some = {"book_only_pages": "two,three", "book_only_machines": "noise 2,noise 3"}
    build = project.build(builder="machines", **some, **noise)
    assert "none of the pages is called 'three'" in build.err
    assert "none of the machines is called 'noise 3'" in build.err
    assert re.findall(r"(\w+).md:.*with (noise \d)", build.err) == [("two", "noise 2")]
    spared = project.build(builder="machines", book_noise_spares=["two"], **noise)
    assert "two.md" not in spared.err
    assert spared.err.count("one.md") == 2


def test_a_noise_that_cannot_be_had_is_no_quiet_machine(project) -> None:
    titled(project, "one", cell("print('one')"))
    with pytest.raises(SphinxError, match=r"cannot be had: (?s:.*)nothing"):
        project.build(builder="machines", book_noise="contextlib:nothing", book_noises=1)
