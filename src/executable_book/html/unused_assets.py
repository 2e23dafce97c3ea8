"""Leaves out what the theme brings and no page uses: styles, glyphs of fonts, files.

The theme's style sheets hold a whole framework, its icon font two thousand icons, and the font for formulas
five thousand characters. A page needs few of them, and a reader on a phone waits for all. So after a build
the files in `_static` are cut down to what the pages name:

* a rule of a style sheet stays if each class and id in its selector is a word of some page or script, and a
  comment if it is about a licence;
* a font keeps the icons that a style sheet names, or the characters that formulas hold;
* a file that no page names, not even by way of another file, goes.

Sphinx brings the files back at each build, and they are cut again. What texts name is kept, and what was left
of a file, so that this takes little time where little has changed.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from html import unescape
from importlib import metadata
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

import tinycss2  # type: ignore[import-untyped]
from fontTools import subset  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from sphinx.config import Config
from tinycss2.ast import Node  # type: ignore[import-untyped]

from executable_book.files_on_disk import sha256

BUILDERS = ("html", "dirhtml", "singlehtml")
ITALICS = (0x210E, *range(0x1D434, 0x1D468), *range(0x1D6E2, 0x1D71C))
MATH = "stix-two-math.woff2"
WHOLE_MATH = "ziamath/fonts/STIXTwoMath-Regular.ttf"
FILE = re.compile(r"[\w.-]+\.\w+")
WORD = re.compile(r"[A-Za-z_][\w-]*")
ICON = re.compile(r"\\(f[0-9a-f]{3})|([\uf000-\uf8ff])")
FORMULA = re.compile(r"<math\b.*?</math>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
LICENCE = re.compile("copyright|licen[cs]e", re.IGNORECASE)


class Named(NamedTuple):
    """What a text names.

    Attributes:
        files: what may be the names of files.
        words: all words, among them classes, ids and elements.
        formulas: the characters that its formulas hold.
    """

    files: list[str]
    words: list[str]
    formulas: str


def named_in(text: str) -> Named:
    """Find what a text names."""
    formulas = unescape(TAG.sub("", "".join(FORMULA.findall(text))))
    files, words = (sorted(set(pattern.findall(text))) for pattern in (FILE, WORD))
    return Named(files, words, "".join(sorted(set(formulas))))


class KnownTexts:
    """Says what texts name; those that an earlier build knew are not searched again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.before = json.loads(path.read_bytes()) if path.exists() else {}
        self.now: dict[str, Named] = {}

    def read(self, text: str) -> Named:
        """Return what a text names."""
        key = sha256(text)
        if key not in self.now:
            self.now[key] = Named(*self.before[key]) if key in self.before else named_in(text)
        return self.now[key]

    def keep(self) -> None:
        """Keep what this build asked for."""
        write_once(self.path, json.dumps(self.now).encode())


# Style sheets


def cut_style(css: str, words: set[str], store: Path) -> Path:
    """Return where what is left of a style sheet is kept: to parse it takes a second."""
    question = json.dumps([css, sorted(words.intersection(WORD.findall(css)))])
    stored = stored_under(question.encode(), "css", store)
    if not stored.exists():
        write_once(stored, prune(css, words).encode())
    return stored


def prune(css: str, words: set[str]) -> str:
    """Leave out the rules of a style sheet whose selectors name what is not among the words, and comments."""
    return "".join(_pruned(tinycss2.parse_stylesheet(css, skip_whitespace=True), words))


def _pruned(rules: Iterable[Node], words: set[str]) -> Iterator[str]:
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [one for one in _selectors(rule.prelude) if _may_match(one, words)]
            if selectors:
                body = tinycss2.serialize(node for node in rule.content if node.type != "comment")
                yield f"{','.join(map(_text, selectors))}{{{body}}}"
        elif rule.type == "at-rule" and rule.at_keyword in ("media", "supports"):
            inner = tinycss2.parse_rule_list(rule.content, skip_whitespace=True)
            if text := "".join(_pruned(inner, words)):
                yield f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{text}}}"
        elif rule.type != "comment" or LICENCE.search(rule.value):
            yield rule.serialize()


def _selectors(prelude: list[Node]) -> list[list[Node]]:
    """Part a list of selectors at its commas; those in brackets belong to one selector."""
    found: list[list[Node]] = [[]]
    for node in prelude:
        if node == ",":
            found.append([])
        else:
            found[-1].append(node)
    return found


def _may_match(selector: list[Node], words: set[str]) -> bool:
    """Tell whether each class and id is a word; :not(.a) and :is(.a, .b) need no .a."""
    classes = {
        after.value for dot, after in pairwise(selector) if dot == "." and after.type == "ident"
    }
    return classes | {node.value for node in selector if node.type == "hash"} <= words


def _text(selector: list[Node]) -> str:
    return tinycss2.serialize(selector).strip()


# Fonts


def icons(styles: str) -> set[int]:
    """Return the icons that style sheets name."""
    return {int(code, 16) if code else ord(icon) for code, icon in ICON.findall(styles)}


def characters(pages: Collection[Named], scripts: str) -> set[int]:
    """Return the characters that formulas hold, with the italics that browsers make of them.

    Args:
        pages: what pages name.
        scripts: the texts of scripts that write formulas: any of their characters may be in one.
    """
    texts = [scripts, *(page.formulas for page in pages)]
    found = {ord(one) for text in texts for one in text}
    plain = {normalize("NFKC", chr(code)) for code in found}  # of a variant, such as ϕ, the φ
    italics = {code for code in ITALICS if normalize("NFKC", chr(code)) in plain}
    minus = {0x2212} if ord("-") in found else set()
    is_drawn = "msqrt" in scripts or any("msqrt" in page.words for page in pages)
    root = {0x221A} if is_drawn else set()  # by the element
    return found | italics | minus | root


def cut_font(source: Path, wanted: set[int], store: Path) -> Path:
    """Return where a font is kept that holds the wanted characters and no other."""
    content = source.read_bytes()
    question = content + json.dumps(sorted(wanted)).encode()
    stored = stored_under(question, "woff2", store)
    if not stored.exists():
        write_once(stored, subset_of(content, wanted))
    return stored


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


def store_of(doctrees: str | Path, config: Config) -> Path:
    """Return where is kept what takes long to find out; what another tool chain has kept goes."""
    store = Path(doctrees, f"assets-{sha256(config.book_tools)[:8]}")
    for other in store.parent.glob("assets*"):
        if other.is_dir() and other != store:
            shutil.rmtree(other)
    return store


def stored_under(question: bytes, kind: str, store: Path) -> Path:
    """Return where the answer to a question is kept."""
    return store / f"{hashlib.sha256(question).hexdigest()}.{kind}"


def write_once(path: Path, content: bytes) -> None:
    """Write a file of the store, whole or not at all."""
    path.parent.mkdir(exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_bytes(content)
    os.replace(partial, path)


def used(
    static: Path, pages: Iterable[Named], read: Callable[[str], Named] = named_in
) -> dict[Path, str]:
    """Return the files that pages name, also by way of style sheets and scripts, with their texts."""
    left = {path for path in static.rglob("*") if path.is_file() and path.suffix != ".map"}
    found: dict[Path, str] = {}
    waiting = [*pages]
    while waiting:
        names = {*waiting.pop().files}
        for path in [path for path in left if path.name in names]:
            left.remove(path)
            is_text = path.suffix in {".css", ".js"}
            found[path] = path.read_text(encoding="utf-8") if is_text else ""
            waiting.append(read(found[path]))
    return found


def cut(
    static: Path, pages: list[Named], store: Path, read: Callable[[str], Named]
) -> dict[Path, Path | None]:
    """Return the files that pages use, each with where what is left of it is kept, if it is cut."""
    files = used(static, pages, read)
    scripts = [read(text) for path, text in files.items() if path.suffix == ".js"]
    words = set().union(*(one.words for one in (*pages, *scripts)))
    sheets = [path for path in files if path.suffix == ".css"]
    styles = {path: cut_style(files[path], words, store) for path in sheets}
    wanted = icons("".join(style.read_text(encoding="utf-8") for style in styles.values()))
    fonts = {
        path: cut_font(path, wanted, store)
        for path in files
        if "fontawesome" in path.parts and path.suffix == ".woff2"
    }
    writers = "".join(text for text in files.values() if "Math/MathML" in text)
    fonts[static / MATH] = cut_font(math_font(), characters(pages, writers), store)
    return {**dict.fromkeys(files), **styles, **fonts}


def math_font() -> Path:
    """Return where the whole font for formulas is. To import its package would cost a second."""
    return Path(str(metadata.distribution("ziamath").locate_file(WHOLE_MATH)))


def cut_site(app: Sphinx, exception: Exception | None) -> None:
    """Cut the site that was built."""
    if exception or app.builder.name not in BUILDERS or not app.config.book_cut_assets:
        return
    logging.getLogger("fontTools").setLevel(logging.WARNING)
    site, static = Path(app.outdir), Path(app.outdir, "_static")
    store = store_of(app.doctreedir, app.config)
    known = KnownTexts(store / "texts.json")
    html = [path for path in sorted(site.rglob("*.html")) if static not in path.parents]
    pages = [known.read(path.read_text(encoding="utf-8")) for path in html]
    files = cut(static, pages, store, known.read)
    for path, stored in files.items():
        if stored:
            shutil.copyfile(stored, path)
    known.keep()
    remove_others(static, files)
    remove_others(store, {known.path, *files.values()})


def remove_others(folder: Path, kept: Container[Path | None]) -> None:
    """Remove all files of a folder but those that are kept."""
    for path in folder.rglob("*"):
        if path.is_file() and path not in kept:
            path.unlink()
