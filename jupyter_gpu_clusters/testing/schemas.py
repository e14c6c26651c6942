"""Walking over models and their JSON Schemas."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from jupyter_gpu_clusters.core.provider import ActsOnClusters, CreatesClusters, Provider, RunsWorkloads
from jupyter_gpu_clusters.core.spec_fields import models_inside, written_name

_NOT_JAVASCRIPT = re.compile(r"\(\?(?![:=!])|\\[AZzGhHRX]|[*+?}]\+|\\[pP]|\[\[:|\[\^?\]")
"""Named groups, lookbehind, flags, comments, atoms, anchors, possessive repeats, properties, empty classes."""


def models_of(provider: type[Provider]) -> dict[str, type[BaseModel]]:
    """Everything that a person fills in: where it is used -> model."""
    found: dict[str, type[BaseModel]] = {}
    if issubclass(provider, CreatesClusters):
        found["spec_model"] = provider.spec_model
    if issubclass(provider, RunsWorkloads):
        found["workload_model"] = provider.workload_model
    if issubclass(provider, ActsOnClusters):
        found |= {f"action {name}": action.model for name, action in provider.actions.items()}
    return found


def all_models(provider: type[Provider]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Those models and all that are inside them, each once: dotted place -> model."""
    seen: set[type[BaseModel]] = set()
    rest = list(models_of(provider).items())
    while rest:
        where, model = rest.pop(0)
        if model in seen:
            continue
        seen.add(model)
        yield where, model
        for name, info in model.model_fields.items():
            rest += [(f"{where}.{written_name(name, info)}", inner) for inner in models_inside(info.annotation)]


def all_fields(provider: type[Provider]) -> Iterator[tuple[str, FieldInfo]]:
    """Every field of every model: dotted place -> field."""
    for where, model in all_models(provider):
        for name, info in model.model_fields.items():
            yield f"{where}.{written_name(name, info)}", info


def patterns_in(schema: Any) -> Iterator[str]:
    """Every regular expression of a JSON Schema."""
    if isinstance(schema, Mapping):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        if isinstance(schema.get("patternProperties"), Mapping):
            yield from schema["patternProperties"]
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from patterns_in(part)


def why_not_javascript(pattern: str) -> str | None:
    """Why a pattern may mean something else, or nothing, to a browser; ``None`` when it is plain."""
    try:
        re.compile(pattern)
    except re.error as exc:
        return f"{pattern!r} is no regular expression: {exc}"
    odd = _NOT_JAVASCRIPT.search(pattern.replace(r"\\", ""))
    return f"{pattern!r} has {odd.group()!r}, which JavaScript does not know so" if odd else None


def nulls_in(value: Any, where: str = "") -> Iterator[str]:
    """Dotted places of ``null`` in JSON data."""
    if value is None:
        yield where
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from nulls_in(part, f"{where}.{key}".lstrip("."))
