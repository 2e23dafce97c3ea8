"""Every executed page as a notebook: with its outputs, in plain Markdown, ready to run elsewhere.

There are two of each page that has exercises: one for students, without solutions and with an empty cell for
each answer, and one with everything. Both come from the page itself, as Sphinx resolved it. The first cell of
a notebook installs the package as it was when the page was built: the release, or the commit.

They are published in the folder `notebooks` of the site, and on a branch of the repository.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import nbformat
from docutils import nodes
from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx_exercise.nodes import solution_node  # type: ignore[import-untyped]

from executable_book.book_domain import page_data
from executable_book.files_on_disk import write_atomically
from executable_book.publish.notebook_cells import NotebookCells
from executable_book.publish.repository import CHANGED
from executable_book.run.page_execution import EXECUTIONS, executed_notebook, tags_of
from executable_book.site_builds import is_site

FOLDER = "notebooks"
BRANCH = "notebooks"
"""Where the publishing workflow puts them: Colab opens notebooks of a branch on GitHub, and no others."""
WITH_SOLUTIONS = "_with_solutions"
GITHUB = "https://github.com/"
COLAB = "https://colab.research.google.com/github/"
HIDDEN = {"hide-input": "source_hidden", "hide-output": "outputs_hidden"}


# A notebook


def setup_cell(config: Config, address: str, needs: list[str]) -> NotebookNode:
    """Return the cell that installs the package, and says how sure it is that it is the same.

    Args:
        config: the settings of the build.
        address: where the page is on the web.
        needs: other packages that the page imports.
    """
    commit, changed, _ = config.book_commit.partition(CHANGED)
    lines, packages = [f"# {address}"], needs
    if config.book_release and config.book_distribution:
        packages = [f"{config.book_distribution}=={config.book_release}", *needs]
    elif config.book_distribution:
        package = f"{config.book_distribution} @ git+{config.book_repository}"
        packages = [f"{package}@{commit}" if commit else package, *needs]
    if not commit:
        lines.append("# No commit is known of which this page was built. The newest is installed.")
    elif changed:
        lines.append("# This page was built with changes that the commit below does not hold.")
    if packages:
        lines.append(" ".join(["%pip install --quiet", *(f'"{name}"' for name in packages)]))
    return nbformat.v4.new_code_cell("\n".join(lines))


def further_packages(codes: list[str], package: str) -> list[str]:
    """Return the packages that code imports and that do not come with the book's own."""
    modules = set()
    for code in codes:
        for node in ast.walk(parsed(code)):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module.partition(".")[0])
    requirements = metadata.requires(package) or () if package else ()
    needs = {re.split(r"[^\w-]", need)[0] for need in requirements}
    comes_along = {package, "ipython", *needs}
    known = sys.stdlib_module_names | {name.replace("-", "_") for name in comes_along}
    found = {providers().get(name, [name])[0] for name in modules - known}
    return sorted({name.replace("_", "-") for name in found} - comes_along)


def parsed(code: str) -> ast.AST:
    """Parse code as IPython takes it; a mistake that is shown on purpose counts as nothing."""
    with suppress(SyntaxError):
        return ast.parse(code)
    with suppress(SyntaxError):
        return ast.parse(TransformerManager().transform_cell(code))
    return ast.Module([], [])


@functools.cache
def providers() -> Mapping[str, list[str]]:
    """Return the installed packages that provide each module: it takes half a second to find out."""
    return metadata.packages_distributions()


def as_a_reader_has_it(cell: NotebookNode) -> NotebookNode:
    """Return a code cell without what is only meant for this book's build."""
    cell = nbformat.from_dict(cell)
    tags = tags_of(cell)
    jupyter = {HIDDEN[tag]: True for tag in tags if tag in HIDDEN}
    reason = cell.metadata.get("nondeterministic")
    about = {"tags": tags, "jupyter": jupyter, "nondeterministic": reason}
    cell.metadata = {name: value for name, value in about.items() if value}
    cell.outputs = [one for one in cell.outputs if "scrapbook" not in one.get("metadata", {})]
    return cell


def notebook_of(
    app: Sphinx, docname: str, page: nodes.document, executed: NotebookNode, solutions: bool
) -> NotebookNode:
    """Return a page as a notebook, with or without its solutions."""
    address = urljoin(app.config.html_baseurl, app.builder.get_target_uri(docname))
    code = {
        number: as_a_reader_has_it(cell)
        for number, cell in enumerate(executed.cells)
        if cell.cell_type == "code"
    }
    numbers = app.env.toc_fignumbers.get(docname, {})
    cells = NotebookCells(address, numbers, solutions=solutions, code=code).cells(page)
    codes = [cell.source for cell in cells if cell.cell_type == "code"]
    needs = further_packages(codes, app.config.book_distribution)
    cells.insert(0, setup_cell(app.config, address, needs))
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    about = {"kernelspec": kernelspec, "language_info": executed.metadata["language_info"]}
    return nbformat.v4.new_notebook(cells=cells, metadata=about)


# The files


def path_of(app: Sphinx, docname: str, solutions: bool = False) -> Path:
    """Return where a page's notebook is published."""
    return Path(app.outdir, FOLDER, f"{docname}{WITH_SOLUTIONS * solutions}.ipynb")


def publish(app: Sphinx, page: nodes.document, docname: str) -> None:
    """Write the notebooks of a page that is about to be written."""
    if is_site(app) and (executed := executed_notebook(app, docname)):
        write(app, docname, page, executed, solutions=False)
        if any(page.findall(solution_node)):
            write(app, docname, page, executed, solutions=True)
        else:
            path_of(app, docname, solutions=True).unlink(missing_ok=True)


def write(
    app: Sphinx, docname: str, page: nodes.document, executed: NotebookNode, *, solutions: bool
) -> None:
    """Write one notebook of a page."""
    notebook = notebook_of(app, docname, page, executed, solutions)
    write_atomically(path_of(app, docname, solutions), nbformat.writes(notebook) + "\n")


def missing(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Have pages written again whose notebooks are gone."""
    if not is_site(app):
        return []
    return [docname for docname in page_data(env, EXECUTIONS) if not path_of(app, docname).exists()]


# The links in a page's header


def add_links(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Hand the links to a page's notebooks to `_templates/page-links.html`."""
    if not is_site(app) or page not in page_data(app.env, EXECUTIONS):
        return
    names = {"Notebook": path_of(app, page)}
    if path_of(app, page, solutions=True).exists():
        names["Notebook with solutions"] = path_of(app, page, solutions=True)
    addresses = {name: path.relative_to(app.outdir).as_posix() for name, path in names.items()}
    context["notebooks"] = {
        name: context["pathto"](address, 1) for name, address in addresses.items()
    }
    repository = app.config.book_repository
    if repository.startswith(GITHUB):
        name = repository.removeprefix(GITHUB)
        context["colab"] = f"{COLAB}{name}/blob/{BRANCH}/{page}.ipynb"
