"""What a form must ask for, read from a pydantic model's JSON Schema. Pure: no widgets, no I/O.

The sidebar builds its form from the same schema, so a provider's model is written once. Everything the
schema can say has a shape here; what has no natural control becomes a YAML box, so every field can be
reached.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from typing import Any, Final

from pydantic import BaseModel

from .limits import limits_text
from .structure import resolved, structure_text

MISSING: Final = object()
"""The value of a field that the user did not fill in: it is not sent."""

_GROUP_DEPTH = 6
_VALUE = "value"
_ACRONYMS = frozenset({"api", "cpu", "cpus", "gpu", "gpus", "id", "ids", "ip", "ips", "ssh", "uri", "url"})
_LONG_TEXT = re.compile(r"(script|dockerfile)(_content)?$", re.IGNORECASE)
_MASKED = re.compile(r"^env(ironment)?($|_|[A-Z]|s$)|(script|dockerfile)(_content)?$", re.IGNORECASE)
_SCALARS = frozenset({"string", "integer", "number", "boolean"})


class Kind(StrEnum):
    """Which control a field gets."""

    TEXT = "text"
    LONG_TEXT = "long text"
    INTEGER = "whole number"
    NUMBER = "number"
    DECIMAL = "exact number"
    FLAG = "yes or no"
    CHOICE = "choice"
    SECRET = "secret"
    SCALAR = "value"
    LINES = "list"
    PAIRS = "names and values"
    GROUP = "group"
    VARIANTS = "one of several groups"
    ITEMS = "list of groups"
    YAML = "YAML"


@dataclass(frozen=True, slots=True)
class Variant:
    """One branch of a tagged union: the value of the tag and the fields that come with it."""

    tag: str
    label: str
    fields: tuple[Shape, ...]
    preset: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shape:
    """One field of a form.

    Parameters
    ----------
    key : the field's name in the user's words, as it stands in YAML.
    default : plain data, or `MISSING` when the model has none (or ``None``).
    item : of what the entries of a list, or the values of names and values, are.
    look_up : the provider's list of choices for it; free text stays possible.
    depends_on : dotted paths of fields whose change makes that list void.
    is_nullable : the field may be ``null``, so leaving it empty is a choice of its own.
    is_masked : its value is not written into cells (environment values, scripts, secrets).
    preset : of a group with a default of its own, what must be sent along when anything else in it is.
    entry : of a list of groups, one of them.
    """

    key: str
    kind: Kind
    label: str
    help: str = ""
    limits: str = ""
    is_required: bool = False
    is_nullable: bool = False
    is_masked: bool = False
    default: Any = MISSING
    choices: tuple[Any, ...] = ()
    item: Kind = Kind.TEXT
    look_up: str = ""
    depends_on: tuple[str, ...] = ()
    fields: tuple[Shape, ...] = ()
    preset: Mapping[str, Any] = field(default_factory=dict)
    tag_key: str = ""
    variants: tuple[Variant, ...] = ()
    entry: Shape | None = None


@cache
def shapes_of(model: type[BaseModel]) -> tuple[Shape, ...]:
    """The fields of `model`, in the order in which it declares them."""
    schema = model.model_json_schema(by_alias=True)
    definitions = schema.get("$defs", {})
    return _fields(resolved(schema, definitions), definitions, depth=0)


def has_look_ups(fields: Iterable[Shape]) -> bool:
    """Whether any of these fields, or one inside them, has choices that a provider looks up."""
    return any(inner.look_up or has_look_ups(_inside(inner)) for inner in fields)


def _inside(shape: Shape) -> Iterator[Shape]:
    yield from shape.fields
    for variant in shape.variants:
        yield from variant.fields
    if shape.entry is not None:
        yield from _inside(shape.entry)


def humanised(key: str) -> str:
    """A label for a field without a title: ``gpus_per_node`` reads "GPUs per node"."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).replace("-", "_").split("_")
    spoken = [_spoken(word) for word in words if word]
    label = " ".join(spoken)
    return label[:1].upper() + label[1:]


def _spoken(word: str) -> str:
    if word.lower() not in _ACRONYMS:
        return word.lower()
    return f"{word[:-1].upper()}s" if word.lower().endswith("s") else word.upper()


def _fields(schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> tuple[Shape, ...]:
    required = schema.get("required", ())
    return tuple(
        _shape(key, inner, definitions, key in required, depth) for key, inner in schema.get("properties", {}).items()
    )


def _shape(key: str, outer: Mapping[str, Any], definitions: Mapping[str, Any], required: bool, depth: int) -> Shape:
    schema, is_nullable = _without_null(resolved(outer, definitions), definitions)
    details = _details(key, schema, definitions, depth)
    kind = details["kind"]
    default = schema.get("default")
    title = outer.get("title")
    shape = Shape(
        key=key,
        label=title if title and title != _automatic_title(key) else humanised(key),
        help=_help(schema, definitions, kind),
        limits=limits_text(schema),
        is_required=required,
        is_nullable=is_nullable,
        is_masked=bool(schema.get("masked", kind is Kind.SECRET or _MASKED.search(key))),
        default=MISSING if default is None or kind is Kind.SECRET else default,
        look_up=str(schema.get("choices", "")),
        depends_on=tuple(schema.get("depends_on", ())),
        **details,
    )
    if kind is Kind.ITEMS:
        return _as_items(shape)
    return _with_inner_defaults(shape) if isinstance(shape.default, Mapping) else shape


def _as_items(shape: Shape) -> Shape:
    """A list of groups; in one that is masked only what the entries call their value is."""
    if shape.default not in (MISSING, []):
        return replace(shape, kind=Kind.YAML, entry=None)
    entry = shape.entry
    if not shape.is_masked or entry is None or all(inner.key != _VALUE for inner in entry.fields):
        return shape
    fields = tuple(replace(inner, is_masked=inner.key == _VALUE or inner.is_masked) for inner in entry.fields)
    return replace(shape, is_masked=False, entry=replace(entry, fields=fields))


def _help(schema: Mapping[str, Any], definitions: Mapping[str, Any], kind: Kind) -> str:
    """The description; of what goes into a YAML box also the structure."""
    text = " ".join(str(schema.get("description", "")).split())
    structure = structure_text(schema, definitions) if kind is Kind.YAML else ""
    return f"{text} As YAML: {structure}.".strip() if structure else text


def _with_inner_defaults(shape: Shape) -> Shape:
    """A group that has a default of its own shows those values, not the ones its model would have."""
    if shape.kind is Kind.GROUP:
        fields, preset = _overlaid(shape.fields, shape.default)
        return replace(shape, fields=fields, preset=preset)
    variants = []
    for variant in shape.variants:
        is_default = variant.tag == shape.default.get(shape.tag_key)
        fields, preset = _overlaid(variant.fields, shape.default) if is_default else (variant.fields, {})
        variants.append(replace(variant, fields=fields, preset=preset))
    return replace(shape, variants=tuple(variants))


def _overlaid(fields: tuple[Shape, ...], values: Mapping[str, Any]) -> tuple[tuple[Shape, ...], dict[str, Any]]:
    """The fields with other defaults, and those defaults that the fields' own model would not choose itself."""
    shown, preset = [], {}
    for inner in fields:
        value = values.get(inner.key)
        if value in (None, [], {}) or inner.kind is Kind.SECRET or value == inner.default:
            shown.append(inner)
            continue
        changed = replace(inner, default=value, is_required=False)
        changed = _with_inner_defaults(changed) if isinstance(value, Mapping) else changed
        shown.append(changed)
        if inner.kind is not Kind.GROUP or changed.preset:
            preset[inner.key] = value
    return tuple(shown), preset


def _details(key: str, schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """What depends on the type: the kind, and for compound kinds what is inside."""
    if "discriminator" in schema and depth < _GROUP_DEPTH:
        return _variants(schema, definitions, depth)
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return {"kind": Kind.CHOICE, "choices": tuple(value for value in values if value is not None)}
    match schema.get("type"):
        case "string":
            return {"kind": _text_kind(key, schema)}
        case "integer":
            return {"kind": Kind.INTEGER}
        case "number":
            return {"kind": Kind.NUMBER}
        case "boolean":
            return {"kind": Kind.FLAG}
        case "array":
            return _list(schema, definitions, depth)
        case "object":
            return _object(schema, definitions, depth)
    branches = [resolved(branch, definitions) for branch in schema.get("anyOf", ())]
    if branches and all(branch.get("type") in _SCALARS for branch in branches):
        return {"kind": _union_kind(branches)}
    return {"kind": Kind.YAML}


def _text_kind(key: str, schema: Mapping[str, Any]) -> Kind:
    if schema.get("writeOnly") or schema.get("format") == "password":
        return Kind.SECRET
    return Kind.LONG_TEXT if schema.get("multiline", _LONG_TEXT.search(key)) else Kind.TEXT


def _union_kind(branches: list[dict[str, Any]]) -> Kind:
    """Number-or-text is how pydantic writes a decimal."""
    types = {branch["type"] for branch in branches}
    is_secret = any(branch.get("writeOnly") for branch in branches)
    if is_secret:
        return Kind.SECRET
    return Kind.DECIMAL if types == {"number", "string"} else Kind.SCALAR


def _list(schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> dict[str, Any]:
    inner = resolved(schema.get("items", {}), definitions)
    if "prefixItems" in schema:
        return {"kind": Kind.YAML}
    if (item := _scalar_kind(inner)) is not None:
        return {"kind": Kind.LINES, "item": item, "choices": tuple(inner.get("enum", ()))}
    entry = _details("", inner, definitions, depth)
    if entry["kind"] not in (Kind.GROUP, Kind.VARIANTS):
        return {"kind": Kind.YAML}
    return {"kind": Kind.ITEMS, "entry": Shape("", label="", is_required=True, **entry)}


def _object(schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if "properties" in schema:
        if depth >= _GROUP_DEPTH:
            return {"kind": Kind.YAML}
        return {"kind": Kind.GROUP, "fields": _fields(schema, definitions, depth + 1)}
    values = schema.get("additionalProperties")
    item = _scalar_kind(resolved(values, definitions)) if isinstance(values, dict) else None
    return {"kind": Kind.YAML} if item is None else {"kind": Kind.PAIRS, "item": item}


def _scalar_kind(schema: Mapping[str, Any]) -> Kind | None:
    """Of what a list's entries are, or ``None`` when they are not single values that fit a line."""
    if schema.get("writeOnly"):
        return None
    match schema.get("type"):
        case "string":
            return Kind.TEXT
        case "integer" | "number" | "boolean":
            return Kind.SCALAR
    return Kind.TEXT if all(isinstance(value, str) for value in schema.get("enum", [None])) else None


def _variants(schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> dict[str, Any]:
    tag_key = schema["discriminator"]["propertyName"]
    declared = [branch.get("$ref") for branch in schema["oneOf"]]
    tags = schema["discriminator"]["mapping"].items()
    variants = []
    for tag, reference in sorted(tags, key=lambda item: declared.index(item[1])):
        branch = resolved({"$ref": reference}, definitions)
        fields = _fields(branch, definitions, depth + 1)
        inner = tuple(shape for shape in fields if shape.key != tag_key)
        variants.append(Variant(tag, humanised(tag), inner))
    return {"kind": Kind.VARIANTS, "tag_key": tag_key, "variants": tuple(variants)}


def _without_null(schema: dict[str, Any], definitions: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Lift the one real branch of "this or null" up, and say whether null was allowed."""
    if None in schema.get("enum", ()):
        return schema, True
    branches = [branch for branch in schema.get("anyOf", ()) if branch.get("type") != "null"]
    if len(branches) == len(schema.get("anyOf", ())):
        return schema, False
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    if len(branches) > 1:
        return {**rest, "anyOf": branches}, True
    return {**resolved(branches[0], definitions), **rest}, True


def _automatic_title(key: str) -> str:
    """The title pydantic makes up when the author gave none."""
    return key.title().replace("_", " ").strip()
