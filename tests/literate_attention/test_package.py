"""The package as a whole: its names, its docstrings, which way it imports, what it ships and costs."""

import ast
import inspect
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from email.parser import Parser
from pathlib import Path
from typing import Any, get_args

import pytest
from harness.paths import DOCS, ROOT
from jaxtyping import AbstractArray
from torch import Tensor, nn

import literate_attention

SOURCE = ROOT / "src" / "literate_attention"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

PUBLIC = {name: getattr(literate_attention, name) for name in literate_attention.__all__}
CALLABLES: dict[str, Callable[..., Any]] = {
    **{name: given for name, given in PUBLIC.items() if callable(given)},
    **{
        f"{name}.forward": given.forward
        for name, given in PUBLIC.items()
        if isinstance(given, type) and issubclass(given, nn.Module)
    },
}

each_callable = pytest.mark.parametrize("name", CALLABLES)


# Names


def test_the_package_is_its_public_names_and_nothing_else() -> None:
    """`__init__` says what is public, and does nothing."""
    _, *statements = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8")).body
    imports = [s for s in statements if isinstance(s, ast.ImportFrom)]
    (rest,) = [s for s in statements if not isinstance(s, ast.ImportFrom)]
    assert isinstance(rest, ast.Assign)
    imported = [alias.name for statement in imports for alias in statement.names]
    assert sorted(imported) == sorted(literate_attention.__all__)
    assert not [name for name in imported if name.startswith("_")]
    assert literate_attention.__all__ == sorted(
        imported, key=lambda name: (not name.isupper(), name[0].islower(), name)
    )


def test_the_names_of_the_sources_are_there() -> None:
    """A reader can move between the sources and this package."""
    assert set(literate_attention.__all__) >= {
        "GPTDatasetV1",
        "create_dataloader_v1",
        "SelfAttention_v1",
        "SelfAttention_v2",
        "CausalAttention",
        "MultiHeadAttentionWrapper",
        "MultiHeadAttention",
    }


# Docstrings

ONE_SENTENCE_SAYS_IT_ALL = {"Dropout.forward"}
NEEDS_WHAT_NOT_EVERYBODY_HAS = {"load_the_verdict", "load_smollm2", "continue_text"}
FORWARDS = {name for name in CALLABLES if name.endswith(".forward")}


def sections(docstring: str) -> dict[str, str]:
    """Cut a docstring into its summary and its sections, as Google's style has them."""
    pieces = re.split(r"^(\w+):$", inspect.cleandoc(docstring), flags=re.MULTILINE)
    return {"Summary": pieces[0], **dict(zip(pieces[1::2], pieces[2::2], strict=True))}


@each_callable
def test_a_docstring_begins_with_one_sentence(name: str) -> None:
    first, *_ = sections(CALLABLES[name].__doc__ or "")["Summary"].split("\n\n")
    assert first.strip().endswith("."), first
    assert ". " not in first.replace("e.g. ", "")


@each_callable
def test_a_docstring_explains_every_argument(name: str) -> None:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    parameters = [
        stars.get(parameter.kind, "") + parameter.name
        for parameter in inspect.signature(CALLABLES[name]).parameters.values()
        if parameter.name != "self"
    ]
    args = sections(CALLABLES[name].__doc__ or "").get("Args", "")
    explained = re.findall(r"^    ([*\w]+): \S", args, flags=re.MULTILINE)
    assert explained == parameters or name in ONE_SENTENCE_SAYS_IT_ALL


def has_shapes(annotation: Any) -> bool:
    return any(
        isinstance(part, type) and issubclass(part, AbstractArray) for part in parts(annotation)
    )


@each_callable
def test_a_docstring_has_its_parts(name: str) -> None:
    """What comes out, what is refused, an example; the equation, where tensors become another one."""
    given, needed = CALLABLES[name], set()
    found = {*sections(given.__doc__ or ""), *re.findall(r"\.\. math::", given.__doc__ or "")}
    signature = inspect.signature(given)
    if not isinstance(given, type) and signature.return_annotation is not None:
        needed.add("Returns")
    if re.search(r"\b(require_\w+\(|raise )", inspect.getsource(given)):
        needed.add("Raises")
    if name not in FORWARDS:
        needed.add("Example")
        takes = [parameter.annotation for parameter in signature.parameters.values()]
        if any(map(has_shapes, takes)) and has_shapes(signature.return_annotation):
            needed.add(".. math::")
    if name not in ONE_SENTENCE_SAYS_IT_ALL | NEEDS_WHAT_NOT_EVERYBODY_HAS:
        assert needed <= found


def test_examples_show_what_comes_out() -> None:
    for name, given in CALLABLES.items():
        example = sections(given.__doc__ or "").get("Example")
        assert example is None or re.search(r"^ +>>> .*\n +[^>. ]", example, re.MULTILINE), name


# Types and shapes


def parts(annotation: Any) -> Iterator[Any]:
    yield annotation
    for argument in get_args(annotation):
        yield from parts(argument)


@each_callable
def test_every_tensor_has_a_shape(name: str) -> None:
    signature = inspect.signature(CALLABLES[name])
    annotations = [p.annotation for p in signature.parameters.values() if p.name != "self"]
    if not isinstance(CALLABLES[name], type):
        annotations.append(signature.return_annotation)
    for annotation in annotations:
        assert annotation is not inspect.Signature.empty
        assert Tensor not in list(parts(annotation)), annotation


def test_shapes_are_found_where_they_are_written() -> None:
    """The test above would notice a bare tensor, and sees the shapes of the others."""
    (weights, inputs) = inspect.signature(literate_attention.context_vector).parameters.values()
    for parameter in (weights, inputs):
        (annotation,) = parts(parameter.annotation)
        assert issubclass(annotation, AbstractArray)
    assert Tensor in list(parts(tuple[Tensor, int] | None))


# Which way the imports go

CHAPTERS = re.findall(
    r"^((?:story|models|learned)/\w+)$",
    (DOCS / "index.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
"""In the order in which one reads them: the index is the only place that holds it."""
PARTS = ("story", "models", "learned")
BELOW = {"_argument_checks", "trust/reproducibility"}
AHEAD = {
    "story/self_attention": "story/causal_attention",  # the mask, in the one function that masks scores
    "story/multi_head_attention": "story/fused_attention",  # the kernel, where one place decides
}
"""What grows by a branch in the chapter after the one in which it is built."""
MODULES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports say where they come from"
            assert node.module is not None
            found.add(node.module)
    return found


def may_import(module: str) -> set[str]:
    """Return which modules of the package a module may import, as paths without their ending."""
    stem = module.removesuffix(".py")
    room = stem.partition("/")[0]
    if room == "figures":
        return {name.removesuffix(".py") for name in MODULES if name.startswith("figures/")}
    if room == "exercises":
        return {*BELOW, "exercises/_judging", "exercises/_common_mistakes", *CHAPTERS}
    if stem in BELOW:
        return {"_argument_checks"} - {stem}
    in_common = {name.removesuffix(".py") for name in MODULES if name.startswith(f"{room}/")}
    if stem in CHAPTERS:
        earlier = CHAPTERS[: CHAPTERS.index(stem)]
        return {*BELOW, *earlier, *in_common.difference(CHAPTERS), AHEAD.get(stem, stem)}
    before = PARTS[: PARTS.index(room) + 1]  # no chapter, but what chapters of its part stand on
    return {*BELOW, *(name.removesuffix(".py") for name in MODULES if name.startswith(before))}


@pytest.mark.parametrize("module", [name for name in MODULES if not name.endswith("__init__.py")])
def test_a_module_imports_only_what_comes_before_it(module: str) -> None:
    """Chapters import earlier chapters, and what lies below them all; drawings import drawings."""
    ours = {name for name in imports(SOURCE / module) if name.startswith("literate_attention.")}
    stems = {name.partition(".")[2].replace(".", "/") for name in ours}
    assert stems <= may_import(module)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_what_the_package_depends_on(module: str) -> None:
    allowed = {re.match(r"[\w-]+", need)[0].replace("-", "_") for need in PROJECT["dependencies"]}
    if not module.startswith("figures/"):
        allowed.remove("matplotlib")
    if module == "models/model_file.py":
        allowed.add("gguf")  # asked for only where a model's file is read for the first time
    roots = {name.split(".")[0] for name in imports(SOURCE / module)}
    assert roots - sys.stdlib_module_names - {"literate_attention"} <= allowed


# What is shipped, and what it costs


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.iterdir()
    return built


def test_the_wheel_holds_the_package_its_types_and_its_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (info,) = {name.split("/")[0] for name in names if ".dist-info/" in name}
        licence = archive.read(f"{info}/licenses/LICENSE").decode()
    assert licence == (ROOT / "LICENSE").read_text(encoding="utf-8")
    shipped = {name for name in names if not name.startswith(info)}
    assert shipped == {f"literate_attention/{name}" for name in [*MODULES, "py.typed"]}


def test_the_wheel_says_what_it_is_and_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (path,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(archive.read(path).decode())
    assert metadata["Name"] == PROJECT["name"]
    assert metadata["Version"] == PROJECT["version"]
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert sorted(metadata.get_all("Requires-Dist", [])) == sorted(PROJECT["dependencies"])


WATCHED_IMPORT = """
import json, random, sys
sys.path.insert(0, sys.argv[1])
import torch, numpy
before = set(sys.modules)
events = []
states = torch.get_rng_state(), random.getstate()
settings = torch.get_default_dtype(), torch.get_default_device(), torch.is_grad_enabled()

def watch(event, arguments):
    writes = event == "open" and str(arguments[1] or "r")[0] in "wax"
    if writes or event.startswith(("socket.", "subprocess.", "os.fork", "shutil.", "urllib.")):
        events.append((event, str(arguments)))

sys.addaudithook(watch)
import literate_attention
changed = not torch.equal(states[0], torch.get_rng_state()) or states[1] != random.getstate()
changed |= settings != (
    torch.get_default_dtype(), torch.get_default_device(), torch.is_grad_enabled()
)
print(json.dumps({
    "file": literate_attention.__file__,
    "packages": sorted({name.split(".")[0] for name in set(sys.modules) - before}),
    "events": events,
    "changed": changed,
}))
"""


@pytest.fixture(scope="module")
def watched_import(wheel: Path) -> dict[str, Any]:
    """Import what is shipped in a process of its own, and report what that did."""
    command = [sys.executable, "-B", "-I", "-c", WATCHED_IMPORT, str(wheel)]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    assert result.stderr == ""
    report: dict[str, Any] = json.loads(result.stdout)
    assert str(wheel) in report["file"]
    return report


def test_importing_costs_what_torch_costs(watched_import: dict[str, Any]) -> None:
    """No Sphinx, no IPython, no matplotlib, no test tools: nothing but what is needed at once."""
    packages = set(watched_import["packages"]) - sys.stdlib_module_names
    assert packages <= {
        "jaxtyping",
        "literate_attention",
        "numpy",
        "platformdirs",
        "tiktoken",
        "tiktoken_ext",
        "torch",
        "typing_extensions",
    }


def test_importing_does_nothing(watched_import: dict[str, Any]) -> None:
    """No file is written, no network asked, no process started, no generator or setting touched."""
    assert watched_import["events"] == []
    assert not watched_import["changed"]
