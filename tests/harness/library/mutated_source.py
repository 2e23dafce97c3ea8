"""Random changes of a function or a class: an operation, a number, an argument, a statement."""

import ast
import copy
import inspect
import random
import sys
import textwrap
from collections.abc import Callable

OPERATIONS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.MatMult)
COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
Change = Callable[[], None]


def mutants(original, number, seed):
    """Yield so many different mutants, one or two changes each, with their source."""
    draw, seen = random.Random(seed), set()
    for _ in range(20 * number):
        tree = ast.parse(textwrap.dedent(inspect.getsource(original)))
        without_docstrings(tree)
        intact = ast.unparse(tree)
        for _ in range(draw.choice((1, 1, 2))):
            for change in draw.sample(possible := list(changes(tree, draw)), min(1, len(possible))):
                change()
        source = ast.unparse(ast.fix_missing_locations(tree))
        if source == intact or source in seen:
            continue
        seen.add(source)
        names = dict(vars(sys.modules[original.__module__]))
        exec(compile(source, "<mutant>", "exec"), names)
        yield source, names[original.__name__]
        if len(seen) == number:
            return


def without_docstrings(tree) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            node.body = node.body[1:]


def changes(tree, draw):
    """Yield all that may be changed, each with what it is changed into."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            bodies = [node.body]
            bodies += [n.body for n in ast.walk(node) if isinstance(n, ast.If | ast.For)]
            for body in bodies:
                for place in range(len(body) - 1):
                    yield lambda body=body, place=place: body.__setitem__(place, ast.Pass())
            for child in ast.walk(ast.Module(node.body, [])):
                yield from changes_of(child, draw)


def changes_of(node, draw):
    """Yield what may be changed in one place."""

    def put(**values):
        return lambda: vars(node).update(values)

    match node:
        case ast.BinOp(left=left, op=op, right=right):
            yield put(op=draw.choice([one for one in OPERATIONS if not isinstance(op, one)])())
            yield put(left=right, right=left)
        case ast.Compare(ops=[op]):
            yield put(ops=[draw.choice([one for one in COMPARISONS if not isinstance(op, one)])()])
        case ast.Constant(value=bool(value)):
            yield put(value=not value)
        case ast.Constant(value=int(value) | float(value)):
            yield put(value=value + draw.choice((-1, 1, 2)))
        case ast.UnaryOp(op=ast.USub()):
            yield put(op=ast.UAdd())
        case ast.UnaryOp(op=ast.Invert() | ast.Not(), operand=operand):
            yield put(operand=ast.UnaryOp(node.op, copy.deepcopy(operand)))
        case ast.Attribute(attr="tril"):
            yield put(attr="triu")
        case ast.Call(args=[first, second, *rest]):
            yield put(args=[second, first, *rest])
        case ast.Call(keywords=[*keywords, _]):
            yield put(keywords=keywords)
        case ast.Slice(lower=lower, upper=upper):
            yield put(lower=upper, upper=lower)
        case ast.IfExp(body=body, orelse=orelse):
            yield put(body=orelse, orelse=body)
        case _:
            pass
