"""Which builds make a site, as opposed to an e-book, and in which order its pages stand."""

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def is_site(app: Sphinx) -> bool:
    """Tell whether a build makes a site."""
    return app.builder.name == "html"


def in_order(env: BuildEnvironment) -> list[str]:
    """Return the pages in the order of the contents."""
    return [*env.collect_relations()]
