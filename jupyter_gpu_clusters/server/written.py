"""What was filled in: where secrets stand in it, and what of it must not be written into a cell. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel

from ..core.errors import Problem
from ..core.references import Masked
from ..core.yaml_text import Path, dotted

BY_REFERENCE = (
    "is a secret and does not belong into a page. Give it by reference in a notebook cell: $name for a variable of "
    "the notebook."
)

Schemas = Sequence[Mapping[str, Any]]

# Names of fields whose values may be secret although they are plain text: environments and scripts.
_MASKED = re.compile(r"^env(ironment)?($|_|[A-Z]|s$)|(script|dockerfile)(_content)?$", re.IGNORECASE)


@cache
def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of what may be written for `model`, under the names that people write."""
    return model.model_json_schema(by_alias=True)


def secret_problems(model: type[BaseModel], data: Mapping[str, Any]) -> list[Problem]:
    """A problem for every secret that `data` holds."""
    schema = schema_of(model)
    paths = _secrets([schema], schema.get("$defs", {}), data, ())
    return [Problem(dotted(path), BY_REFERENCE) for path in paths]


def masked(model: type[BaseModel], data: Mapping[str, Any]) -> dict[str, Any]:
    """`data` with `Masked` values where a cell must have variables in their place.

    A field's own word (``masked`` in its schema) goes before its name.
    """
    schema = schema_of(model)
    return _masked_inside([schema], schema.get("$defs", {}), data)


def _masked_inside(schemas: Schemas, definitions: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    branches = _all_branches(schemas, definitions)
    return {key: _masked(key, _named(branches, key), definitions, value) for key, value in data.items()}


def _masked(key: str, schemas: Schemas, definitions: Mapping[str, Any], value: Any) -> Any:
    branches = _all_branches(schemas, definitions)
    told = [branch["masked"] for branch in branches if "masked" in branch]
    if told[0] if told else _MASKED.search(key):
        return {name: Masked(inner) for name, inner in value.items()} if isinstance(value, dict) else Masked(value)
    if isinstance(value, dict):
        return _masked_inside(branches, definitions, value)
    if isinstance(value, list):
        return [_masked(key, _items(branches), definitions, item) for item in value]
    return value


def _secrets(schemas: Schemas, definitions: Mapping[str, Any], value: Any, path: Path) -> Iterator[Path]:
    branches = _all_branches(schemas, definitions)
    if value is None:
        return
    if any(branch.get("format") == "password" or branch.get("writeOnly") for branch in branches):
        yield path
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _secrets(_named(branches, key), definitions, inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _secrets(_items(branches), definitions, inner, (*path, index))


def _all_branches(schemas: Schemas, definitions: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [branch for schema in schemas for branch in _branches(schema, definitions)]


def _branches(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schema and all that it may stand for."""
    yield schema
    if isinstance(reference := schema.get("$ref"), str):
        yield from _branches(definitions[reference.rpartition("/")[2]], definitions)
    for word in ("anyOf", "oneOf", "allOf"):
        for inner in schema.get(word, ()):
            yield from _branches(inner, definitions)


def _items(branches: Schemas) -> list[Mapping[str, Any]]:
    return [branch["items"] for branch in branches if isinstance(branch.get("items"), dict)]


def _named(branches: Schemas, key: str) -> list[Mapping[str, Any]]:
    found = [branch["properties"][key] for branch in branches if key in branch.get("properties", {})]
    others = [branch.get("additionalProperties") for branch in branches]
    return found or [other for other in others if isinstance(other, dict)]
