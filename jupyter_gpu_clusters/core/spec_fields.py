"""What a spec model's fields look like to a person: type, limits, default, choices, one row a field."""

from __future__ import annotations

import enum
import types
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

_MAX_DEPTH = 6
_TYPE_WORDS: Mapping[Any, str] = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    Decimal: "number",
    str: "text",
    SecretStr: "secret text",
    Path: "path",
    datetime: "time (ISO 8601)",
    timedelta: "length of time",
    Any: "any value",
}


@dataclass(frozen=True, slots=True)
class FieldHelp:
    """One field as it is shown in help, forms and docs.

    ``name`` is dotted for fields of nested mappings; ``limits_text`` and ``default_text`` are empty where
    there is nothing to say; ``choices`` is empty where the choice is free.
    """

    name: str
    type_text: str
    required: bool
    default_text: str
    limits_text: str
    description: str
    choices: tuple[str, ...] = ()


def describe_fields(model: type[BaseModel]) -> list[FieldHelp]:
    """All fields of `model` in their order; those of nested models follow theirs, with dotted names."""
    return list(_describe(model, "", 0))


def field_names(model: type[BaseModel]) -> list[str]:
    """The names that a person may write at the top of a spec of `model`."""
    return [written_name(name, info) for name, info in model.model_fields.items()]


def written_name(name: str, info: FieldInfo) -> str:
    """The alias where there is one."""
    alias = info.validation_alias
    return alias if isinstance(alias, str) else info.alias or name


def members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union without ``None``, and without `Annotated` around them; one for any other type."""
    if get_origin(annotation) is Annotated:
        return members(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(m for part in get_args(annotation) if part is not types.NoneType for m in members(part))
    return (annotation,)


def models_inside(annotation: Any) -> list[type[BaseModel]]:
    """Models that a value of this type is or has as items."""
    found: list[type[BaseModel]] = []
    for member in members(annotation):
        if isinstance(member, type) and issubclass(member, BaseModel):
            found.append(member)
        elif get_origin(member) is not Literal:
            found.extend(inner for part in get_args(member) for inner in models_inside(part))
    return found


def takes_text(annotation: Any) -> bool:
    """Whether plain text is a value of this type, so that ``17`` may stay text."""
    return any(
        member is Any
        or (isinstance(member, type) and issubclass(member, str | Path | SecretStr))
        or (get_origin(member) is Literal and any(isinstance(choice, str) for choice in get_args(member)))
        for member in members(annotation)
    )


def type_text(annotation: Any) -> str:
    """A type in plain words."""
    words = [_member_text(member) for member in members(annotation)]
    return " or ".join(dict.fromkeys(words))


def choices_of(annotation: Any) -> tuple[str, ...]:
    """The closed list of values, if the type is one."""
    out: list[str] = []
    for member in members(annotation):
        if get_origin(member) is Literal:
            out += [_value_text(choice) for choice in get_args(member)]
        elif isinstance(member, type) and issubclass(member, enum.Enum):
            out += [_value_text(choice.value) for choice in member]
        else:
            return ()
    return tuple(out)


def _describe(model: type[BaseModel], prefix: str, depth: int) -> Iterator[FieldHelp]:
    for name, info in model.model_fields.items():
        shown = prefix + written_name(name, info)
        yield FieldHelp(
            name=shown,
            type_text=type_text(info.annotation),
            required=info.is_required(),
            default_text="" if info.is_required() else _default_text(info),
            limits_text=_limits_text(info),
            description=info.description or "",
            choices=choices_of(info.annotation),
        )
        if depth < _MAX_DEPTH:
            for inner in models_inside(info.annotation):
                yield from _describe(inner, f"{shown}{_inner_mark(info.annotation)}.", depth + 1)


def _inner_mark(annotation: Any) -> str:
    origins = [get_origin(member) for member in members(annotation)]
    return "[]" if any(_is_kind(origin, Sequence) or _is_kind(origin, AbstractSet) for origin in origins) else ""


def _is_kind(candidate: Any, kind: type) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, kind)


def _member_text(member: Any) -> str:
    if choices := choices_of(member):
        return f"one of {', '.join(choices)}"
    origin = get_origin(member)
    if _is_kind(origin, Mapping):
        return f"mapping of {' to '.join(type_text(part) for part in get_args(member))}"
    if _is_kind(origin, Sequence) or _is_kind(origin, AbstractSet):
        parts = [part for part in get_args(member) if part is not Ellipsis]
        return f"list of {type_text(parts[0])}" if parts else "list"
    if _is_kind(member, BaseModel) or _is_kind(member, Mapping):
        return "mapping"
    return _TYPE_WORDS.get(member) or str(getattr(member, "__name__", member))


def _default_text(info: FieldInfo) -> str:
    value = (
        info.get_default() if info.default_factory_takes_validated_data else info.get_default(call_default_factory=True)
    )
    return "" if value is None or value in ("", [], {}, ()) else _value_text(value)


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, SecretStr | BaseModel):
        return "set"
    return str(value.value if isinstance(value, enum.Enum) else value)


def _limits_text(info: FieldInfo) -> str:
    found: dict[str, Any] = {}
    for mark in [*info.metadata, *_inner_metadata(info.annotation)]:
        for key in ("ge", "gt", "le", "lt", "min_length", "max_length", "pattern"):
            if (value := getattr(mark, key, None)) is not None:
                found.setdefault(key, value)
    unit = "characters" if takes_text(info.annotation) else "entries"
    return ", ".join(_limit_words(found, unit))


def _inner_metadata(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Annotated:
        inner, *marks = get_args(annotation)
        flat = [part for mark in marks for part in (mark.metadata if isinstance(mark, FieldInfo) else [mark])]
        return [*flat, *_inner_metadata(inner)]
    if get_origin(annotation) in (Union, types.UnionType):
        return [mark for part in get_args(annotation) for mark in _inner_metadata(part)]
    return []


def _limit_words(found: Mapping[str, Any], unit: str) -> Iterator[str]:
    yield from _between(found.get("ge"), found.get("le"), "")
    if "gt" in found:
        yield f"more than {found['gt']}"
    if "lt" in found:
        yield f"less than {found['lt']}"
    yield from _between(found.get("min_length"), found.get("max_length"), f" {unit}")
    if "pattern" in found:
        yield f"matches {found['pattern']}"


def _between(low: Any, high: Any, unit: str) -> Iterator[str]:
    if low is not None and high is not None:
        yield f"{low} to {high}{unit}"
    elif low is not None:
        yield f"at least {low}{unit}"
    elif high is not None:
        yield f"at most {high}{unit}"
