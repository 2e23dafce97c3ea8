"""Which builds make a site, as opposed to an e-book, and in which order its pages stand."""

from collections.abc import Iterator

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def is_site(app: Sphinx) -> bool:
    """Tell whether a build makes a site."""
    return app.builder.name == "html"


def in_order(env: BuildEnvironment) -> Iterator[str]:
    """Yield the pages in the order of the contents."""
    following = {page: after for page, (_, _, after) in env.collect_relations().items()}
    page: str | None = env.config.root_doc
    while page is not None:
        yield page
        page = following.get(page)
