"""The site as one file beside the output folder, when `book_archive` is set, to be read without a network.

Unpacked, it opens from the disk, search included. The same site gives the same bytes.
"""

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config


def file_name(config: Config) -> str:
    """Return what a book is called where it is one file: its title, in small letters and hyphens."""
    return nodes.make_id(config.project)


def write_archive(app: Sphinx) -> None:
    """Pack the site that was built."""
    if app.builder.name != "html" or not app.config.book_archive:
        return
    site, name = Path(app.outdir), file_name(app.config)
    with ZipFile(site.with_name(f"{name}.zip"), "w") as archive:
        for path in sorted(site.rglob("*")):
            if path.is_file() and not is_hidden(path, site):
                # A date of its own would make each archive another one.
                entry = ZipInfo(f"{name}/{path.relative_to(site).as_posix()}")
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, path.read_bytes(), ZIP_DEFLATED)


def is_hidden(path: Path, site: Path) -> bool:
    """Tell whether a file, or a folder that it is in, is for the build and not for readers."""
    return any(part.startswith(".") for part in path.relative_to(site).parts)
