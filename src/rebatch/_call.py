"""Values that print as the call that makes them, and how such a text is read back.

Nothing is ever run that is not a listed maker: no names, attributes or arithmetic.
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import fields

from rebatch.errors import InputError, shown

Makers = Mapping[str, Callable[..., object]]


class Value:
    """Mixed into a frozen dataclass: ``repr`` is the call, without the defaults."""

    def __repr__(self) -> str:
        made_of = [field for field in fields(self) if field.init]  # type: ignore[arg-type]
        arguments = [self._text(getattr(self, f.name)) for f in made_of if not f.kw_only]
        for field in made_of:
            value = getattr(self, field.name)
            if field.kw_only and value != field.default:
                arguments.append(f"{field.name}={self._text(value)}")
        return f"{type(self).__name__}({', '.join(arguments)})"

    def _text(self, argument: object) -> str:
        return repr(argument)


def evaluate(text: str, makers: Makers, *, what: str) -> object:
    """Return what a call stands for; its arguments are literals and further calls.

    ``what`` names the argument and gives an example: ``"schedule must be a call such as f(1)"``.

    >>> evaluate("dict(a=max(2, 3), b=-1.5)", {"dict": dict, "max": max}, what="it must be a call")
    {'a': 3, 'b': -1.5}
    """
    try:
        return _Reader(makers).read(ast.parse(text, mode="eval").body)
    except _Misread as error:
        why = f": at character {error.place}, {error}"
    except InputError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        why = ""
    raise InputError(f"{what}, got {shown(text)}{why}")


class _Misread(Exception):
    """Something at a place of the text that may not stand there."""

    def __init__(self, node: ast.expr, why: str) -> None:
        super().__init__(why)
        self.place = node.col_offset + 1


class _Reader:
    """Reads a syntax tree with the given makers."""

    def __init__(self, makers: Makers) -> None:
        self.makers = makers

    def read(self, node: ast.expr) -> object:
        """Return the value of a literal, a tuple, a dictionary (as pairs) or a call."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return tuple(self.read(item) for item in items)
            case ast.Dict(keys=keys, values=values):
                pairs = zip((key for key in keys if key), values, strict=True)
                return tuple((self.read(key), self.read(value)) for key, value in pairs)
            case ast.Call(func=ast.Name(id=name)):
                return self._make(name, node)
        raise _Misread(node, "only calls, numbers, texts and tuples may stand")

    def _make(self, name: str, node: ast.Call) -> object:
        if name not in self.makers:
            raise _Misread(node, f"{shown(name)} is none of {', '.join(sorted(self.makers))}")
        arguments = [self.read(argument) for argument in node.args]
        named = {keyword.arg or "**": self.read(keyword.value) for keyword in node.keywords}
        try:
            return self.makers[name](*arguments, **named)
        except TypeError as error:
            raise _Misread(node, str(error).replace(".__init__()", "()")) from None
