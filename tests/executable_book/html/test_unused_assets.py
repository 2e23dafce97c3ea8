"""What is cut from the site is what no page uses, and nothing else."""

from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from sphinx.config import Config

from executable_book.html.unused_assets import (
    KnownTexts,
    Named,
    characters,
    cut_font,
    cut_style,
    icons,
    math_font,
    named_in,
    prune,
    remove_others,
    store_of,
    used,
)

WORDS = {"cell", "note", "main"}


@pytest.mark.parametrize(
    ("css", "kept"),
    [
        (".cell{a:b}.gone{a:b}", ".cell{a:b}"),
        (".cell.gone{a:b}#main .note{a:b}", "#main .note{a:b}"),
        (".gone,.cell{a:b}", ".cell{a:b}"),
        ("p:not(.gone){a:b}", "p:not(.gone){a:b}"),
        (":is(.gone,.cell):before{a:b}", ":is(.gone,.cell):before{a:b}"),
        ('a[href$=".gone"]{a:b}', 'a[href$=".gone"]{a:b}'),
        ("@media print{.gone{a:b}}", ""),
        ("@media print{.gone{a:b}.cell{a:b}}", "@media print{.cell{a:b}}"),
        ("@font-face{src:url(x.gone)}", "@font-face{src:url(x.gone)}"),
        ("@keyframes k{0%{a:b}to{a:c}}.cell{a:b}", "@keyframes k{0%{a:b}to{a:c}}.cell{a:b}"),
        ('@charset "utf-8";.cell{content:"}.gone{"}', '@charset "utf-8";.cell{content:"}.gone{"}'),
        ("/* {.gone */.cell{/* so */a:b}", ".cell{a:b}"),
        ("/*! MIT License */.cell{a:b}", "/*! MIT License */.cell{a:b}"),
    ],
)
def test_rules_stay_if_pages_name_what_they_need(css: str, kept: str) -> None:
    assert prune(css, WORDS) == kept


def test_pruning_twice_is_pruning_once() -> None:
    css = '@charset "utf-8";.cell,.gone{a:b}@media print{p{a:b}}:is(.gone){a:b}'
    assert prune(prune(css, WORDS), WORDS) == prune(css, WORDS)


def test_a_style_sheet_is_cut_once_for_the_same_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    css = ".cell{a:b}.gone{a:b}"
    first = cut_style(css, WORDS, tmp_path / "store")
    assert first.read_text(encoding="utf-8") == ".cell{a:b}"
    monkeypatch.setattr("executable_book.html.unused_assets.prune", lambda css, words: "cut again")
    assert cut_style(css, WORDS | {"elsewhere"}, tmp_path / "store") == first
    again = cut_style(css, WORDS | {"gone"}, tmp_path / "store")
    assert again.read_text(encoding="utf-8") == "cut again"


def test_icons_are_found_written_out_and_as_characters() -> None:
    assert icons('.a{--fa:"\\f0c9"}.b{content:"\uf104"}.c{color:#f00}') == {0xF0C9, 0xF104}


def characters_of(page: str) -> set[int]:
    return characters([named_in(page)], scripts="")


def test_characters_are_those_of_formulas_with_their_italics() -> None:
    found = characters_of("Zzz <math><mi>h</mi><mo>-</mo><mi>\u03b2</mi></math>")
    assert found == {ord("h"), 0x210E, ord("-"), 0x2212, 0x3B2, 0x1D6FD}
    assert 0x221A in characters_of("<math><msqrt><mi>d</mi></msqrt></math>")
    assert 0x1D719 in characters_of("<math><mi>\u03d5</mi></math>")  # a variant of phi


def test_a_font_holds_what_is_wanted(tmp_path: Path) -> None:
    wanted = {ord("a"), 0x2211, 0x10FFFF}
    stored = cut_font(math_font(), wanted, tmp_path / "store")
    with TTFont(stored) as font:
        assert font.getBestCmap().keys() == {ord("a"), 0x2211}
        assert "MATH" in font
    assert stored.stat().st_size < 20_000
    again = cut_font(stored, wanted, tmp_path / "store")
    assert again.read_bytes() == stored.read_bytes()


def test_a_font_is_cut_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = cut_font(math_font(), {ord("a")}, tmp_path / "store")
    monkeypatch.setattr(
        "executable_book.html.unused_assets.subset_of", lambda font, wanted: b"cut again"
    )
    assert cut_font(math_font(), {ord("a")}, tmp_path / "store") == first
    again = cut_font(math_font(), {ord("b")}, tmp_path / "store")
    assert again.read_bytes() == b"cut again"


def test_files_are_used_that_pages_lead_to(tmp_path: Path) -> None:
    for name, text in {
        "a.css": "@import 'ab.css'; url(font.woff2) url(a.css.map)",
        "b.css": "",
        "ab.css": "",
        "font.woff2": "",
        "a.css.map": "",
        "lost.js": "a.css",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = used(tmp_path, [named_in('<link href="_static/a.css?v=1">')])
    assert {path.name for path in found} == {"a.css", "ab.css", "font.woff2"}


def test_a_text_is_searched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a.css <math><mi>h</mi></math>", "b.css"]
    first = KnownTexts(tmp_path / "store" / "texts.json")
    found = [first.read(text) for text in texts]
    assert found == [named_in(text) for text in texts]
    first.keep()
    monkeypatch.setattr(
        "executable_book.html.unused_assets.named_in", lambda text: Named([text], [], "")
    )
    second = KnownTexts(first.path)
    assert second.read(texts[0]) == found[0]
    assert second.read("c.css") == Named(["c.css"], [], "")
    second.keep()
    third = KnownTexts(first.path)
    assert third.read(texts[0]) == found[0]
    assert third.read(texts[1]) != found[1]  # nobody asked for it in the build before


def config_with(tools: str) -> Config:
    config = Config()
    config.add("book_tools", tools, "env", str)
    return config


def test_what_another_tool_chain_has_kept_goes(tmp_path: Path) -> None:
    (tmp_path / "assets.json").touch()  # of a version that kept a file beside its folder
    stores = [store_of(tmp_path, config_with(tools)) for tools in ("old", "new")]
    for store in stores:
        (store / "below").mkdir(parents=True)
    assert store_of(tmp_path, config_with("new")) == stores[1]
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == [stores[1]]


def test_all_files_but_those_that_are_kept_are_removed(tmp_path: Path) -> None:
    kept = {tmp_path / "a.css", tmp_path / "below" / "b.css"}
    for path in (*kept, tmp_path / "b.css", tmp_path / "below" / "a.css"):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    remove_others(tmp_path, kept)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == kept
