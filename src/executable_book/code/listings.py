"""The directive `{library}`: the source of something that the package defines, without its docstrings.

    ```{library} attention_weights
    From queries and keys to weights.
    ```

The text is the caption. What the docstring says stands in the API reference, to which the caption leads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

from executable_book.code.package_source import Item, Library, library_in


def library_of(config: Config, srcdir: str | Path) -> Library:
    """Return the package that a book teaches."""
    return library_in(Path(srcdir, config.literate_library).resolve())


class LibraryCode(SphinxDirective):
    """Shows the code of what its argument names; its content is the caption."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Find the code, and follow the file that it stands in."""
        try:
            item = library_of(self.config, self.env.srcdir).find(self.arguments[0])
        except LookupError as error:
            raise self.error(str(error)) from None
        self.env.note_dependency(item.file)
        text, messages = self.parse_inline(" ".join(self.content))
        caption = nodes.caption("", "", self._name(item), nodes.Text(": "), *text)
        code = nodes.literal_block(item.code, item.code, language="python", library=item.name)
        block = nodes.container(
            "", caption, code, literal_block=True, classes=["literal-block-wrapper"]
        )
        self.set_source_info(block)
        self.set_source_info(code)
        self.add_name(block)
        return [block, *messages]

    def _name(self, item: Item) -> nodes.Node:
        """Return the name, as a link if the API reference can have an entry for it."""
        literal = nodes.literal("", item.name)
        documented = item.full.removesuffix(".__init__")
        if any(part.startswith("_") for part in documented.split(".")):
            return literal
        return addnodes.pending_xref(
            "",
            literal,
            refdomain="py",
            reftype="obj",
            reftarget=documented,
            refdoc=self.env.docname,
        )


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_config_value("literate_library", "../src/literate_attention", "env", types=[str])
    app.add_directive("library", LibraryCode)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
