"""What may be changed in a source: each mutant is one small change of meaning, of a kind that people make by mistake.

    compare   < for <=, == for !=, in for not in       minmax   min for max, any for all
    negate    a condition turned round                 branch   the same where there is an `else`
    boolop    `and` for `or`                           arith    + for -
    number    a number that is one too large           flag     True for False
    drop      a statement left out                     reset    the same, where it puts something back to nothing

Left alone: annotations, decorators, asserts, what is raised, texts. A mutant's name is stable as long as the file is.
"""

from __future__ import annotations

import ast
import copy
import difflib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
_LEFT_ALONE = (ast.Assert, ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)
_CONDITIONAL = (ast.If, ast.While, ast.IfExp)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file."""

    path: str
    line: int
    operator: str
    number: int  # among those of this kind in this line, from 1
    begin: int  # in bytes of the file
    end: int
    text: str  # what stands there instead
    in_function: bool  # else it is carried out by an import

    @property
    def name(self) -> str:
        """`nodes/st/logs.py:123:compare`; the second in the same line ends with `.2`."""
        return f"{self.path}:{self.line}:{self.operator}" + (f".{self.number}" if self.number > 1 else "")

    @property
    def protocol(self) -> str:
        return self.path.split("/")[1]

    def applied(self, source: bytes) -> bytes:
        """The file with the change."""
        return source[: self.begin] + self.text.encode() + source[self.end :]

    def diff(self, source: bytes) -> str:
        """The lines that differ."""
        before, after = (one.decode().splitlines() for one in (source, self.applied(source)))
        return "\n".join(list(difflib.unified_diff(before, after, lineterm="", n=1))[3:])


def mutants(path: str, source: bytes) -> list[Mutant]:
    """All of a file, in its order."""
    begins = [0]
    for line in source.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    numbers: Counter[tuple[int, str]] = Counter()
    found = []
    for node, operator, text, in_function in _within(ast.parse(source), in_function=""):
        assert node.end_lineno is not None and node.end_col_offset is not None
        begin, end = begins[node.lineno - 1] + node.col_offset, begins[node.end_lineno - 1] + node.end_col_offset
        numbers[node.lineno, operator] += 1
        found.append(Mutant(path, node.lineno, operator, numbers[node.lineno, operator], begin, end, text, in_function))
    return found


_Change = tuple[ast.expr | ast.stmt, str, str]  # what is changed, how that is called, what stands there instead


def _within(node: ast.AST, in_function: str) -> Iterator[tuple[ast.expr | ast.stmt, str, str, bool]]:
    """All changes below this node, and whether they are in a function."""
    if isinstance(node, ast.FunctionDef):
        in_function = node.name
    for child in _children(node):
        if isinstance(child, _LEFT_ALONE):
            continue
        for change in (*_statement(child, node, in_function), *_expression(child, _role(child, node))):
            yield *change, bool(in_function)
        yield from _within(child, in_function)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Without annotations and decorators."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "keywords") and not isinstance(node, ast.Call):
            continue
        many: Iterable[object] = value if isinstance(value, list) else (value,)
        yield from (one for one in many if isinstance(one, ast.AST))


def _role(child: ast.AST, node: ast.AST) -> str:
    """What it is called to turn this condition round; nothing if it is none."""
    if isinstance(node, ast.comprehension):
        return "negate" if child in node.ifs else ""
    if not isinstance(node, _CONDITIONAL) or child is not node.test:
        return ""
    return "branch" if node.orelse else "negate"


def _statement(child: ast.AST, node: ast.AST, in_function: str) -> Iterator[_Change]:
    """What may be left out: without it names are still known."""
    match child:
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()) | ast.AugAssign() | ast.Delete():
            yield child, "drop", "pass"
        case ast.Continue() | ast.Break():
            yield child, "drop", "pass"
        case ast.Return() if isinstance(node, ast.If):
            yield child, "drop", "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_], value=value) if in_function != "__init__":
            yield child, "reset" if _is_nothing(value) else "drop", "pass"


def _is_nothing(value: ast.expr) -> bool:
    match value:
        case ast.Constant(value=found):
            return not found
        case ast.Tuple(elts=[]) | ast.List(elts=[]) | ast.Dict(keys=[]) | ast.Call(args=[], keywords=[]):
            return True
    return False


def _expression(node: ast.AST, role: str) -> Iterator[_Change]:
    if role and isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
        yield node, role, _negated(node)
    match node:
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                if not role or isinstance(operator, _ORDER) or len(node.ops) > 1:
                    changed = copy.deepcopy(node)
                    changed.ops[place] = _COMPARED[type(operator)]()
                    yield node, "compare", f"({ast.unparse(changed)})"
        case ast.BoolOp():
            other = ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
            yield node, "boolop", f"({ast.unparse(other)})"
        case ast.Call(func=ast.Name(id=name)) if name in _CALLED:
            yield node.func, "minmax", _CALLED[name]
        case ast.BinOp(op=ast.Add() | ast.Sub()) if not (_is_text(node.left) or _is_text(node.right)):
            yield node, "arith", f"({ast.unparse(ast.BinOp(node.left, _COMPUTED[type(node.op)](), node.right))})"
        case ast.AugAssign(op=ast.Add() | ast.Sub()):
            yield node, "arith", ast.unparse(ast.AugAssign(node.target, _COMPUTED[type(node.op)](), node.value))
        case ast.Constant(value=bool() as value):
            yield node, "flag", str(not value)
        case ast.Constant(value=int() as value):
            yield node, "number", str(value + 1)


def _negated(condition: ast.expr) -> str:
    if isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not):
        return f"({ast.unparse(condition.operand)})"
    return f"(not ({ast.unparse(condition)}))"


def _is_text(node: ast.expr) -> bool:
    """Nobody subtracts these."""
    return isinstance(node, ast.Tuple | ast.List | ast.JoinedStr | ast.Constant) and not (
        isinstance(node, ast.Constant) and isinstance(node.value, int)
    )
