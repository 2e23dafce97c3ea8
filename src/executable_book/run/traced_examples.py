"""The shapes that the lines of a library make, taken from the examples of its docstrings as they run.

    python traced_examples.py FOLDER package part.module ...

prints, as JSON, the statements that made something which has a `shape`, and what to say of it: "x (2, 6)". It
is a program because a process that builds a book does not import its library, which lies in the folder.
"""

import ast
import doctest
import importlib
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

Statement = tuple[str, ...]
"""A module, the names of the definitions in which a statement stands, and what it says, types aside."""


def statements_in(node: ast.AST, within: Statement) -> Iterator[tuple[Statement, ast.stmt]]:
    """Yield the statements in some code that bind or return something."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield from statements_in(child, (*within, name))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield (*within, f"{ast.unparse(target)} = {ast.unparse(value)}"), child
            case ast.Assign() | ast.AugAssign() | ast.Return():
                yield (*within, ast.unparse(child)), child
            case ast.stmt():
                yield from statements_in(child, within)


class Tracer:
    """Follows what runs in some modules, and notes the shapes that each statement makes.

    Of the calls of a function, one counts, so that the shapes on its lines belong together: a call in the
    example of its own docstring or its class's, if there is one, and then the one in which most statements
    made something.
    """

    def __init__(self, modules: Mapping[str, ModuleType]) -> None:
        self.example = ""
        """Whose example is running."""
        self.best: dict[CodeType, tuple[bool, int, dict[Statement, str]]] = {}
        self.statements = {
            module.__file__: {
                line: one
                for one in statements_in(
                    ast.parse(Path(str(module.__file__)).read_text("utf-8")), (name,)
                )
                for line in range(one[1].lineno, (one[1].end_lineno or 0) + 1)
            }
            for name, module in modules.items()
        }

    def __call__(self, frame: FrameType, event: str, value: Any) -> Any:
        """Begin to follow a call, if it is of our modules."""
        code = frame.f_code
        statements = self.statements.get(code.co_filename)
        if statements is None or code.co_name.startswith("<"):
            return None
        called = f"{frame.f_globals['__name__']}.{code.co_qualname}."
        is_own = called.startswith(f"{self.example}.")
        shapes: dict[Statement, str] = {}
        running: tuple[Statement, ast.stmt] | None = None

        def follow(frame: FrameType, event: str, value: Any) -> Any:
            nonlocal running
            now = statements.get(frame.f_lineno) if event == "line" else None
            if running and running is not now and event != "exception":
                made = ", ".join(made_by(running[1], frame.f_locals, value))
                if made:
                    shapes.setdefault(running[0], made)
            running = now
            if event == "return" and shapes:
                before = self.best.get(code, (False, 0, {}))
                self.best[code] = max(
                    before, (is_own, len(shapes), shapes), key=lambda one: one[:2]
                )
            return follow

        return follow


def made_by(statement: ast.stmt, bound: Mapping[str, Any], returned: Any) -> Iterator[str]:
    """Yield what a statement has bound or returns, each with its shape."""
    if isinstance(statement, ast.Return):
        values = returned if type(returned) is tuple else [returned]
        named = [("returns", value) for value in values]
    else:
        names = [one for one in ast.walk(statement) if isinstance(one, ast.Name)]
        stored = [one.id for one in names if isinstance(one.ctx, ast.Store)]
        named = [(name, bound[name]) for name in stored if name in bound]
    for name, value in named:
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple) and all(isinstance(size, int) for size in shape):
            yield f"{name} {(*map(int, shape),)}"


def run_examples(package: str, names: list[str]) -> list[tuple[Statement, str]]:
    """Run the examples of a package's modules, and return what their statements made."""
    modules = {name: importlib.import_module(f"{package}.{name}") for name in names}
    tracer = Tracer(modules)
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(verbose=False)
    for module in modules.values():
        in_order = sorted(finder.find(module, module.__name__), key=lambda test: test.lineno or 0)
        for test in in_order:
            tracer.example = test.name
            sys.settrace(tracer)
            try:
                runner.run(test, out=lambda text: None)
            finally:
                sys.settrace(None)
    return [made for *_, shapes in tracer.best.values() for made in shapes.items()]


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    print(json.dumps(run_examples(sys.argv[2], sys.argv[3:])))
