"""The package as a whole: which way it imports, what it ships and costs."""

import json
import re
import subprocess
import sys
import zipfile

import pytest
from harness.paths import ROOT

import literate_attention

SOURCE = ROOT / "src" / "literate_attention"
MODULES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
LATER = {
    "figures": r"literate_attention\.(?!figures\b)\w+|\.\.\.",  # drawings draw what they are handed
    "trust": r"literate_attention\.(story|models|learned|exercises|workshop|figures)",
    "story": r"literate_attention\.(models|learned|exercises|workshop|figures)",
    "models": r"literate_attention\.(learned|exercises|workshop|figures)",
    "learned": r"literate_attention\.(exercises|workshop|figures)",
}
"""What a part of the package may not import."""


@pytest.mark.parametrize("part", LATER)
def test_no_part_imports_a_later_one(part) -> None:
    for path in (SOURCE / part).rglob("*.py"):
        imported = re.findall(r"^\s*(?:from|import) (\S+)", path.read_text("utf-8"), re.MULTILINE)
        assert not [name for name in imported if re.match(LATER[part], name)], path


def test_the_wheel_holds_the_package_its_types_and_its_licence(wheel) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (info,) = {name.split("/")[0] for name in names if ".dist-info/" in name}
        licence = archive.read(f"{info}/licenses/LICENSE").decode()
    assert licence == (ROOT / "LICENSE").read_text(encoding="utf-8")
    shipped = {name for name in names if not name.startswith(info)}
    assert shipped == {f"literate_attention/{name}" for name in [*MODULES, "py.typed"]}


WATCHED_IMPORT = """
import json, random, sys
sys.path.insert(0, sys.argv[1])
import torch, numpy
before, events = set(sys.modules), []
states = torch.get_rng_state(), random.getstate(), torch.get_default_dtype()

def watch(event, arguments):
    writes = event == "open" and str(arguments[1] or "r")[0] in "wax"
    if writes or event.startswith(("socket.", "subprocess.", "os.fork", "shutil.", "urllib.")):
        events.append((event, str(arguments)))

sys.addaudithook(watch)
import literate_attention
assert literate_attention.__file__.startswith(sys.argv[1])
assert torch.equal(states[0], torch.get_rng_state())
assert states[1:] == (random.getstate(), torch.get_default_dtype())
assert not events, events
print(json.dumps(sorted({name.split(".")[0] for name in set(sys.modules) - before})))
"""


def test_importing_costs_what_torch_costs_and_does_nothing(wheel) -> None:
    """No Sphinx, no IPython, no matplotlib, no test tools: nothing but what is needed at once.

    And no file is written, no network asked, no process started, no generator or setting touched.
    """
    command = [sys.executable, "-B", "-I", "-c", WATCHED_IMPORT, str(wheel)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.stderr == ""
    assert set(json.loads(ran.stdout)) - sys.stdlib_module_names <= {
        "jaxtyping",
        "literate_attention",
        "numpy",
        "platformdirs",
        "tiktoken",
        "tiktoken_ext",
        "torch",
        "typing_extensions",
    }


def test_the_package_knows_its_version_and_brings_its_drawings() -> None:
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    assert literate_attention.__version__ == version[1]
    assert callable(literate_attention.figures.draw_attention_matrix)
