"""The list of all pages for search engines, `sitemap.xml`.

An extension for it exists, but it lists what a build wrote: after a build that wrote one page, that one.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urljoin
from xml.sax.saxutils import escape

from sphinx.application import Sphinx

from executable_book.files_on_disk import write_if_changed
from executable_book.site_builds import is_site

NAME = "sitemap.xml"
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def sitemap(addresses: list[str]) -> str:
    """Return a sitemap of pages, given their addresses on the web."""
    entries = "".join(f"<url><loc>{escape(address)}</loc></url>\n" for address in addresses)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="{NAMESPACE}">\n{entries}</urlset>\n'


def write_sitemap(app: Sphinx, exception: Exception | None) -> None:
    """Write the sitemap of a site."""
    if exception is None and is_site(app):
        pages = sorted(app.env.found_docs)
        base = app.config.html_baseurl
        addresses = [urljoin(base, app.builder.get_target_uri(page)) for page in pages]
        write_if_changed(Path(app.outdir, NAME), sitemap(addresses))
