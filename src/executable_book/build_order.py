"""The order of all that happens in a build, and what the tool chain adds to Sphinx.

Each part offers functions and knows nothing of when they are called: that is written here, once. Within an
event, functions run in the order in which they stand.
"""

import atexit
import gc
from collections.abc import Callable
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.writers.html5 import HTML5Translator
from sphinx_exercise.nodes import solution_node  # type: ignore[import-untyped]

from executable_book import repository, settings
from executable_book.check import (
    numbers_in_prose,
    page_troubles,
    proof_marks,
    recorded_outputs,
    source_ledger,
    taught_code,
)
from executable_book.code import line_shapes, listings, reference_links
from executable_book.html import foldable, mathml, page_body, unused_assets
from executable_book.publish import epub, markdown_pages, notebooks, pdf
from executable_book.reading_aids import offline_copy, section_index, term_links
from executable_book.remembered import Fill, Placeholder, PlaceholderDirective, is_site
from executable_book.repeated_warnings import PagesWithWarnings, reporter
from executable_book.run import (
    build_folder,
    executed_cells,
    page_execution,
    pages_to_read,
)

BEFORE_ALL_OTHERS, AMONG_OTHERS, AFTER_ALL_OTHERS = 100, 500, 900
"""Sphinx and other extensions connect their functions with the first priority."""

PLACEHOLDERS: dict[str, Fill] = {
    "api entry": reference_links.entry_details,
    "left out": listings.left_out,
    "output status": source_ledger.output_status,
    "page foot": proof_marks.page_foot,
    "page note": page_troubles.page_note,
    source_ledger.SUMMARY: page_troubles.say_summary,
}
"""What is written once all pages have been read, by the kind of its placeholder."""


def connect(app: Sphinx) -> None:
    """Connect all parts."""
    for extension in ("myst_nb", "sphinx_exercise"):
        app.setup_extension(extension)
    settings.declare(app)
    warnings = PagesWithWarnings(app)

    def on(event: str, *functions: Callable[..., Any], priority: int = AMONG_OTHERS) -> None:
        for function in functions:
            app.connect(event, function, priority)

    # A build begins.
    on("config-inited", collect_no_garbage, listings.forget_library)
    on("config-inited", build_folder.begin, page_execution.configure)
    on("builder-inited", section_index.drop_other_search)

    # Pages are read: those that changed, and those that there were warnings about. Most checks speak.
    on("env-get-outdated", pages_to_read.outdated, warnings.outdated)
    on("env-before-read-docs", page_execution.deal_out, page_execution.start, line_shapes.begin)
    on("doctree-read", executed_cells.describe_figures, page_execution.collect)
    on("doctree-read", page_troubles.compare, numbers_in_prose.check)
    on("doctree-read", listings.collect, reference_links.collect)
    on("doctree-read", markdown_pages.collect_description, proof_marks.mark_ends)
    on("doctree-read", pages_to_read.collect)

    # All pages are known: what do they say together, and which are to be written again?
    on("env-updated", line_shapes.have, page_troubles.update)
    on("env-updated", reference_links.update, term_links.update)

    # Pages are written.
    on("doctree-resolved", foldable.prepare, section_index.write_page)
    on("doctree-resolved", line_shapes.mark_listings)
    on("doctree-resolved", fill_placeholders, proof_marks.add_marks)
    on("doctree-resolved", page_body.size_images, mathml.keep_with_punctuation)
    on("doctree-resolved", markdown_pages.publish, notebooks.publish, priority=AFTER_ALL_OTHERS)
    on("doctree-resolved", term_links.link_terms, priority=AFTER_ALL_OTHERS + 1)
    on("html-collect-pages", section_index.search_page)
    on("html-page-context", markdown_pages.add_link, notebooks.add_links, repository.add_edition)
    on("html-page-context", page_body.mend)

    # A build ends: checks of the whole speak, the site is completed and cut, and the next build may begin.
    on("build-finished", warnings.store, priority=BEFORE_ALL_OTHERS)
    on("build-finished", reporter("ledger", source_ledger.judge_ledger))
    on("build-finished", reporter("recorded", recorded_outputs.judge_files))
    on("build-finished", reporter("taught-code", taught_code.judge_code))
    on("build-finished", page_execution.finish, complete_site, priority=AFTER_ALL_OTHERS)
    on("build-finished", page_troubles.say_at_the_end, build_folder.end, priority=AFTER_ALL_OTHERS)

    add_to_markup(app)
    add_to_writers(app)


def collect_no_garbage(app: Sphinx, config: Config) -> None:
    """Let Python not look for garbage: nearly all that a build makes is needed until its end.

    It makes millions of nodes that refer to each other, and a seventh of its time would go into looking at
    them again and again. What is kept for nothing is half a gigabyte, if one process builds the whole book.
    """
    gc.disable()
    atexit.unregister(gc.freeze)  # of an earlier build in this process
    atexit.register(gc.freeze)


def complete_site(app: Sphinx, exception: Exception | None) -> None:
    """Do what a site needs once all its pages are written: what comes later sees what came before."""
    if exception is None and is_site(app):
        markdown_pages.write_lists(app)
        section_index.write_sections(app)
        unused_assets.cut_site(app)
        offline_copy.write_worker(app)
        pdf.print_book(app)


def fill_placeholders(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put what is known by now in the place of all placeholders of a page."""
    for one in [*doctree.findall(Placeholder)]:
        one.replace_self([*PLACEHOLDERS[one["kind"]](app, docname, one)])


def add_to_markup(app: Sphinx) -> None:
    """Add what authors can write."""
    app.add_directive("library", listings.LibraryCode)
    app.add_directive(source_ledger.LEDGER, source_ledger.SourceOutputs)
    app.add_directive(source_ledger.SUMMARY, PlaceholderDirective)
    app.add_role("source", source_ledger.SourceRole())


def add_to_writers(app: Sphinx) -> None:
    """Replace how some things are written."""
    app.add_builder(epub.EBook, override=True)
    # conf.py chooses it, with html_math_renderer.
    app.add_html_math_renderer("mathml", (mathml.visit_inline, None), (mathml.visit_display, None))
    code = (reference_links.visit_literal_block, HTML5Translator.depart_literal_block)
    app.add_node(nodes.literal_block, override=True, html=code)
    for node in (HideCodeCellNode, solution_node, foldable.Dropdown):
        app.add_node(node, override=True, html=(foldable.visit, foldable.depart))
    app.add_node(proof_marks.ProofMark, html=(proof_marks.visit, proof_marks.depart))
