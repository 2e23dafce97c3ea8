"""Every executed page as a notebook: with its outputs, in plain Markdown, ready to run elsewhere.

There are two of each page that has exercises: one for students, without solutions and with an empty cell for
each answer, and one with everything. The first cell installs the package as it was when the page was built,
and what else the page needs. Data that the page reads come along in a cell of their own.

They are published in the folder `notebooks` of the site, and on a branch of the repository.
"""

import re
from base64 import b64encode
from pathlib import Path
from posixpath import dirname, relpath
from typing import Any
from urllib.parse import urljoin

import nbformat
from docutils import nodes
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx_exercise.nodes import solution_node  # type: ignore[import-untyped]

from executable_book.files_on_disk import write_if_changed
from executable_book.publish.plain_markdown import PlainMarkdown
from executable_book.remembered import is_site, page_data
from executable_book.repository import CHANGED
from executable_book.run.executed_cells import EXECUTIONS, is_cell
from executable_book.run.page_execution import executed_notebook

FOLDER = "notebooks"
BRANCH = "notebooks"
"""Where the publishing workflow puts them: Colab opens notebooks of a branch on GitHub, and no others."""
WITH_SOLUTIONS = "_with_solutions"
GITHUB = "https://github.com/"
COLAB = "https://colab.research.google.com/github/"
HIDDEN = {"input": ["source_hidden"], "output": ["outputs_hidden"]}
HIDDEN["cell"] = HIDDEN["input"] + HIDDEN["output"]
"""What a tag says that begins with `hide-` or `remove-`: the code is there, for the cells that follow."""
SOLUTION = re.compile(r"\{solution-(start|end)\}")
KEPT = {"raises-exception", "skip-execution"}
OFFLINE = "# Installing needs a network, once. After that you can skip this cell, and work offline."


def setup_cell(config: Config, address: str, code: str) -> NotebookNode:
    """Return the cell that installs what the code of a page needs, which is at some address."""
    package = config.book_distribution
    commit = config.book_commit.removesuffix(CHANGED)
    origin = f"{config.book_repository}@{commit}" if commit else config.book_repository
    exactly = f"=={config.book_release}" if config.book_release else f" @ git+{origin}"
    commands = [f'"{package}{exactly}"'] if package else []
    for word, arguments in config.book_notebook_installs.items():
        if re.search(rf"\b{word}\b", code):
            commands += arguments
    installs = [OFFLINE, *(f"%pip install --quiet {command}" for command in commands)]
    return nbformat.v4.new_code_cell("\n".join([f"# {address}", *(installs if commands else ())]))


def data_cell(folder: Path, code: str) -> NotebookNode:
    """Return a cell that writes the data that a page reads into a folder beside the notebook."""
    lines = [
        "# What this page shows of data, as files beside this notebook.",
        "from base64 import b64decode",
        "from pathlib import Path\n",
        f'Path("{folder.name}").mkdir(exist_ok=True)',
    ]
    for path in sorted(folder.iterdir()):
        some = path.suffix == ".json" and (f'"{path.stem}' in code or ".glob(" in code)
        if some or f'"{path.name}"' in code:
            letters = b64encode(path.read_bytes()).decode()
            where = f"{folder.name}/{path.name}"
            lines.append(f'_ = Path("{where}").write_bytes(b64decode("{letters}"))')
    hidden = {"jupyter": {"source_hidden": True}}
    return nbformat.v4.new_code_cell("\n".join(lines), metadata=hidden)


def cleaned(cell: NotebookNode) -> NotebookNode:
    """Return a code cell without what is only meant for this book's build."""
    tags = cell.metadata.get("tags", ())
    parts = (re.sub("^(hide|remove)-", "", tag) for tag in tags)
    jupyter = {name: True for part in parts for name in HIDDEN.get(part, ())}
    metadata = {
        "jupyter": jupyter,
        "nondeterministic": cell.metadata.get("nondeterministic"),
        "tags": [tag for tag in tags if tag in KEPT],
    }
    said = {name: value for name, value in metadata.items() if value}
    return nbformat.from_dict(cell | {"metadata": said})


def codes_of(
    page: nodes.document, executed: NotebookNode, solutions: bool
) -> dict[int, list[NotebookNode]]:
    """Return each cell that a page shows, by its place, with those behind it that the page leaves out.

    What it leaves out before all others stands at -1.
    """
    shown = {cell["cell_index"] for cell in page.findall(is_cell)}  # type: ignore[index]
    codes: dict[int, list[NotebookNode]] = {-1: []}
    last, in_solution = -1, False
    for place, cell in enumerate(executed.cells):
        if cell.cell_type != "code":
            for mark in SOLUTION.findall(cell.source):
                in_solution = mark == "start"
        elif solutions or not in_solution:
            last = place if place in shown else last
            codes.setdefault(last, []).append(cleaned(cell))
    return codes


def notebook_of(
    app: Sphinx, docname: str, page: nodes.document, executed: NotebookNode, solutions: bool
) -> NotebookNode:
    """Return a page as a notebook, with or without its solutions."""
    config = app.config
    address = urljoin(config.html_baseurl, app.builder.get_target_uri(docname))
    numbers = app.env.toc_fignumbers.get(docname, {})
    codes = codes_of(page, executed, solutions)
    writer = PlainMarkdown(
        address, numbers, solutions=solutions, code=codes, site=config.html_baseurl
    )
    cells = codes[-1] + writer.cells(page)
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    first = [setup_cell(config, address, code)]
    in_page = f'"{relpath(config.book_data, dirname(docname) or ".")}"' if config.book_data else ""
    if in_page and in_page in code:
        first.append(data_cell(Path(app.confdir, config.book_data), code))
        for cell in (one for one in cells if one.cell_type == "code"):
            cell.source = cell.source.replace(in_page, f'"{Path(config.book_data).name}"')
    cells = first + cells
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernelspec, "language_info": executed.metadata["language_info"]}
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


def path_of(app: Sphinx, docname: str, solutions: bool = False) -> Path:
    """Return where a page's notebook is published."""
    return Path(app.outdir, FOLDER, f"{docname}{WITH_SOLUTIONS * solutions}.ipynb")


def publish(app: Sphinx, page: nodes.document, docname: str) -> None:
    """Write the notebooks of a page that is about to be written."""
    if not is_site(app):
        return
    executed = executed_notebook(app, docname)
    for solutions in (False, True):
        path = path_of(app, docname, solutions)
        if not executed or (solutions and not any(page.findall(solution_node))):
            path.unlink(missing_ok=True)
        else:
            notebook = notebook_of(app, docname, page, executed, solutions)
            write_if_changed(path, nbformat.writes(notebook) + "\n")


def add_links(app: Sphinx, page: str, template: str, context: dict[str, Any], *_: Any) -> None:
    """Hand the links to a page's notebooks to `_templates/page-links.html`."""
    if not is_site(app) or page not in page_data(app.env, EXECUTIONS):
        return
    names = {"Notebook": path_of(app, page), "Notebook with solutions": path_of(app, page, True)}
    context["notebooks"] = {
        name: context["pathto"](path.relative_to(app.outdir).as_posix(), 1)
        for name, path in names.items()
        if path.exists()
    }
    repository = app.config.book_repository
    if context["notebooks"] and repository.startswith(GITHUB):
        name = repository.removeprefix(GITHUB)
        context["colab"] = f"{COLAB}{name}/blob/{BRANCH}/{page}.ipynb"
