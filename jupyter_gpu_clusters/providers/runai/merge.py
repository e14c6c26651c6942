"""Specs as plain data, and one laid over another as the service does it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

KEYS: Mapping[str, str] = {
    "environmentVariables": "name",
    "labels": "name",
    "annotations": "name",
    "imagePullSecrets": "name",
    "tolerations": "name",
    "extendedResources": "resource",
    "ports": "container",
    "exposedUrls": "container",
    "relatedUrls": "url",
}
"""What tells the entries of a list from each other (contract, section 3.7)."""


def plain(part: BaseModel | None) -> dict[str, Any]:
    """What was written in a part of a request; nothing else, and no nulls."""
    return {} if part is None else part.model_dump(exclude_none=True)


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`above` laid over `below`: it wins where both have a key, and lists are merged by the keys of their entries."""
    merged = {name: value for name, value in below.items() if value is not None}
    for name, value in above.items():
        old = merged.get(name)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            merged[name] = merge(old, value)
        elif name in KEYS and isinstance(old, list) and isinstance(value, list):
            merged[name] = _merge_lists(old, value, KEYS[name])
        elif value is not None:
            merged[name] = value
    return merged


def _merge_lists(below: list[Any], above: list[Any], key: str) -> list[Any]:
    named = {item.get(key) for item in above if isinstance(item, Mapping)}
    return [*(item for item in below if not isinstance(item, Mapping) or item.get(key) not in named), *above]
