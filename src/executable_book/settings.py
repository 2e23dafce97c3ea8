"""What a book tells the tool chain, in its conf.py."""

from pathlib import Path

from sphinx.application import Sphinx

from executable_book.files_on_disk import digest_of
from executable_book.publish.repository import commit_of, date_of, release_of, repository_in


def declare(app: Sphinx) -> None:
    """Declare all settings: name, what holds unless conf.py says otherwise, and what a change does."""
    root = Path(app.confdir).parent

    # The package that is taught; paths start from the book's folder
    app.add_config_value("book_package", "", "env", str)  # its folder, e.g. "../src/package"
    app.add_config_value("book_distribution", "", "html", str)  # what pip calls it
    # Run the examples of its docstrings, and write the shapes that lines make to the listings.
    app.add_config_value("book_line_shapes", False, "html", bool)
    app.add_config_value("book_tests", "", "env", str)  # the folder of its tests
    app.add_config_value("book_taught", [], "", list)  # the parts of it that pages show whole

    # Execution
    app.add_config_value("book_depends", [], "", list)  # files and folders that change outputs
    app.add_config_value("book_variables", [], "", list)  # environment variables that do
    app.add_config_value("book_kernel_preload", [], "", list)  # modules that kernels start with
    app.add_config_value("book_versions", [], "", list)  # distributions that a page's foot names
    app.add_config_value("book_device", "", "", str)  # "module:function" that names the device

    # Checks
    app.add_config_value("book_ledger", "", "env", str)  # what sources print
    app.add_config_value("book_record", False, "", bool)  # rewrite the recorded outputs
    # What older tools have stored is read again; not for conf.py.
    app.add_config_value("book_tools", digest_of(Path(__file__).parent), "env", str)

    # What is published
    app.add_config_value("book_repository", repository_in(root / "pyproject.toml"), "html", str)
    app.add_config_value("book_commit", commit_of(root), "html", str)
    app.add_config_value("book_date", date_of(root), "html", str)  # the day of that commit
    app.add_config_value("book_release", release_of(root), "html", str)
    # What notebooks install besides the package, as arguments of pip, by a word of their code that needs it.
    app.add_config_value("book_notebook_installs", {}, "html", dict)
    app.add_config_value(
        "book_data", "", "html", str
    )  # a folder of JSON that notebooks bring along
    app.add_config_value("book_pdf", False, "", bool)
    app.add_config_value("book_pdf_leaves_out", [], "", list)  # pages that say nothing on paper
    app.add_config_value("book_pdf_style", "", "", str)  # a style sheet for what only the PDF has
    # Write sections.js for a search of the book's own, instead of Sphinx's index.
    app.add_config_value("book_search", False, "env", bool)
    app.add_config_value("book_search_last", [], "", list)  # pages, or folders, that answer last
    # Cut styles and fonts down to what pages use: for a theme whose templates link no file that other
    # extensions copy, as these will not copy it over one that was cut.
    app.add_config_value("book_cut_assets", False, "", bool)
