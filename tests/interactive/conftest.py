"""A book of live figures, one page each and nothing else on it, and a browser that complains aloud."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from harness.browser import chromium
from harness.places import DOCS

from interactive.live_figures import FIGURES

SRC = DOCS.parent / "src" / "literate_attention"
WIDTHS = {"phone": 360, "desk": 1280}


@pytest.fixture(scope="session")
def figures_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built book of all live figures."""
    folder = tmp_path_factory.mktemp("figures") / "docs"
    for name in ("parts", *FIGURES):
        shutil.copytree(DOCS / "_static" / name, folder / "_static" / name)
    for name in FIGURES:
        page = f"# {name}\n\n```{{live-figure}} {name}\nWithout a script.\n```\n"
        (folder / f"{name}.md").write_text(page, encoding="utf-8")
    contents = "\n".join(FIGURES)
    text = f"# Book\n\n```{{toctree}}\n{contents}\n```\n"
    (folder / "index.md").write_text(text, encoding="utf-8")
    (folder / "conf.py").write_text(
        "extensions = ['myst_nb', 'interactive.live_figures']\n"
        "copyright, version = 'nobody', '1'\n"
        "html_theme = 'sphinx_book_theme'\n"
        "html_static_path = ['_static']\n"
        "html_context = {'default_mode': 'auto'}\n"
        "nb_execution_mode = 'off'\n"
        f"book_depends = [{str(SRC)!r}]\n"
        "book_cut_assets = book_archive = False\n"
        "suppress_warnings = ['book.descriptions', 'book.prose-numbers']\n",
        encoding="utf-8",
    )
    out = folder / "_build" / "html"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(folder), str(out)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return out


@pytest.fixture(
    scope="module"
)  # a browser that stays open would be in the way of other event loops
def figures_browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture
def open_figure(figures_site: Path, figures_browser: Any) -> Iterator[Callable[..., Any]]:
    """Return a function that opens a figure from its file, and watch for errors and foreign requests."""
    complaints: list[str] = []
    contexts = []

    def watch(message: Any) -> None:
        if message.type in {"error", "warning"}:
            complaints.append(f"{message.text} {message.location['url']}")

    def asked(request: Any) -> None:
        if not request.url.startswith(("file:", "data:")):
            complaints.append(f"asked for {request.url}")

    def open_one(name: str, width: str = "desk", **options: Any) -> Any:
        size = {"width": WIDTHS[width], "height": 900}
        context = figures_browser.new_context(viewport=size, **options)
        contexts.append(context)
        context.set_default_timeout(10_000)
        page = context.new_page()
        page.on("console", watch)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", asked)
        page.goto((figures_site / f"{name}.html").as_uri())
        if options.get("java_script_enabled", True):
            page.locator(".lp-alive").wait_for()
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert complaints == []
