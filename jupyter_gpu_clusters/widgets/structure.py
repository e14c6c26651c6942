"""The structure of a value in words, for fields that are written as YAML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}
_DEPTH = 3


def resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Follow a reference of a JSON Schema; what stands beside it wins."""
    merged = dict(schema)
    while "$ref" in merged:
        target = definitions[merged.pop("$ref").removeprefix("#/$defs/")]
        merged = {**target, **merged}
    return merged


def structure_text(schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int = _DEPTH) -> str:
    """What to write, for example ``list of mappings with container (whole number), external``.

    Required keys carry a ``*``; what lies deeper than three levels is left out. Empty when anything goes.
    """
    merged = resolved(schema, definitions)
    if branches := merged.get("anyOf", merged.get("oneOf", ())):
        texts = [structure_text(branch, definitions, depth) for branch in branches]
        return " or ".join(dict.fromkeys(text for text in texts if text and text != "null"))
    if "enum" in merged or "const" in merged:
        return f"one of {', '.join(map(str, merged.get('enum', [merged.get('const')])))}"
    match merged.get("type"):
        case "array":
            inner = structure_text(merged.get("items", {}), definitions, depth - 1) if depth else ""
            return f"list of {inner}" if inner else "list"
        case "object":
            return _mapping_text(merged, definitions, depth)
    return _WORDS.get(str(merged.get("type")), "")


def _mapping_text(schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> str:
    if not depth:
        return "mapping"
    if "properties" not in schema:
        values = schema.get("additionalProperties")
        inner = structure_text(values, definitions, depth - 1) if isinstance(values, dict) else ""
        return f"mapping of names to {inner}" if inner else "mapping"
    required = schema.get("required", ())
    keys = []
    for key, inner in schema["properties"].items():
        text = structure_text(inner, definitions, depth - 1)
        keys.append(f"{key}{'*' * (key in required)}{f' ({text})' if text else ''}")
    return f"mapping with {', '.join(keys)}"
