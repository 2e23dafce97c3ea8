"""The shapes that the lines of a library make, taken from the examples of its docstrings as they run.

    python traced_examples.py FOLDER package part.module ...

prints, as JSON, what each statement made in one call: by module and by the line on which the statement
begins, the names that it bound and the shapes of their values; the name of what is returned is empty. All
that has a `shape` counts. It is a program because a process that builds a book does not import its library,
which lies in the folder.
"""

import ast
import doctest
import importlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

Shapes = dict[int, list[tuple[str, list[int]]]]
"""By the line on which a statement begins: names, and the shapes of their values."""
Trace = Callable[[FrameType, str, Any], Any]


class Tracer:
    """Follows what runs in some files, and notes the shapes that each statement makes.

    Of the calls of a function, one counts, so that the shapes on its lines belong together: a call in the
    example of its own docstring or its class's, if there is one, and then the one in which most statements
    made something.
    """

    def __init__(self, files: list[str]) -> None:
        self.statements = {file: statements_of(Path(file).read_text("utf-8")) for file in files}
        self.example = ""
        """Whose example is running."""
        self.best: dict[CodeType, tuple[tuple[bool, int], Shapes]] = {}

    @property
    def found(self) -> dict[str, Shapes]:
        """The shapes, by file."""
        found: dict[str, Shapes] = {file: {} for file in self.statements}
        for code, (_, shapes) in self.best.items():
            found[code.co_filename] |= shapes
        return found

    def __call__(self, frame: FrameType, event: str, value: Any) -> Trace | None:
        """Begin to follow a call, if it is of our files."""
        code = frame.f_code
        statements = self.statements.get(code.co_filename)
        if statements is None or code.co_name.startswith("<"):
            return None
        name = f"{frame.f_globals['__name__']}.{code.co_qualname}."
        is_own = name.startswith(f"{self.example}.")
        shapes: Shapes = {}
        running: ast.stmt | None = None

        def follow(frame: FrameType, event: str, value: Any) -> Trace:
            nonlocal running
            now = statements.get(frame.f_lineno) if event == "line" else None
            if running and running is not now and event != "exception":
                made = made_by(running, frame.f_locals, value if event == "return" else None)
                if of_statement := [*made]:
                    shapes.setdefault(running.lineno, of_statement)
            running = now
            rank = is_own, len(shapes)
            if event == "return" and shapes and rank > self.best.get(code, ((False, 0), {}))[0]:
                self.best[code] = rank, shapes
            return follow

        return follow


def statements_of(text: str) -> dict[int, ast.stmt]:
    """Return, for each line, the statement that it belongs to, if that binds or returns something."""
    kinds = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return
    return {
        line: one
        for one in ast.walk(ast.parse(text))
        if isinstance(one, kinds)
        for line in range(one.lineno, (one.end_lineno or one.lineno) + 1)
    }


def made_by(
    statement: ast.stmt, bound: Mapping[str, Any], returned: Any
) -> Iterator[tuple[str, list[int]]]:
    """Yield the names that a statement has bound, each with the shape of its value."""
    if isinstance(statement, ast.Return):
        values = returned if type(returned) is tuple else [returned]
        named = [("", value) for value in values]
    else:
        names = [one for one in ast.walk(statement) if isinstance(one, ast.Name)]
        stored = [one.id for one in names if isinstance(one.ctx, ast.Store)]
        named = [(name, bound[name]) for name in stored if name in bound]
    for name, value in named:
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple) and all(isinstance(size, int) for size in shape):
            yield name, [*map(int, shape)]


def run_examples(package: str, names: list[str]) -> dict[str, Shapes]:
    """Run the examples of a package's modules, and return what their statements made."""
    modules = {name: importlib.import_module(f"{package}.{name}") for name in names}
    tracer = Tracer([str(module.__file__) for module in modules.values()])
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
    return {name: tracer.found[str(module.__file__)] for name, module in modules.items()}


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    print(json.dumps(run_examples(sys.argv[2], sys.argv[3:])))
