"""What is cut from the site is what no page uses, and nothing else."""

from io import BytesIO

import pytest
from fontTools.ttLib import TTFont

from executable_book.html.unused_assets import (
    characters,
    names_in,
    prune,
    subset_font,
    used_files,
    whole_math_font,
)

IS_USED = names_in("cell note main", "")


@pytest.mark.parametrize(
    ("css", "left"),
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
def test_rules_stay_if_pages_name_what_they_need(css, left) -> None:
    assert prune(css, IS_USED) == left
    assert prune(left, IS_USED) == left


def test_rules_stay_for_classes_that_a_script_puts_together() -> None:
    is_used = names_in("", "make({ class: `cell cell-${colour}` })")
    assert prune(".cell-red{a:b}.gone-red{a:b}", is_used) == ".cell-red{a:b}"


def test_characters_are_those_of_formulas_with_their_italics() -> None:
    found = characters("Zzz <math><mi>h</mi><mo>-</mo><mi>\u03b2</mi></math>")
    assert found == {ord("h"), 0x210E, ord("-"), 0x2212, 0x3B2, 0x1D6FD}
    assert 0x221A in characters("<math><msqrt><mi>d</mi></msqrt></math>")
    assert 0x1D719 in characters("<math><mi>\u03d5</mi></math>")  # a variant of phi
    assert ord("z") not in characters("<math><mi>h</mi><annotation>z</annotation></math>")
    assert ord("z") in characters("", scripts="z")


def test_a_font_holds_what_is_wanted() -> None:
    wanted = {ord("a"), 0x2211, 0x10FFFF}
    small = subset_font(whole_math_font(), wanted)
    with TTFont(BytesIO(small)) as font:
        assert font.getBestCmap().keys() == {ord("a"), 0x2211}
        assert "MATH" in font
    assert len(small) < 20_000


def test_files_are_used_that_pages_lead_to(tmp_path) -> None:
    for name, text in {
        "a.css": "@import 'ab.css'; url(font.woff2) url(a.css.map)",
        "b.css": "",
        "ab.css": "",
        "font.woff2": "",
        "a.css.map": "",
        "lost.js": "a.css",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = used_files(tmp_path, '<link href="_static/a.css?v=1">')
    assert {path.name for path in found} == {"a.css", "ab.css", "font.woff2"}
