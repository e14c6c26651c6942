"""pydantic's errors in plain words: the user's own field, its line, what would be right."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Any

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from .errors import Problem
from .nearest import nearest
from .spec_fields import field_names, models_inside, written_name
from .yaml_text import Path, dotted

_MAX_SHOWN = 40
_MAX_LISTED = 12
_LARGEST_READ = 1e40
_EXPECTED: Mapping[str, str] = {
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "bool": "true or false",
    "string": "text",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "dict": "a mapping",
    "mapping": "a mapping",
    "model": "a mapping",
    "dataclass": "a mapping",
    "none": "empty",
    "path": "a path",
    "datetime": "a time such as 2030-01-31T12:00:00Z",
    "finite": "a finite number",
}


def problems_of(
    error: ValidationError,
    model: type[BaseModel],
    data: Mapping[str, Any],
    *,
    lines: Mapping[Path, int] | None = None,
    hidden: Collection[Path] = (),
) -> list[Problem]:
    """All faults of one validation, one a field, in the order of the lines.

    Parameters
    ----------
    data : what the user wrote, as it was validated.
    lines : path -> line of the text.
    hidden : paths whose values must not be repeated (they came from variables and may be secrets).
    """
    grouped: dict[Path, list[ErrorDetails]] = {}
    for details in error.errors(include_url=False):
        grouped.setdefault(_written_path(details, data), []).append(details)
    found = [
        Problem(dotted(path), _text(path, group, model, hidden), _line_of(path, lines or {}))
        for path, group in grouped.items()
    ]
    return sorted(found, key=lambda problem: problem.line or 0)


def unknown_field(name: str, options: Sequence[str]) -> str:
    """The sentence for a name that is no field, with the nearest right one or all of them."""
    found = nearest(name, options) or next((option for option in options if option.startswith(name)), None)
    if found:
        return f"is not known here. Did you mean {found!r}?"
    listed = ", ".join(options[:_MAX_LISTED]) + (" and more" if len(options) > _MAX_LISTED else "")
    return f"is not known here. Known: {listed}." if options else "is not known here."


def _written_path(details: ErrorDetails, data: Any) -> Path:
    """The path without what pydantic adds for unions and validators."""
    path: list[str | int] = []
    here: Any = data
    for position, part in enumerate(details["loc"]):
        is_last = position == len(details["loc"]) - 1
        if isinstance(here, Mapping) and (part in here or (is_last and details["type"] == "missing")):
            path.append(part)
            here = here.get(part)
        elif isinstance(here, Sequence) and not isinstance(here, str) and isinstance(part, int) and part < len(here):
            path.append(part)
            here = here[part]
    return tuple(path)


def _line_of(path: Path, lines: Mapping[Path, int]) -> int | None:
    """The line of the field, else of what it is missing from; the top itself has no telling line."""
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return None


def _text(path: Path, group: Sequence[ErrorDetails], model: type[BaseModel], hidden: Collection[Path]) -> str:
    kinds = {details["type"]: details for details in group}
    if "extra_forbidden" in kinds and len(kinds) == 1:
        return unknown_field(str(path[-1]), _names_at(path[:-1], model))
    if "missing" in kinds:
        return "is missing."
    if beyond := _beyond_limit(group[0]["input"], path, model):
        return beyond
    phrases = dict.fromkeys(_expected(details) for details in group if details["type"] != "extra_forbidden")
    wanted = [phrase.removeprefix("must be ") for phrase in phrases]
    says_what_is_right = all(phrase.startswith("must be ") for phrase in phrases) and not _is_custom(group[0])
    text = f"must be {' or '.join(wanted)}" if says_what_is_right else "; ".join(phrases)
    value = group[0]["input"]
    seen = _seen(value, _may_show(path, model, hidden)) if says_what_is_right else ""
    quotes = "; put it in quotes" if text == "must be text" and isinstance(value, bool | int | float) else ""
    return f"{text}{seen}{quotes}."


def _beyond_limit(value: Any, path: Path, model: type[BaseModel]) -> str | None:
    """For a number too long to be read as a whole one (it was read as a float): the limit it breaks."""
    if not isinstance(value, float) or not abs(value) >= _LARGEST_READ:
        return None
    key, words = ("le", "must be at most") if value > 0 else ("ge", "must be at least")
    infos = _infos_at(path, model)
    limits = [limit for info in infos for mark in info.metadata if (limit := getattr(mark, key, None)) is not None]
    if limits:
        return f"{words} {_number(limits[0])}."
    return f"is too {'large' if value > 0 else 'small'} a number."


def _is_custom(details: ErrorDetails) -> bool:
    return details["type"] in ("value_error", "assertion_error")


def _expected(details: ErrorDetails) -> str:
    kind, context = details["type"], details.get("ctx", {})
    match kind:
        case "greater_than_equal":
            return f"must be at least {_number(context['ge'])}"
        case "greater_than":
            return f"must be more than {_number(context['gt'])}"
        case "less_than_equal":
            return f"must be at most {_number(context['le'])}"
        case "less_than":
            return f"must be less than {_number(context['lt'])}"
        case "literal_error" | "enum":
            return f"must be one of {context['expected'].replace(' or ', ', ')}{_hint_for(details)}"
        case "string_too_short" | "too_short" if context["min_length"] == 1:
            return "must not be empty"
        case "value_error" | "assertion_error":
            return str(context["error"]).rstrip(".")
    wanted = _EXPECTED.get(kind.partition("_")[0])
    if wanted and kind.endswith(("_type", "_parsing", "_number", "_from_float", "_required", "_size")):
        return f"must be {wanted}"
    return details["msg"][:1].lower() + details["msg"][1:].rstrip(".")


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _hint_for(details: ErrorDetails) -> str:
    choices = [part.strip("'") for part in details["ctx"]["expected"].replace(" or ", ", ").split(", ")]
    found = nearest(str(details["input"]), choices) if isinstance(details["input"], str) else None
    return f" (did you mean {found!r}?)" if found else ""


def _seen(value: Any, may_show: bool) -> str:
    """What stands there instead, by its value where it may be repeated, else by its kind."""
    if value is None:
        return ", not empty"
    if isinstance(value, bool):
        return f", not {str(value).lower()}" if may_show else ", not true or false"
    if isinstance(value, int | float):
        return f", not {value}" if may_show else ", not a number"
    if isinstance(value, str):
        shown = may_show and len(value) <= _MAX_SHOWN
        return f", not {value!r}" if shown else ", not this text"
    if isinstance(value, Mapping):
        return ", not a mapping"
    if isinstance(value, Sequence):
        return ", not a list"
    return f", not a {type(value).__name__}" if not isinstance(value, date | enum.Enum) else f", not {value}"


def _may_show(path: Path, model: type[BaseModel], hidden: Collection[Path]) -> bool:
    """Values of variables, of secret fields and inside open mappings (environments) are not repeated."""
    if any(path[: len(prefix)] == tuple(prefix) for prefix in hidden):
        return False
    models: list[type[BaseModel]] = [model]
    for depth, part in enumerate(path):
        if isinstance(part, int):
            continue
        infos = [info for m in models for name, info in m.model_fields.items() if written_name(name, info) == part]
        if not infos or any(SecretStr in _flat(info.annotation) for info in infos):
            return False
        models = [inner for info in infos for inner in models_inside(info.annotation)]
        if not models and depth < len(path) - 1 and isinstance(path[depth + 1], str):
            return False
    return True


def _flat(annotation: Any) -> list[Any]:
    parts = getattr(annotation, "__args__", ())
    return [annotation, *(inner for part in parts for inner in _flat(part))]


def _names_at(path: Path, model: type[BaseModel]) -> list[str]:
    infos = _infos_at(path, model)
    models = [inner for info in infos for inner in models_inside(info.annotation)] if path else [model]
    return list(dict.fromkeys(name for m in models for name in field_names(m)))


def _infos_at(path: Path, model: type[BaseModel]) -> list[FieldInfo]:
    """The fields that a path may mean (several where a union has several models); list positions are passed over."""
    models, infos = [model], list[FieldInfo]()
    for part in path:
        if isinstance(part, str):
            infos = [info for m in models for name, info in m.model_fields.items() if written_name(name, info) == part]
            models = [inner for info in infos for inner in models_inside(info.annotation)]
    return infos
