"""Code on a page is the source without docstrings, types and refusals, and else as its author wrote it."""

import ast
from textwrap import dedent

from executable_book.code.abridged import abridge, is_taught


def shown(source, *until):
    source = dedent(source).lstrip("\n")
    return abridge(source, ast.parse(source).body[-1:], until).code


def same(found, expected) -> None:
    assert found == dedent(expected).strip("\n")


def test_docstrings_types_and_refusals_are_left_out() -> None:
    source = '''
        class Head(nn.Module, Base[int]):
            """A head."""

            width: int

            def __init__(self, d_in: int, names: tuple[str, ...] = ("a", "b"), *, bias: bool = False) -> None:
                """Make it.

                At length.
                """
                super().__init__()
                for name, size in (("d_in", d_in),):
                    require_at_least(name, size, 1)
                if bias:
                    _require_bias(bias)
                self._require_known(names)

                # Why it is so.
                self.layer: nn.Linear = nn.Linear(d_in, 2)  # on purpose

            @overload
            def forward(self, x: int) -> int: ...

            def forward(
                self,
                x: Float[Tensor, "*batch n"],
            ) -> (
                Float[Tensor, "n"]
                | tuple[Tensor, Tensor]
            ):
                if x.ndim < 2:
                    raise ValueError("no")
                return self.layer(x)

            def _require_known(self, names: object) -> None:
                print(names)

            def extra_repr(self) -> str:
                return "a head"
    '''
    same(
        shown(source),
        """
        class Head(nn.Module, Base):
            def __init__(self, d_in, names=("a", "b"), *, bias=False):
                super().__init__()

                # Why it is so.
                self.layer = nn.Linear(d_in, 2)  # on purpose

            def forward(self, x):
                return self.layer(x)
        """,
    )


def test_fields_are_more_than_types() -> None:
    source = """
        @dataclass(frozen=True)
        class Config:
            width: int
            depth: int = 2
    """
    same(shown(source), source)


def test_refusals_within_are_shown_where_they_are_asked_for() -> None:
    source = dedent(
        """\
        def fetch(url):
            require_url(url)
            try:
                found = get(url)
            except OSError:
                raise ConnectionError(url) from None
            if not found:
                raise ValueError(url)
            return found"""
    )
    definitions = ast.parse(source).body
    assert abridge(source, definitions, refusals=True).code == source
    assert abridge(source, definitions).code == (
        "def fetch(url):\n    try:\n        found = get(url)\n    except OSError:\n"
        "        raise ConnectionError(url) from None\n    return found"
    )


FORWARD = """
    def forward(self, x: Tensor, cache: Cache | None = None, scale=1.0):
        q, k = self.project(x)
        if cache is not None:
            k = cache.update(k)
        if self.window:
            # In one kernel.
            attended = fused(q, k)
            return attended
        for one in self.cached():
            print(one)
        with self.cached() as it:
            print(it)
        return softmax(q @ k.mT, cache=cache.size) * scale
"""


def test_what_comes_later_is_left_out() -> None:
    """An argument, a statement, a branch or loop that begins with it, and a branch of nothing else."""
    same(
        shown(FORWARD, "cache", "cached"),
        """
        def forward(self, x, scale=1.0):
            q, k = self.project(x)
            if self.window:
                # In one kernel.
                attended = fused(q, k)
                return attended
            return softmax(q @ k.mT) * scale
        """,
    )
    same(
        shown(FORWARD, "fused", "attended", "cached", "cache"),
        """
        def forward(self, x, scale=1.0):
            q, k = self.project(x)
            return softmax(q @ k.mT) * scale
        """,
    )


def test_what_of_a_module_is_taught() -> None:
    source = dedent('''
        """A module."""

        from typing import Literal

        Stream = Literal["a", "b"]
        __all__ = ["f"]
        LIMIT: Final = 3
        """A limit."""
        width: int

        def _require_it(x):
            print(x)

        @overload
        def f(x: int): ...

        def f(x):
            return x

        f(LIMIT)
        if __name__ == "__main__":
            f(1)
    ''')
    taught = filter(is_taught, ast.parse(source).body)
    assert [ast.unparse(one).partition("\n")[0] for one in taught] == [
        "LIMIT: Final = 3",
        "def f(x):",
        "f(LIMIT)",
    ]


def test_a_sharp_within_a_string_is_no_comment() -> None:
    text = f"def say():\n    return '{40 * 'a'}  # {40 * 'b'}'\n"
    assert f"'{40 * 'a'}  # {40 * 'b'}'" in shown(text).replace('"', "'")
