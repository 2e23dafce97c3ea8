"""Drawing stays apart: figures need nothing of the package, and nothing else needs matplotlib."""

import re
from pathlib import Path

import literate_attention as la

SOURCE = Path(la.__file__).parent
FIGURES = SOURCE / "figures"


def imports(path: Path) -> list[str]:
    return re.findall(r"^\s*(?:from|import) ([\w.]+)", path.read_text(encoding="utf-8"), re.M)


def test_figures_import_nothing_of_the_package() -> None:
    ours = [name for path in FIGURES.rglob("*.py") for name in imports(path) if name[:4] == "lite"]
    assert ours
    assert all(name.startswith("literate_attention.figures.") for name in ours)


def test_nothing_else_imports_matplotlib() -> None:
    rest = [path for path in SOURCE.rglob("*.py") if FIGURES not in path.parents]
    assert rest
    for path in rest:
        assert not [name for name in imports(path) if name.startswith("matplotlib")], path
