"""Which builds make a site, as opposed to a book on paper, an e-book, or nothing but a judgement."""

from sphinx.application import Sphinx


def is_site(app: Sphinx) -> bool:
    """Tell whether a build makes a site, a page of which is a file of its own."""
    return app.builder.name in {"html", "dirhtml"}
