"""Every field of a model: where it stands, its editor, and something to fill in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jupyter_gpu_clusters.core.yaml_text import Path
from jupyter_gpu_clusters.widgets.choosing import ChoosingEditor
from jupyter_gpu_clusters.widgets.editor import Editor
from jupyter_gpu_clusters.widgets.fields import ControlEditor
from jupyter_gpu_clusters.widgets.nested import GroupEditor, ItemsEditor, VariantsEditor
from jupyter_gpu_clusters.widgets.pairs import PairsEditor
from jupyter_gpu_clusters.widgets.shapes import Kind

_RECURSION = 12
_TEXTS = {
    Kind.INTEGER: ("7", 7),
    Kind.NUMBER: ("7", 7),
    Kind.SCALAR: ("7", 7),
    Kind.DECIMAL: ("7.5", "7.5"),
    Kind.SECRET: ("env:SECRET", None),
    Kind.YAML: ("[a, 7]", ["a", 7]),
}


def field_paths(schema: dict[str, Any], definitions: dict[str, Any], path: Path = ()) -> Iterator[Path]:
    """Every place of a JSON Schema where a value can stand that is no object with properties or list of them.

    Lists stand as index 0; of a tagged union the branch is part of the path, as ``"tag=name"``.
    """
    schema = _whole(schema, definitions)
    if len(path) > _RECURSION:
        yield path
        return
    if "discriminator" in schema:
        for tag, reference in schema["discriminator"]["mapping"].items():
            tag_key = schema["discriminator"]["propertyName"]
            inner = {"$ref": reference, "without": tag_key}
            yield from field_paths(inner, definitions, (*path, f"{tag_key}={tag}"))
    elif "properties" in schema:
        for key, inner in schema["properties"].items():
            if key != schema.get("without"):
                yield from field_paths(inner, definitions, (*path, key))
    elif schema.get("type") == "array" and isinstance(schema.get("items"), dict):
        inner = _whole(schema["items"], definitions)
        if "properties" in inner or "discriminator" in inner:
            yield from field_paths(inner, definitions, (*path, 0))
        else:
            yield path
    else:
        yield path


def _whole(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Without reference and without "or null"."""
    while "$ref" in schema:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**definitions[schema["$ref"].rpartition("/")[2]], **rest}
    branches = [branch for branch in schema.get("anyOf", ()) if branch.get("type") != "null"]
    return _whole(branches[0], definitions) if len(branches) == 1 and "anyOf" in schema else schema


def editor_at(root: GroupEditor, path: Path) -> tuple[Editor, Path]:
    """Open whatever is in the way; the editor for that place, and what of the path lies inside its YAML box."""
    editor: Editor = root
    for index, key in enumerate(path):
        match editor:
            case GroupEditor():
                if editor.switch is not None:
                    editor.switch.value = True
                editor = editor.field(str(key))
            case ItemsEditor():
                if not editor.entries:
                    editor.add()
                editor = editor.entries[int(key)]
            case VariantsEditor():
                editor.choice.value = str(key).partition("=")[2]
                editor = editor.group()
            case _:
                return editor, path[index:]
    return editor, ()


def fill(editor: Editor) -> Any:
    """Fill something in that is not the default; what should be written for it."""
    kind = editor.shape.kind
    if isinstance(editor, PairsEditor):
        editor.add_row("A", "7")
        return {"A": 7 if editor.shape.item is Kind.SCALAR else "7"}
    assert isinstance(editor, ControlEditor | ChoosingEditor), (editor, editor.path)
    control: Any = editor.control
    if kind is Kind.LINES:
        control.value = "7\n8"
        return [7, 8] if editor.shape.item is Kind.SCALAR else ["7", "8"]
    if kind in (Kind.FLAG, Kind.CHOICE):
        return _choose(editor, control)
    if isinstance(control.value, int | float):
        control.value += 1
        return control.value
    control.value, value = _TEXTS.get(kind, ("text", "text"))
    return value


def _choose(editor: Editor, control: Any) -> Any:
    if isinstance(control.value, bool):
        control.value = not control.value
        return control.value
    last = len(control.options) - 1
    control.index = last if control.index != last else last - 1
    return control.value


def value_at(written: Any, path: Path) -> Any:
    """What was written at a path as `field_paths` gives it."""
    for key in path:
        if isinstance(key, str) and "=" in key:
            tag_key, _, tag = key.partition("=")
            assert written[tag_key] == tag
        else:
            written = written[key]
    return written
