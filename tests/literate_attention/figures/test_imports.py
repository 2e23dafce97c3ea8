"""Drawing stays apart: figures need nothing of the package, and nothing else needs matplotlib."""

import ast
from pathlib import Path

import literate_attention as la

SOURCE = Path(la.__file__).parent


def test_figures_import_nothing_of_the_package() -> None:
    inside = {name for path in (SOURCE / "figures").rglob("*.py") for name in imports(path)}
    ours = {name for name in inside if name.startswith("literate_attention")}
    assert ours
    assert all(name.startswith("literate_attention.figures") for name in ours)


def test_nothing_else_imports_matplotlib() -> None:
    rest = [path for path in SOURCE.rglob("*.py") if SOURCE / "figures" not in path.parents]
    assert rest
    for path in rest:
        assert not {name for name in imports(path) if name.startswith("matplotlib")}, path


def imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        name
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [str(node.module)]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
