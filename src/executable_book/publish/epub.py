"""The whole book as an EPUB: Sphinx writes it, and this completes it by what the format asks for.

Formulas are MathML with its namespace, or a reader shows letters in a row; the package says which pages hold
formulas or drawings; and it holds no file that no page names, but the font for formulas.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.builders.epub3 import Epub3Builder

from executable_book.html import unused_assets

ITEM = re.compile(r'<item id="[^"]*" href="([^"]*)" media-type="[^"]*"(?= />)')


class EBook(Epub3Builder):
    """Sphinx's builder of e-books, whose package has neither too much in it nor too little said of it."""

    media_types = Epub3Builder.media_types | {".woff2": "font/woff2"}

    def build_content(self) -> None:
        """List the files of the package, once they are those that are needed."""
        out = Path(self.outdir)
        (out / self.coverpage_name).unlink(missing_ok=True)  # or the last build's comes twice
        pages = {
            path.relative_to(out).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(out.rglob("*.xhtml"))
        }
        self._leave_out_unused("".join(pages.values()))
        super().build_content()
        package = out / "content.opf"
        text = package.read_text(encoding="utf-8")
        package.write_text(
            ITEM.sub(lambda item: item[0] + self._properties(item[1], pages), text),
            encoding="utf-8",
        )

    def _leave_out_unused(self, pages: str) -> None:
        static = Path(self.outdir, "_static")
        store = Path(self.doctreedir, "assets")
        wanted = unused_assets.characters(pages, "")
        unused_assets.cut_font(
            unused_assets.math_font(), static / unused_assets.MATH, wanted, store
        )
        cover = "".join(self.config.epub_cover[:1])
        for folder in (static, Path(self.outdir, self.imagedir)):
            unused_assets.remove_others(folder, unused_assets.used(folder, pages + cover))

    def _properties(self, name: str, pages: dict[str, str]) -> str:
        holds = {
            "mathml": "<math" in pages.get(name, ""),
            "svg": "<svg" in pages.get(name, ""),
            "cover-image": name in self.config.epub_cover[:1],
        }
        found = " ".join(one for one, is_so in holds.items() if is_so)
        return f' properties="{found}"' if found else ""
