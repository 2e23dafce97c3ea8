"""Makes true pages of a MyST book: runs them, checks what they print, shows the library that they teach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PARTS = (
    "run.page_execution",
    "check.source_ledger",
    "check.recorded_outputs",
    "check.numbers_in_prose",
    "check.measurements",
    "check.status_table",
    "code.listings",
    "check.taught_code",
    "code.reference_links",
    "code.signatures",
    "html.citations",
    "html.foldable",
    "html.image_preload",
    "html.mathml",
    "html.page_metadata",
    "html.proof_marks",
    "html.provenance_foot",
    "html.search_index",
    "html.template_cache",
    "html.unused_assets",
    "publish.notebooks",
    "publish.pdf",
    "publish.sitemap",
    "publish.zip_archive",
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Set up all parts."""
    for part in PARTS:
        app.setup_extension(f"{__name__}.{part}")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
