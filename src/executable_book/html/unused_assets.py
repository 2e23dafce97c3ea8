"""Leaves out what the theme brings and no page uses: styles, glyphs of fonts, files.

The theme's style sheets hold a whole framework, its icon font two thousand icons, and the font for formulas
five thousand characters. A page needs few of them, and a reader on a phone waits for all. So after a build
the files in `_static` are cut down to what the pages name:

* a rule of a style sheet stays if each class and id in its selector is a word of some page or script;
* a font keeps the icons that a style sheet names, or the characters that formulas hold;
* a file that no page names, not even by way of another file, goes.

Sphinx brings the files back when it next writes pages, and they are cut again. When nothing has changed
since, nothing is done.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from html import unescape
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import Any
from unicodedata import normalize

from fontTools import subset  # type: ignore[import-untyped]
from sphinx.application import Sphinx

BUILDERS = ("html", "dirhtml", "singlehtml")
ITALICS = (0x210E, *range(0x1D434, 0x1D468), *range(0x1D6E2, 0x1D71C))
MATH = "stix-two-math.woff2"
WHOLE_MATH = "ziamath/fonts/STIXTwoMath-Regular.ttf"
TOKEN = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|\\.|[{};]', re.DOTALL)
FILE = re.compile(r"[\w.-]+\.\w+")
WORD = re.compile(r"[A-Za-z_][\w-]*")
NAME = re.compile(r"[.#](-?[A-Za-z_](?:[\w-]|\\.)*)")
BRACKETS = re.compile(r"\([^()\[\]]*\)|\[[^()\[\]]*\]")
SELECTORS = re.compile(r",(?![^()\[\]]*[)\]])")
ICON = re.compile(r"\\(f[0-9a-f]{3})|([\uf000-\uf8ff])")
FORMULA = re.compile(r"<math\b.*?</math>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")


# Style sheets


def prune(css: str, words: set[str]) -> str:
    """Leave out the rules of a style sheet whose selectors name what is not among the words."""
    kept = []
    for prelude, body in _rules(css):
        if body is None:
            kept.append(prelude)
        elif prelude.startswith(("@media", "@supports")):
            inner = prune(body, words)
            kept.append(f"{prelude}{{{inner}}}" if inner else "")
        elif prelude.startswith("@"):
            kept.append(f"{prelude}{{{body}}}")
        else:
            selectors = [one for one in SELECTORS.split(prelude) if _may_match(one, words)]
            kept.append(f"{','.join(selectors)}{{{body}}}" if selectors else "")
    return "".join(kept)


def _rules(css: str) -> Iterator[tuple[str, str | None]]:
    """Yield the rules of a style sheet as prelude and body; statements and comments have no body."""
    depth = start = opened = 0
    for token in TOKEN.finditer(css):
        between = css[start : token.start()].strip()
        if token[0] == "{":
            opened = opened if depth else token.start()
            depth += 1
        elif token[0] == "}":
            depth -= 1
            if not depth:
                yield css[start:opened].strip(), css[opened + 1 : token.start()]
                start = token.end()
        elif not depth and (token[0] == ";" or (token[0].startswith("/*") and not between)):
            yield css[start : token.end()].strip(), None
            start = token.end()


def _may_match(selector: str, words: set[str]) -> bool:
    while (bare := BRACKETS.sub("", selector)) != selector:  # :not(.a) and :is(.a, .b) need no .a
        selector = bare
    return all(name.replace("\\", "") in words for name in NAME.findall(selector))


# Fonts


def icons(styles: str) -> set[int]:
    """Return the icons that style sheets name."""
    return {int(code, 16) if code else ord(icon) for code, icon in ICON.findall(styles)}


def characters(pages: str, scripts: str) -> set[int]:
    """Return the characters that formulas hold, with the italics that browsers make of them."""
    formulas = unescape(TAG.sub("", "".join(FORMULA.findall(pages))))
    found = {*map(ord, formulas), *map(ord, scripts)}
    italics = {code for code in ITALICS if ord(normalize("NFKC", chr(code))) in found}
    minus = {0x2212} if ord("-") in found else set()
    root = {0x221A} if "msqrt" in pages + scripts else set()  # drawn by the element
    return found | italics | minus | root


def cut_font(source: Path, target: Path, wanted: set[int], store: Path) -> None:
    """Write a font that holds the wanted characters and no other; take it from the store if it is there."""
    content = source.read_bytes()
    question = content + json.dumps(sorted(wanted)).encode()
    stored = store / f"{hashlib.sha256(question).hexdigest()}.woff2"
    if not stored.exists():
        store.mkdir(exist_ok=True)
        partial = stored.with_suffix(".partial")
        partial.write_bytes(subset_of(content, wanted))
        os.replace(partial, stored)
    shutil.copyfile(stored, target)


def subset_of(font: bytes, wanted: set[int]) -> bytes:
    """Return the wanted characters of a font, as a font; as it is, if it holds no other."""
    options = subset.Options(
        flavor="woff2",
        layout_features=["ccmp", "dtls", "kern", "mark", "mkmk", "ssty"],
        recalc_timestamp=False,
        hinting=False,
    )
    with subset.load_font(BytesIO(font), options) as whole:
        characters = whole.getBestCmap().keys()
        if characters <= wanted:
            return font
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=wanted & characters)
        subsetter.subset(whole)
        written = BytesIO()
        subset.save_font(whole, written, options)
        return written.getvalue()


# Files


def used(static: Path, pages: str) -> dict[Path, str]:
    """Return the files that pages name, also by way of style sheets and scripts, with their texts."""
    left = {path for path in static.rglob("*") if path.is_file() and path.suffix != ".map"}
    found: dict[Path, str] = {}
    texts = [pages]
    while texts:
        names = set(FILE.findall(texts.pop()))
        for path in [path for path in left if path.name in names]:
            left.remove(path)
            is_text = path.suffix in {".css", ".js"}
            found[path] = path.read_text(encoding="utf-8") if is_text else ""
            texts.append(found[path])
    return found


def cut(files: dict[Path, str], pages: str, fonts: Path) -> None:
    """Cut the files that pages use down to what they use of them."""
    scripts = [text for path, text in files.items() if path.suffix == ".js"]
    words = {word for text in (pages, *scripts) for word in WORD.findall(text)}
    styles = {path: prune(text, words) for path, text in files.items() if path.suffix == ".css"}
    for path, text in styles.items():
        path.write_text(text, encoding="utf-8")
    wanted = icons("".join(styles.values()))
    for path in files:
        if "fontawesome" in path.parts and path.suffix == ".woff2":
            cut_font(path, path, wanted, fonts)


def math_font() -> Path:
    """Return where the whole font for formulas is. To import its package would cost a second."""
    return Path(str(metadata.distribution("ziamath").locate_file(WHOLE_MATH)))


def cut_site(app: Sphinx, exception: Exception | None) -> None:
    """Cut the site that was built, unless nothing has changed since it was last cut."""
    if exception or app.builder.name not in BUILDERS:
        return
    site, static = Path(app.outdir), Path(app.outdir, "_static")
    known, fonts = Path(app.doctreedir, "lean.json"), Path(app.doctreedir, "fonts")
    before = json.loads(known.read_text(encoding="utf-8")) if known.exists() else {}
    if state([site / name for name in before], site) != before or not before:
        html = [path for path in sorted(site.rglob("*.html")) if static not in path.parents]
        pages = "".join(path.read_text(encoding="utf-8") for path in html)
        files = used(static, pages)
        cut(files, pages, fonts)
        writers = "".join(text for text in files.values() if "Math/MathML" in text)
        cut_font(math_font(), static / MATH, characters(pages, writers), fonts)
        before = state([*files, static / MATH, *html], site)
        known.write_text(json.dumps(before), encoding="utf-8")
    for path in static.rglob("*"):
        if path.is_file() and path.relative_to(site).as_posix() not in before:
            path.unlink()


def state(paths: Iterable[Path], folder: Path) -> dict[str, list[int]]:
    """Return what tells whether any of the files has changed."""
    facts = {path.relative_to(folder).as_posix(): path.stat() for path in paths if path.exists()}
    return {name: [fact.st_size, fact.st_mtime_ns] for name, fact in sorted(facts.items())}


def setup(app: Sphinx) -> dict[str, Any]:
    """Cut the site when all else is written."""
    logging.getLogger("fontTools").setLevel(logging.WARNING)
    app.connect("build-finished", cut_site, priority=910)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
