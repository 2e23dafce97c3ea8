"""What EPUB 3 asks of a book, as far as it can be told without the official checker, which needs Java."""

import posixpath
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree
from zipfile import ZIP_STORED, ZipFile

XHTML = "{http://www.w3.org/1999/xhtml}"
MATHML = "{http://www.w3.org/1998/Math/MathML}"
SVG = "{http://www.w3.org/2000/svg}"
OPF = "{http://www.idpf.org/2007/opf}"
DC = "{http://purl.org/dc/elements/1.1/}"
NCX = "{http://www.daisy.org/z3986/2005/ncx/}"
PACKAGE = "content.opf"
UNLISTED = ("mimetype", PACKAGE, "META-INF/container.xml")
TYPES = {
    ".xhtml": "application/xhtml+xml",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".ncx": "application/x-dtbncx+xml",
}
STYLES = ("displaystyle", "scriptlevel")
STYLED = (f"{MATHML}math", f"{MATHML}mstyle")
DECLARED = {"mathml": f"{MATHML}math", "svg": f"{SVG}svg", "scripted": f"{XHTML}script"}
"""What the package has to say of a page, by the element that makes it so."""


def findings(book: Path) -> Iterator[str]:
    """Yield what is wrong with an EPUB."""
    with ZipFile(book) as archive:
        first = archive.infolist()[0]
        if first.filename != "mimetype" or first.compress_type != ZIP_STORED:
            yield "the first entry is not an uncompressed mimetype"
        files = {name: archive.read(name) for name in archive.namelist() if name[-1] != "/"}
    if files["mimetype"] != b"application/epub+zip":
        yield f"mimetype says {files['mimetype']!r}"
    package = ElementTree.fromstring(files[PACKAGE])
    items = {item.attrib["href"]: item.attrib for item in package.iter(f"{OPF}item")}
    yield from _of_package(package, items, {*files} - {*UNLISTED})
    yield from _of_order(ElementTree.fromstring(files["toc.ncx"]))
    pages = {name: ElementTree.fromstring(files[name]) for name in files if name.endswith(".xhtml")}
    ids = {
        name: [of.attrib["id"] for of in page.iter() if "id" in of.attrib]
        for name, page in pages.items()
    }
    for name, page in pages.items():
        yield from (
            f"{name}: the id {one} comes twice" for one, n in Counter(ids[name]).items() if n > 1
        )
        yield from _of_page(name, page, items.get(name, {}).get("properties", "").split())
        for address in _addresses(page):
            parts = urlsplit(address)
            if parts.scheme:
                continue
            at = posixpath.dirname(name)
            target = (
                posixpath.normpath(posixpath.join(at, unquote(parts.path))) if parts.path else name
            )
            if target not in files:
                yield f"{name}: there is no {target}"
            elif parts.fragment and unquote(parts.fragment) not in ids.get(target, ()):
                yield f"{name}: {target} has no {parts.fragment}"


def _of_package(
    package: ElementTree.Element, items: dict[str, dict[str, str]], files: set[str]
) -> Iterator[str]:
    yield from (f"{name} is listed, and not there" for name in sorted({*items} - files))
    yield from (f"{name} is there, and not listed" for name in sorted(files - {*items}))
    for name, item in items.items():
        if item["media-type"] != TYPES.get(posixpath.splitext(name)[1]):
            yield f"{name} is called {item['media-type']}"
    known = [item["id"] for item in items.values()]
    spine = [item.attrib["idref"] for item in package.iter(f"{OPF}itemref")]
    for what, names in (("id", known), ("place", spine)):
        yield from (f"the {what} {name} comes twice" for name, n in Counter(names).items() if n > 1)
    yield from (f"no file is {name}" for name in spine if name not in known)
    for wanted in ("nav", "cover-image"):
        count = sum(wanted in item.get("properties", "").split() for item in items.values())
        if count != 1:
            yield f"{count} files are the {wanted}"
    for tag in ("language", "title", "identifier", "creator", "description", "rights"):
        if package.findtext(f".//{DC}{tag}") in (None, "", "unknown"):
            yield f"the package names no {tag}"
    if not package.findtext(f".//{OPF}meta[@property='dcterms:modified']"):
        yield "the package does not say when it was modified"


def _of_order(contents: ElementTree.Element) -> Iterator[str]:
    """Yield which places in the contents of EPUB 2 are counted twice: a place has one number."""
    numbers: dict[str, str] = {}
    for point in contents.iter(f"{NCX}navPoint"):
        target = point.find(f"{NCX}content")
        if target is not None:
            place, number = target.attrib["src"], point.attrib["playOrder"]
            if numbers.setdefault(place, number) != number:
                yield f"toc.ncx: {place} is number {numbers[place]} and {number}"


def _of_page(name: str, page: ElementTree.Element, declared: list[str]) -> Iterator[str]:
    for word, tag in DECLARED.items():
        if (next(page.iter(tag), None) is not None) != (word in declared):
            yield f"{name}: {word} is declared and not there, or there and not declared"
    for element in page.iter():
        tag = str(element.tag)
        if tag == f"{XHTML}math":
            yield f"{name}: a formula is not in the namespace of MathML"
        if {*element.attrib} & {*STYLES} and tag not in STYLED:
            yield f"{name}: MathML 3 knows no style of {tag}"
        if tag == f"{XHTML}noscript":
            yield f"{name}: a noscript"
        if tag == f"{XHTML}img" and not element.get("alt"):
            yield f"{name}: {element.get('src')} has no alternative text"
        if tag != f"{XHTML}a" and urlsplit(element.get("src") or element.get("href") or "").scheme:
            yield f"{name}: {tag} asks for something from elsewhere"


def _addresses(page: ElementTree.Element) -> Iterator[str]:
    for element in page.iter():
        yield from (element.attrib[one] for one in ("href", "src") if one in element.attrib)
