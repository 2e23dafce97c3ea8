"""The book, kept by a reader's browser, to be read without a network.

A service worker has to stand at the root of what it keeps. So a build writes `worker.js` there, made of
`offline_worker.js` and the name of this edition, a digest of all that is kept: another edition is another
script, which browsers notice. `offline.json` says what is kept, and how large it is, before a reader decides.
"""

import json
from fnmatch import fnmatch
from pathlib import Path

from sphinx.application import Sphinx

from executable_book.files_on_disk import digest_of, sha256, write_if_changed

WORKER, LIST = "worker.js", "offline.json"
SOURCE = Path(__file__).with_name("offline_worker.js")
FOR_OTHERS = (".*", "notebooks/*", "llms-full.txt", "objects.inv", WORKER, LIST)
"""What is not kept: it is of use elsewhere, or in the end another copy of the book."""


def write_worker(app: Sphinx) -> None:
    """Write the worker of a site, and the list of what it keeps."""
    site = Path(app.outdir)
    names = files_to_read(site)
    edition = sha256("\n".join(f"{name} {digest_of(site / name)}" for name in names))[:16]
    size = sum((site / name).stat().st_size for name in names)
    write_if_changed(site / LIST, json.dumps({"bytes": size, "files": names}, indent=0) + "\n")
    source = SOURCE.read_text(encoding="utf-8")
    write_if_changed(site / WORKER, f'const EDITION = "{edition}";\n\n{source}')


def files_to_read(site: Path) -> list[str]:
    """Return the files that a reader needs."""
    paths = (path for path in site.rglob("*") if path.is_file())
    names = sorted(path.relative_to(site).as_posix() for path in paths)
    return [name for name in names if not any(fnmatch(name, one) for one in FOR_OTHERS)]
