"""What a book tells the tool chain, in its conf.py."""

from pathlib import Path
from typing import Any, Literal

from sphinx.application import Sphinx

from executable_book.files_on_disk import digest_of
from executable_book.repository import commit_of, date_of, release_of, repository_in


def declare(app: Sphinx) -> None:
    """Declare all settings: name, what holds unless conf.py says otherwise, and what a change does."""
    root = Path(app.confdir).parent
    settings: list[tuple[str, Any, Literal["", "env", "html"]]] = [
        # The package that is taught; paths start from the book's folder
        ("package", "", "env"),  # its folder, e.g. "../src/package"
        ("distribution", "", "html"),  # what pip calls it
        ("line_shapes", False, "html"),  # run its examples, and show the shapes that lines make
        ("taught", [], ""),  # the parts of it that pages show whole
        # Execution
        ("depends", [], ""),  # files and folders that change outputs
        ("variables", [], ""),  # environment variables that do
        ("not_executed", [], "env"),  # pages that are read, and neither run nor judged
        ("kernel_preload", [], ""),  # modules that kernels start with
        ("versions", [], ""),  # distributions that a page's foot names
        ("device", "", ""),  # "module:function" that names the device
        # Checks
        ("ledger", "", "env"),  # what sources print
        ("record", False, ""),  # rewrite the recorded outputs
        # What older tools have stored is read again; not for conf.py.
        ("tools", digest_of(Path(__file__).parent), "env"),
        # What is published
        ("repository", repository_in(root / "pyproject.toml"), "html"),
        ("commit", commit_of(root), "html"),
        ("date", date_of(root), "html"),  # the day of that commit
        ("release", release_of(root), "html"),
        # What notebooks install besides the package: arguments of pip, by a word of code that needs it
        ("notebook_installs", {}, "html"),
        ("data", "", "html"),  # a folder of JSON that notebooks bring along
        ("pdf", False, ""),
        ("pdf_leaves_out", [], ""),  # pages that say nothing on paper
        ("pdf_style", "", ""),  # a style sheet for what only the PDF has
        ("search", False, "env"),  # write sections.js for a search of our own, not Sphinx's index
        ("search_last", [], ""),  # pages, or folders, that answer last
        # Cut styles and fonts down to what pages use: for a theme whose templates link no file that
        # other extensions copy, as these will not copy it over one that was cut.
        ("cut_assets", False, ""),
    ]
    for name, default, rebuild in settings:
        app.add_config_value(f"book_{name}", default, rebuild, type(default))
