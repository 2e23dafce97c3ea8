"""A page is read again if its file, or one that it depends on, holds something else than when it was read.

Sphinx compares times, so that an older page, copied over a newer one with its time, stays unread.
"""

from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from executable_book.files_on_disk import digest_of
from executable_book.remembered import page_data, set_page_data

FILES = "files"


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Store the digests of the files of a page that has been read."""
    page = app.env.docname
    files = (app.env.doc2path(page, base=False), *sorted(app.env.dependencies[page]))
    digests = {str(file): digest_of(Path(app.srcdir, file)) for file in files}
    set_page_data(app.env, FILES, page, digests)


def outdated(app: Sphinx, env: BuildEnvironment, *_: set[str]) -> set[str]:
    """Return the pages whose files are not those that were read."""
    digest = cache(lambda file: digest_of(Path(app.srcdir, file)))
    known: dict[str, dict[str, str]] = page_data(env, FILES)
    return {page for page in known if any(digest(one) != was for one, was in known[page].items())}
