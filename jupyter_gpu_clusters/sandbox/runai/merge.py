"""Policy defaults, template and request become one spec; the later one wins, lists go by their key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Spec = dict[str, Any]
KEYS: Mapping[str, str] = {
    "annotations": "name",
    "labels": "name",
    "environmentVariables": "name",
    "imagePullSecrets": "name",
    "extendedResources": "resource",
    "exposedUrls": "container",
    "ports": "container",
    "relatedUrls": "url",
    "tolerations": "name",
    "pvc": "name",
    "nfs": "name",
    "hostPath": "name",
    "git": "name",
    "s3": "name",
    "configMapVolume": "name",
    "secretVolume": "name",
    "emptyDirVolume": "name",
    "dataVolume": "id",
}


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> Spec:
    """Both as one; entries of keyed lists are merged, those with ``exclude: true`` take the default out."""
    merged = {name: _copy(value) for name, value in base.items()}
    for name, value in over.items():
        old = merged.get(name)
        if name in KEYS and isinstance(value, list):
            merged[name] = _lists(old or [], value, KEYS[name])
        elif isinstance(old, dict) and isinstance(value, dict):
            merged[name] = merge(old, value)
        else:
            merged[name] = _copy(value)
    return merged


def _lists(base: list[Spec], over: list[Spec], key: str) -> list[Spec]:
    named = {item[key]: item for item in over if item.get(key) is not None}
    kept = [merge(item, named.pop(item[key])) if item.get(key) in named else dict(item) for item in base]
    left = [item for item in over if item.get(key) is None or item[key] in named]
    return [item for item in [*kept, *map(dict, left)] if not item.get("exclude")]


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return merge({}, value)
    return [_copy(item) for item in value] if isinstance(value, list) else value


def value_at(spec: Mapping[str, Any], path: str) -> Any:
    """What lies at a dotted path; `None` when nothing does."""
    found: Any = spec
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found
