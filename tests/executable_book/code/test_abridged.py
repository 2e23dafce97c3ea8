"""Code on a page is the source without docstrings, types and refusals, and else as its author wrote it."""

import ast
from textwrap import dedent

import pytest

from executable_book.code.abridged import abridge, is_taught, new_lines


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
                # This is about what is refused.
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


def test_it_says_what_was_left_out() -> None:
    def kinds(source):
        return abridge(source, ast.parse(source).body).left_out

    assert kinds("x = 1\n") == []
    assert kinds("x: int = 1\n") == ["types"]
    assert kinds("def f(x: int):\n    '''Do.'''\n    require_it(x)\n    return x\n") == [
        "docstrings",
        "types",
        "refusals",
    ]


def test_fields_are_more_than_types() -> None:
    source = """
        @dataclass(frozen=True)
        class Config:
            width: int
            depth: int = 2
    """
    same(shown(source), source)


@pytest.mark.parametrize(
    "source",
    [
        "def f(*args: int, **rest: object) -> None:\n    return args, rest\n",
        "def f(a: int, /, b: str = ' -> ', *, c: float | None = None) -> 'str':\n    return a, b, c\n",
        "def f(é: int) -> dict[str, int]:\n    return é\n",
        "@cache\ndef f(x: 'int' = (1)) -> (int):\n    y: int = (\n        x\n    )\n    return y\n",
        "def f(\n    first: int,\n    second: str,\n) -> None:\n    first = second\n",
    ],
)
def test_what_is_left_is_the_same_program(source) -> None:
    """What Python reads in the listing is what it reads in the file, types aside."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            node.body = [
                ast.Assign([one.target], one.value, lineno=1)
                if isinstance(one, ast.AnnAssign)
                else one
                for one in node.body
            ]
    assert ast.dump(ast.parse(shown(source))) == ast.dump(ast.parse(ast.unparse(tree)))


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


def test_what_is_new_is_what_was_left_out() -> None:
    before, after = shown(FORWARD, "fused", "attended"), shown(FORWARD)
    lines = after.splitlines()
    assert [lines[number - 1].strip() for number in new_lines(before, after)] == [
        "if self.window:",
        "# In one kernel.",
        "attended = fused(q, k)",
        "return attended",
    ]
    assert new_lines("a\nb", "a\n\nnew\nb") == [3]


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
