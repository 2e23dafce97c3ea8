"""What EPUB 3 asks of a book, as far as readers would notice; the official checker needs Java."""

import posixpath
from collections import Counter
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree
from zipfile import ZIP_STORED, ZipFile

XHTML = "{http://www.w3.org/1999/xhtml}"
MATHML = "{http://www.w3.org/1998/Math/MathML}"
SVG = "{http://www.w3.org/2000/svg}"
OPF = "{http://www.idpf.org/2007/opf}"
PACKAGE = "content.opf"
UNLISTED = ("mimetype", PACKAGE, "META-INF/container.xml")
STYLES = {"displaystyle", "scriptlevel"}
STYLED = (f"{MATHML}math", f"{MATHML}mstyle")
DECLARED = {"mathml": f"{MATHML}math", "svg": f"{SVG}svg", "scripted": f"{XHTML}script"}
"""What the package has to say of a page, by the element that makes it so."""


def findings(book):
    """Yield what is wrong with an EPUB."""
    with ZipFile(book) as archive:
        first = archive.infolist()[0]
        if (first.filename, first.compress_type) != ("mimetype", ZIP_STORED):
            yield "the first entry is not an uncompressed mimetype"
        files = {name: archive.read(name) for name in archive.namelist() if name[-1] != "/"}
    package = ElementTree.fromstring(files[PACKAGE])
    items = {item.attrib["href"]: item.attrib for item in package.iter(f"{OPF}item")}
    yield from (f"{name} is listed, or there" for name in {*items} ^ ({*files} - {*UNLISTED}))
    for wanted in ("nav", "cover-image"):
        count = sum(wanted in item.get("properties", "").split() for item in items.values())
        if count != 1:
            yield f"{count} files are the {wanted}"
    pages = {name: ElementTree.fromstring(files[name]) for name in files if name.endswith(".xhtml")}
    ids = {name: Counter(one.get("id") for one in page.iter()) for name, page in pages.items()}
    for name, page in pages.items():
        yield from (f"{name}: {one} {n} times" for one, n in ids[name].items() if one and n > 1)
        yield from _of_page(name, page, items.get(name, {}).get("properties", "").split())
        for address in _addresses(page):
            parts = urlsplit(address)
            if parts.scheme:
                continue
            here = posixpath.join(posixpath.dirname(name), unquote(parts.path))
            target = posixpath.normpath(here) if parts.path else name
            if target not in files:
                yield f"{name}: there is no {target}"
            elif parts.fragment and unquote(parts.fragment) not in ids.get(target, ()):
                yield f"{name}: {target} has no {parts.fragment}"


def _of_page(name, page, declared):
    for word, tag in DECLARED.items():
        if (next(page.iter(tag), None) is not None) != (word in declared):
            yield f"{name}: {word} is declared and not there, or there and not declared"
    for element in page.iter():
        tag = str(element.tag)
        if tag == f"{XHTML}math":
            yield f"{name}: a formula is not in the namespace of MathML"
        if {*element.attrib} & STYLES and tag not in STYLED:
            yield f"{name}: MathML 3 knows no style of {tag}"
        if tag == f"{XHTML}img" and not element.get("alt"):
            yield f"{name}: {element.get('src')} has no alternative text"
        if tag != f"{XHTML}a" and urlsplit(element.get("src") or element.get("href") or "").scheme:
            yield f"{name}: {tag} asks for something from elsewhere"


def _addresses(page):
    for element in page.iter():
        yield from (element.attrib[one] for one in ("href", "src") if one in element.attrib)
