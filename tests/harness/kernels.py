"""Books for tests whose pages run in real kernels."""

from pathlib import Path

from harness.books import make_book, settings_for

PRELOAD = ("torch", "matplotlib.pyplot")


def alive(pid):
    """Tell whether a process is at work."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def book_with_kernels(root, *checks, **more):
    """Make a book whose pages run in real kernels, with a module that they may import."""
    settings = settings_for("execution", *checks) | {"nb_execution_mode": "cache"} | more
    book = make_book(
        root,
        **settings,
        book_depends=["../src"],
        book_variables=["SOME_DEVICE"],
        book_kernel_preload=[*PRELOAD],
        book_versions=["torch"],
    )
    book.write("../src/library.py", "ANSWER = 42\n")
    return book


def titled(book, name, *parts, **options) -> None:
    """Write a page with a title."""
    book.page(name, f"# {Path(name).stem.title()}\n", *parts, **options)
