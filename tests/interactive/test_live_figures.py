"""Live figures can be used by everybody, everywhere, and what they start from is fresh."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from docutils import nodes
from harness.reading.axe import axe_finds

from interactive import live_figures
from interactive.live_figures import FIGURES
from interactive.scripted_element import PARTS

browser_test = pytest.mark.browser
each_figure = pytest.mark.parametrize("figure", FIGURES)


# The extension --------------------------------------------------------------------------------------


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what the extension needs of a build whose only figure has numbers of its own."""
    (tmp_path / "library.py").write_text("", encoding="utf-8")
    script = tmp_path / "toy_numbers.py"
    monkeypatch.setattr(live_figures, "FIGURES", {"toy": ()})
    monkeypatch.setattr(live_figures, "module_of", lambda name: script)
    monkeypatch.setattr(live_figures, "kept", lambda *_: {"page": [(7, "toy")]})
    kernels = dict.fromkeys(("book_kernel_preload", "book_kernel_startup", "book_versions"), ())
    config = SimpleNamespace(
        book_depends=[tmp_path / "library.py"],
        book_may_lack=["a_model"],
        book_device="",
        **kernels,
    )
    builder = SimpleNamespace(name="html", format="html")
    return SimpleNamespace(
        confdir=tmp_path,
        outdir=tmp_path / "html",
        config=config,
        builder=builder,
        env=None,
        script=script,
    )


def compute(app: Any) -> list[str]:
    """Do what a build does with numbers; return the pages that it has to write again."""
    live_figures.begin(app, app.env, [])
    return list(live_figures.update(app, app.env))


def test_numbers_are_computed_when_the_library_or_their_module_has_changed(app: Any) -> None:
    stored = live_figures.numbers_of(app, "toy")

    def computed(printed: str) -> tuple[Any, list[str]]:
        app.script.write_text(f"print({printed!r})", encoding="utf-8")
        changed = compute(app)
        return json.loads(stored.read_text(encoding="utf-8"))["numbers"], changed

    assert computed("1") == (1, ["page"])
    stored.write_text(stored.read_text().replace('"numbers": 1', '"numbers": 7'), encoding="utf-8")
    assert computed("1") == (7, [])  # neither has changed: nothing was computed
    (app.confdir / "library.py").write_text("# changed", encoding="utf-8")
    assert computed("1") == (1, ["page"])
    assert computed("2") == (2, ["page"])
    for damaged in ("", "{", "[]", "{}"):
        stored.write_text(damaged, encoding="utf-8")
        assert computed("2") == (2, ["page"])


def test_numbers_that_cannot_be_computed_are_said_at_every_build(app: Any) -> None:
    app.script.write_text("raise ValueError('no numbers\\nfor you')", encoding="utf-8")
    for _ in range(2):
        compute(app)
        (finding,) = live_figures.judge_numbers(app)
        said = (finding.where, finding.line, finding.message)
        assert said == ("page", 7, "toy_numbers.py failed: ValueError: no numbers")


def test_a_figure_may_lack_what_the_book_may_lack_and_says_so(app: Any) -> None:
    for package, lacks in (("a_model", True), ("another", False)):
        sentence = f"{package} is not installed: install it"
        app.script.write_text(f"raise ModuleNotFoundError({sentence!r})", encoding="utf-8")
        compute(app)
        assert bool([*live_figures.judge_numbers(app)]) != lacks
        element = live_figures.LiveFigure(figure="toy")
        live_figures.explain(app, nodes.section("", element), "page")
        assert element.astext() == (sentence if lacks else "")
        live_figures.publish(app, None)
        assert not live_figures.script_of(app, "toy").exists()


def test_numbers_reach_readers_as_a_script(app: Any) -> None:
    app.script.write_text("print('[1, 2]')", encoding="utf-8")
    compute(app)
    live_figures.publish(app, None)
    text = live_figures.script_of(app, "toy").read_text(encoding="utf-8")
    assert text == "literateParts.numbers.toy = [1,2];\n"


# Everybody, everywhere ------------------------------------------------------------------------------


@browser_test
def test_only_a_page_with_a_figure_loads_its_scripts(figures_site: Path) -> None:
    for figure in FIGURES:
        text = (figures_site / f"{figure}.html").read_text(encoding="utf-8")
        assert [name for name in FIGURES if f"_static/{name}/" in text] == [figure]
        assert "parts/elements.js" in text
    assert "_static/parts/" not in (figures_site / "index.html").read_text(encoding="utf-8")


@browser_test
@each_figure
def test_without_javascript_and_on_paper_its_place_is_taken(
    open_figure: Callable[..., Any], figure: str
) -> None:
    page = open_figure(figure, java_script_enabled=False)
    assert page.locator(".live-figure").inner_text().strip() == "Without a script."
    page = open_figure(figure)
    assert not page.get_by_text("Without a script.").is_visible()
    page.emulate_media(media="print")
    assert page.locator(".live-figure").inner_text().strip() == "Without a script."


@browser_test
@each_figure
@pytest.mark.parametrize(("width", "theme"), [("phone", "light"), ("desk", "dark")])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(
    open_figure: Callable[..., Any], figure: str, width: str, theme: str
) -> None:
    page = open_figure(figure, width, color_scheme=theme)
    page.locator(f"html[data-theme={theme}]").wait_for()
    edge = page.locator(".live-figure").bounding_box()
    wide = page.locator(".live-figure *").evaluate_all(
        """(all, edge) => all.filter((one) => one.checkVisibility()
            && one.getBoundingClientRect().right > edge + 1).map((one) => one.outerHTML.slice(0, 80))""",
        edge["x"] + edge["width"],
    )
    assert wide == []
    assert axe_finds(page, ".live-figure") == []


@browser_test
@each_figure
def test_a_strict_policy_stops_nothing(
    figures_site: Path, figures_browser: Any, figure: str
) -> None:
    """Neither an inline script nor an inline style: the figure alone, under a policy that allows none."""
    html = (figures_site / f"{figure}.html").read_text(encoding="utf-8")
    (place,) = re.findall(r'<div class="live-figure [^>]*>', html)
    files = [
        *(f"parts/{part}" for part in PARTS),
        *(f"{figure}/{name}" for name in FIGURES[figure]),
    ]
    scripts = "".join(f'<script defer src="_static/{name}.js"></script>' for name in files)
    bare = f"""<!doctype html><html lang="en"><title>Bare</title>
        <link rel="stylesheet" href="_static/parts/parts.css">{scripts}{place}</div></html>"""
    policy = "default-src 'none'; script-src 'self'; style-src 'self'"
    page = figures_browser.new_page()

    def answer(route: Any) -> None:
        name = urlsplit(route.request.url).path.removeprefix("/")
        if name == "":
            headers = {"content-security-policy": policy, "content-type": "text/html"}
            route.fulfill(body=bare, headers=headers)
        else:
            route.fulfill(path=figures_site / name)

    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.route("**/*", answer)
    page.goto("http://book.test/")
    page.locator(".lp-alive").wait_for()
    page.get_by_role("grid").first.locator("td[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    assert complaints == []
    page.close()
