"""``$name`` in options and YAML: the notebook variable of that name, with its type. Nothing else expands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.errors import Problem, SpecError
from ..core.nearest import did_you_mean
from ..core.specs import Path, SpecText, dotted


class UnusableVariable(LookupError):
    """There is no such variable, or its text cannot be sent; the message is a sentence for the user."""


def variable(name: str, namespace: Mapping[str, Any]) -> Any:
    """The value of a notebook variable; a zero-dimensional array or numpy scalar as a plain Python value.

    Raises
    ------
    UnusableVariable : there is none (the nearest name is offered), or its text has half of a character.
    """
    if name not in namespace:
        names = [known for known in namespace if not known.startswith("_")]
        raise UnusableVariable(f"there is no notebook variable {name!r}.{did_you_mean(name, names)}")
    value = namespace[name]
    if isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
        raise UnusableVariable(f"the variable {name!r} holds half of a character (a lone surrogate); replace it.")
    is_array_scalar = getattr(value, "shape", None) == () and callable(getattr(value, "item", None))
    return value.item() if is_array_scalar else value


def fill_in(text: SpecText, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a body with its unquoted ``$name`` scalars replaced.

    Raises
    ------
    SpecError : with every variable that is missing or cannot be used, and its line.
    """
    problems: list[Problem] = []
    values: dict[Path, Any] = {}
    for path, name in text.variables.items():
        try:
            values[path] = variable(name, namespace)
        except UnusableVariable as exc:
            problems.append(Problem(dotted(path), str(exc), text.lines.get(path)))
    if problems:
        raise SpecError("The body has variables that cannot be used; nothing was sent.", problems=problems)
    filled: dict[str, Any] = _replaced(text.data, (), values)
    return filled


def _replaced(value: Any, path: Path, values: Mapping[Path, Any]) -> Any:
    if path in values:
        return values[path]
    if isinstance(value, dict):
        return {key: _replaced(inner, (*path, key), values) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, (*path, index), values) for index, inner in enumerate(value)]
    return value
