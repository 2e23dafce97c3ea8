"""The site as one file beside the output folder, to be read without a network.

Unpacked, it opens from the disk, search included. The same site gives the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo
from zlib import crc32

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config


def file_name(config: Config) -> str:
    """Return what a book is called where it is one file: its title, in small letters and hyphens."""
    return nodes.make_id(config.project)


def write_archive(app: Sphinx, exception: Exception | None) -> None:
    """Pack the site that was built, unless the archive holds it already."""
    if exception or app.builder.name != "html" or not app.config.book_archive:
        return
    site = Path(app.outdir)
    name = file_name(app.config)
    target = site.with_name(f"{name}.zip")
    files = {
        f"{name}/{path.relative_to(site).as_posix()}": path.read_bytes()
        for path in sorted(site.rglob("*"))
        if path.is_file() and not is_hidden(path, site)
    }
    if holds(target, files):
        return
    partial = target.with_suffix(".partial")
    with ZipFile(partial, "w") as archive:
        for path, content in files.items():
            # A date of its own would make each archive another one.
            entry = ZipInfo(path)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, ZIP_DEFLATED)
    os.replace(partial, target)


def holds(archive: Path, files: Mapping[str, bytes]) -> bool:
    """Tell whether an archive holds these files and no others, by their checksums."""
    try:
        with ZipFile(archive) as packed:
            known = {entry.filename: (entry.file_size, entry.CRC) for entry in packed.infolist()}
    except (OSError, BadZipFile):
        return False
    return known == {path: (len(content), crc32(content)) for path, content in files.items()}


def is_hidden(path: Path, site: Path) -> bool:
    """Tell whether a file, or a folder that it is in, is for the build and not for readers."""
    return any(part.startswith(".") for part in path.relative_to(site).parts)
