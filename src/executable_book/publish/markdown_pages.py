"""Every page as plain Markdown beside its HTML, for people who copy it and for programs that read it.

`story/inputs.md` is `story/inputs.html` with its outputs and solutions; its pictures are links, with their
alternative texts, and it says at its end where it is from. `llms.txt` lists all pages and says what each is
about, as https://llmstxt.org proposes, by its own `myst: html_meta: description:`, which search engines and
messengers show too. `llms-full.txt` is the whole book.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from executable_book.files_on_disk import write_if_changed
from executable_book.publish.plain_markdown import PlainMarkdown
from executable_book.remembered import in_order, is_site, page_data, set_page_data
from executable_book.repeated_warnings import warn
from executable_book.repository import edition

LIST, WHOLE = "llms.txt", "llms-full.txt"
DESCRIPTIONS = "descriptions"
HOW = "Each page is listed as plain Markdown, with the outputs of its code. The whole book is one file: "


def path_of(app: Sphinx, docname: str) -> Path:
    """Return where a page is published as Markdown."""
    return Path(app.outdir, f"{docname}.md")


def publish(app: Sphinx, page: nodes.document, docname: str) -> None:
    """Write a page that is about to be written as HTML."""
    if is_site(app):
        root = app.config.html_baseurl
        address = urljoin(root, app.builder.get_target_uri(docname))
        images = {
            uri: urljoin(root, f"_images/{name}") for uri, (_, name) in app.env.images.items()
        }
        numbers = app.env.toc_fignumbers.get(docname, {})
        text = PlainMarkdown(address, numbers, images, site=root).text(page)
        origin = f"From *{app.config.project}*, <{address}>. {edition(app.config)}."
        write_if_changed(path_of(app, docname), f"{text}\n{origin}\n")


def add_link(app: Sphinx, page: str, template: str, context: dict[str, Any], *_: Any) -> None:
    """Hand the link to a page's Markdown to `_templates/page-links.html`."""
    if is_site(app) and page in app.env.found_docs:
        context["markdown"] = context["pathto"](f"{page}.md", 1)


def write_lists(app: Sphinx) -> None:
    """Write the lists of all pages, and all of them as one."""
    write_if_changed(Path(app.outdir, LIST), "".join(list_of(app)))
    texts = (path_of(app, page).read_text(encoding="utf-8") for page in in_order(app.env))
    write_if_changed(Path(app.outdir, WHOLE), "\n---\n\n".join(texts))


def list_of(app: Sphinx) -> Iterator[str]:
    """Yield the lines of the list: its parts are those of the contents."""
    root = app.config.root_doc
    yield f"# {app.config.project}\n\n> {page_data(app.env, DESCRIPTIONS)[root]}\n\n"
    yield f"{HOW}[{WHOLE}]({urljoin(app.config.html_baseurl, WHOLE)}).\n"
    for contents in app.env.get_doctree(root).findall(addnodes.toctree):
        yield f"\n## {contents['caption'] or app.env.titles[root].astext()}\n\n"
        for page in contents["includefiles"]:
            yield from lines_of(app, page)


def lines_of(app: Sphinx, page: str) -> Iterator[str]:
    """Yield the lines of a page and of those below it."""
    address = urljoin(app.config.html_baseurl, f"{page}.md")
    about = page_data(app.env, DESCRIPTIONS)[page]
    yield f"- [{app.env.titles[page].astext()}]({address}){about and f': {about}'}\n"
    for below in app.env.toctree_includes.get(page, ()):
        yield from lines_of(app, below)


def collect_description(app: Sphinx, doctree: nodes.document) -> None:
    """Keep a page's description, which each page must have."""
    named = (meta for meta in doctree.findall(nodes.meta) if meta.get("name") == "description")
    description = next((meta["content"] for meta in named), "")
    set_page_data(app.env, DESCRIPTIONS, app.env.docname, description)
    if not description:
        says = "the page has no description (myst: html_meta: description)"
        warn(app, "descriptions", app.env.docname, 0, says)
