"""From what the user wrote to a provider's spec model, and from the model to its help.

The one door for all faces: a cell body is read by `load_yaml`, checked by `build_spec`; `describe_fields`
is what help, forms and docs show.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from .errors import SpecError
from .nearest import nearest
from .spec_fields import FieldHelp, describe_fields, field_names, takes_text, written_name
from .spec_problems import problems_of, unknown_field
from .yaml_text import VARIABLE, Path, SpecText, dotted, load_yaml, read_scalar

__all__ = [
    "VARIABLE",
    "FieldHelp",
    "Path",
    "SpecText",
    "build_spec",
    "describe_fields",
    "dotted",
    "field_names",
    "load_yaml",
    "nearest",
    "problems_of",
    "read_option",
    "read_scalar",
    "unknown_field",
]

M = TypeVar("M", bound=BaseModel)


def build_spec(
    model: type[M],
    data: Mapping[str, Any],
    lines: Mapping[Path, int] | None = None,
    *,
    hidden: Collection[Path] = (),
) -> M:
    """Check `data` against `model`.

    Parameters
    ----------
    lines : path -> line of the cell body, for the problems.
    hidden : paths whose values must not be repeated in an error.

    Raises
    ------
    SpecError : with every problem, each with its field and line.
    """
    try:
        return model.model_validate(dict(data))
    except ValidationError as exc:
        problems = problems_of(exc, model, data, lines=lines, hidden=hidden)
    count = len(problems)
    raise SpecError(f"The spec has {count} problem{'s' * (count > 1)}; nothing was sent.", problems=problems)


def read_option(model: type[BaseModel], name: str, text: str) -> Any:
    """The value of an option ``--name text``: text where the field takes text, else a YAML 1.2 scalar."""
    for known, info in model.model_fields.items():
        if written_name(known, info) == name and takes_text(info.annotation):
            return text
    return read_scalar(text)
