"""Kernels for tests: what they start with, and pages that run in them without a build."""

from pathlib import Path

import nbformat
from harness.books import Book, make_book, settings_for

from executable_book.run.kernels import notebook_runner
from executable_book.run.kernels.kernel_settings import KernelSettings

KERNELS = KernelSettings(
    preload=("torch", "matplotlib.pyplot"),
    startup=("executable_book.run.kernels.torch_tensors:install",),
    versions=("torch",),
)
LEAN = KernelSettings()
"""For tests that start a server of their own, where it does not matter what it imports."""


def run(*codes: str, settings: KernelSettings = KERNELS) -> list[notebook_runner.Execution]:
    """Run pages, each given as its cells with `%%` between them."""
    cells = [[nbformat.v4.new_code_cell(one) for one in code.split("%%\n")] for code in codes]
    notebooks = {str(n): nbformat.v4.new_notebook(cells=one) for n, one in enumerate(cells)}
    folders = dict.fromkeys(notebooks, "/")
    with notebook_runner.executing(notebooks, folders, settings, timeout=300) as finished:
        executions = dict(finished)
    return [executions[name] for name in notebooks]


def printed(execution: notebook_runner.Execution) -> str:
    """Return what a page printed, which must not have failed."""
    assert execution.failure is None, execution.failure
    outputs = [output for one in execution.notebook.cells for output in one.outputs]
    return "".join(output.get("text", "") for output in outputs)


def alive(pid: int) -> bool:
    """Tell whether a process is at work."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def book_with_kernels(root: Path, *checks: str, kernels: KernelSettings = KERNELS) -> Book:
    """Make a book whose pages run in real kernels, with a module that they may import."""
    book = make_book(
        root,
        **settings_for("execution", *checks),
        book_depends=["../src"],
        book_variables=["SOME_DEVICE"],
        book_kernel_preload=[*kernels.preload],
        book_kernel_startup=[*kernels.startup],
        book_versions=[*kernels.versions],
    )
    book.write("../src/library.py", "ANSWER = 42\n")
    return book


def titled(book: Book, name: str, *parts: str, **options: str) -> None:
    """Write a page with a title."""
    book.page(name, f"# {Path(name).stem.title()}\n", *parts, **options)
