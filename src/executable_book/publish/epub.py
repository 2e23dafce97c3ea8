"""The whole book as an EPUB: Sphinx writes it, and this completes it by what the format asks for.

What is folded on a screen is open here, as not every reader can unfold it, and drawings of several frames are
cut apart. In the contents, chapters stand below their parts.
"""

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from html import escape
from pathlib import Path
from typing import Any

from sphinx.builders.epub3 import Epub3Builder
from sphinx.locale import _

from executable_book.html import unused_assets
from executable_book.publish import step_figures
from executable_book.publish.pdf import parts_of

ITEM = re.compile(r'<item id="[^"]*" href="([^"]*)" media-type="[^"]*"(?= />)')
FOLD = re.compile(r"<details(?![^>]* open=)(?=[ >])")


class EBook(Epub3Builder):
    """Sphinx's builder of e-books, whose package has neither too much in it nor too little said of it."""

    media_types = Epub3Builder.media_types | {".woff2": "font/woff2"}

    def prepare_writing(self, docnames: AbstractSet[str]) -> None:
        """Say on each page which language it is in."""
        language = escape(self.config.epub_language)
        self.html_tag = f'{Epub3Builder.html_tag[:-1]} lang="{language}" xml:lang="{language}">'
        super().prepare_writing(docnames)

    def handle_page(self, pagename: str, addctx: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        """Write a page on which nothing is folded, and each frame of a drawing is a picture."""
        if "body" in addctx:
            unfolded = FOLD.sub('<details open="open"', addctx["body"])
            addctx["body"] = step_figures.split_frames(unfolded)
        super().handle_page(pagename, addctx, *args, **kwargs)

    def build_navlist(self, navnodes: list[dict[str, Any]]) -> Any:
        """List the contents, chapters below their parts."""
        return super().build_navlist([*self._in_parts(navnodes)])

    def _in_parts(self, entries: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Put chapters below their parts, whose pages are those of their first chapters; add the index."""
        parts = {self.get_target_uri(page): title for page, title in parts_of(self.env).items()}
        in_parts = False
        for entry in entries:
            if title := parts.get(entry["refuri"], ""):
                in_parts = True
                yield entry | {"level": 1, "text": escape(title)}
            yield entry | {"level": entry["level"] + in_parts}
        if self.use_index:
            yield {"level": 1, "refuri": f"genindex{self.out_suffix}", "text": _("Index")}

    def build_content(self) -> None:
        """List the files of the package, once they are those that are needed."""
        out = Path(self.outdir)
        (out / self.coverpage_name).unlink(missing_ok=True)  # or the last build's comes twice
        pages = {
            path.relative_to(out).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(out.rglob("*.xhtml"))
        }
        step_figures.draw_frames("".join(pages.values()), out / self.imagedir)
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
        font = unused_assets.subset_font(
            unused_assets.whole_math_font(), unused_assets.characters(pages)
        )
        (static / unused_assets.MATH_FONT).write_bytes(font)
        named = pages + "".join(self.config.epub_cover[:1])
        for folder in (static, Path(self.outdir, self.imagedir)):
            unused_assets.remove_others(folder, unused_assets.used_files(folder, named))

    def _properties(self, name: str, pages: dict[str, str]) -> str:
        holds = {
            "mathml": "<math" in pages.get(name, ""),
            "svg": "<svg" in pages.get(name, ""),
            "cover-image": name in self.config.epub_cover[:1],
        }
        found = " ".join(one for one, is_so in holds.items() if is_so)
        return f' properties="{found}"' if found else ""
