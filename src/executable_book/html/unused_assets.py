"""Leaves out what the theme brings and no page uses: styles, glyphs of fonts, files.

After a build the files in `_static` are cut to what the pages name: a rule of a style sheet stays if each
class and id in its selector is a word of some page or script, and a comment if it is about a licence; a font
keeps the icons that a style sheet names, or the characters that formulas hold; a file that no page names, not
even by way of another file, goes. A reader on a phone waits for 80 kB instead of 132.
"""

import logging
import re
from collections.abc import Callable, Container, Iterable, Iterator
from html import unescape
from importlib import metadata
from io import BytesIO
from itertools import groupby, pairwise
from pathlib import Path
from unicodedata import normalize

import tinycss2  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from tinycss2.ast import Node  # type: ignore[import-untyped]

from executable_book.files_on_disk import sha256

MATH_ITALICS = (0x210E, *range(0x1D434, 0x1D468), *range(0x1D6E2, 0x1D71C))
MATH_FONT = "stix-two-math.woff2"
WHOLE_MATH_FONT = "ziamath/fonts/STIXTwoMath-Regular.ttf"
FILE_NAME = re.compile(r"[\w.-]+")
WORD = re.compile(r"[A-Za-z_][\w-]*")
BEGINNING = re.compile(r"([A-Za-z_][\w-]*-)\$\{")  # of a class that a script puts together
ICON = re.compile(r"\\(f[0-9a-f]{3})|([\uf000-\uf8ff])")
FORMULA = re.compile(r"<math\b.*?</math>", re.DOTALL)
TAG = re.compile(r"<annotation\b.*?</annotation>|<[^>]*>")
LICENCE = re.compile("copyright|licen[cs]e", re.IGNORECASE)


def cut_site(app: Sphinx) -> None:
    """Cut the site that was built."""
    if not app.config.book_cut_assets:
        return
    site, static = Path(app.outdir), Path(app.outdir, "_static")
    html = (path for path in sorted(site.rglob("*.html")) if static not in path.parents)
    pages = "".join(path.read_text(encoding="utf-8") for path in html)
    files = used_files(static, pages)
    scripts = "".join(text for path, text in files.items() if path.suffix == ".js")
    is_used = names_in(pages, scripts)
    named: set[int] = set()
    for path, css in files.items():
        if path.suffix == ".css":
            used = sorted(filter(is_used, {*WORD.findall(css)}))
            path.write_bytes(once(app, path.name, cut_style, css, used))
            named |= icons(path.read_text(encoding="utf-8"))
    fonts = {path: named for path in files if "fontawesome" in path.parts}
    writers = "".join(text for text in files.values() if "Math/MathML" in text)
    (static / MATH_FONT).write_bytes(whole_math_font())
    fonts[static / MATH_FONT] = characters(pages, writers)
    for path, wanted in fonts.items():
        if path.suffix == ".woff2":
            path.write_bytes(once(app, path.name, subset_font, path.read_bytes(), sorted(wanted)))
    remove_others(static, {*files, *fonts})


def used_files(static: Path, pages: str) -> dict[Path, str]:
    """Return the files that pages name, also by way of style sheets and scripts, with their texts."""
    left = {path for path in static.rglob("*") if path.is_file() and path.suffix != ".map"}
    found: dict[Path, str] = {}
    texts = [pages]
    while texts:
        names = {name.rstrip(".") for name in set(FILE_NAME.findall(texts.pop()))}
        for path in sorted(path for path in left if path.name in names):
            left.remove(path)
            is_text = path.suffix in {".css", ".js"}
            found[path] = path.read_text(encoding="utf-8") if is_text else ""
            texts.append(found[path])
    return found


def remove_others(folder: Path, wanted: Container[Path]) -> None:
    """Remove all files of a folder but those that are wanted."""
    for path in folder.rglob("*"):
        if path.is_file() and path not in wanted:
            path.unlink()


def names_in(pages: str, scripts: str) -> Callable[[str], bool]:
    """Return what tells whether a class or id is a word of pages or scripts, or one that a script makes."""
    words = set(WORD.findall(pages + scripts))
    beginnings = tuple(set(BEGINNING.findall(scripts)))
    return lambda name: name in words or name.startswith(beginnings)


def cut_style(css: str, used: list[str]) -> bytes:
    """Return a style sheet without what is for other classes and ids than those that are used."""
    return prune(css, used.__contains__).encode()


def prune(css: str, is_used: Callable[[str], bool]) -> str:
    """Leave out comments, and rules whose selectors name a class or id that is not used."""
    return "".join(_pruned(tinycss2.parse_stylesheet(css, skip_whitespace=True), is_used))


def _pruned(rules: Iterable[Node], is_used: Callable[[str], bool]) -> Iterator[str]:
    for rule in rules:
        if rule.type == "qualified-rule":
            # Commas within brackets are not seen here: what they part belongs to one selector.
            parts = groupby(rule.prelude, key=lambda node: node == ",")
            selectors = [[*nodes] for is_comma, nodes in parts if not is_comma]
            selectors = [one for one in selectors if all(map(is_used, _names(one)))]
            if selectors:
                body = tinycss2.serialize(node for node in rule.content if node.type != "comment")
                yield f"{','.join(tinycss2.serialize(one).strip() for one in selectors)}{{{body}}}"
        elif rule.type == "at-rule" and rule.at_keyword in ("media", "supports"):
            inner = tinycss2.parse_rule_list(rule.content, skip_whitespace=True)
            if text := "".join(_pruned(inner, is_used)):
                yield f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{text}}}"
        elif rule.type != "comment" or LICENCE.search(rule.value):
            yield rule.serialize()


def _names(selector: list[Node]) -> Iterator[str]:
    """Yield the classes and ids that must be on a page; :not(.a) and :is(.a, .b) need no .a."""
    for before, node in pairwise([None, *selector]):
        if node.type == "hash" or (before == "." and node.type == "ident"):
            yield node.value


def icons(styles: str) -> set[int]:
    """Return the icons that style sheets name."""
    return {int(code, 16) if code else ord(icon) for code, icon in ICON.findall(styles)}


def characters(pages: str, scripts: str = "") -> set[int]:
    """Return the characters that formulas hold, with the italics that browsers make of them.

    Of scripts that write formulas, any character may be in one.
    """
    formulas = unescape(TAG.sub("", "".join(FORMULA.findall(pages))))
    found = {ord(one) for one in formulas + scripts}
    plain = {normalize("NFKC", chr(code)) for code in found}  # of a variant, such as ϕ, the φ
    italics = {code for code in MATH_ITALICS if normalize("NFKC", chr(code)) in plain}
    minus = {0x2212} if ord("-") in found else set()
    root = {0x221A} if "msqrt" in pages + scripts else set()  # drawn by the element
    return found | italics | minus | root


def once(app: Sphinx, name: str, make: Callable[..., bytes], *of: object) -> bytes:
    """Return what is made of something, by this build or by the last one: it takes long."""
    path, digest = Path(app.doctreedir, "cut", name), sha256(repr((app.config.book_tools, of)))
    kept = path.read_bytes() if path.exists() else b""
    if not kept.startswith(digest.encode()):
        kept = digest.encode() + make(*of)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(kept)
    return kept[len(digest) :]


def subset_font(font: bytes, wanted: Iterable[int]) -> bytes:
    """Return a font that holds the wanted characters and no other."""
    from fontTools import subset  # type: ignore[import-untyped]  # which takes long to import

    logging.getLogger("fontTools").setLevel(logging.WARNING)
    options = subset.Options(
        flavor="woff2",
        layout_features=["ccmp", "dtls", "kern", "mark", "mkmk", "ssty"],
        recalc_timestamp=False,
        hinting=False,
    )
    with subset.load_font(BytesIO(font), options) as whole:
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=whole.getBestCmap().keys() & wanted)
        subsetter.subset(whole)
        written = BytesIO()
        subset.save_font(whole, written, options)
        return written.getvalue()


def whole_math_font() -> bytes:
    """Return the whole font for formulas; to import its package would cost a second."""
    distribution = metadata.distribution("ziamath")
    return Path(str(distribution.locate_file(WHOLE_MATH_FONT))).read_bytes()
