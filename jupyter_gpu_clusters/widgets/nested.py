"""Fields made of several controls: names with values, groups, and groups of which one is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets

from ..core.errors import Problem
from ..core.yaml_text import Path, dotted
from .editor import LABEL_WIDTH, Collected, Editor
from .fields import control_layout, control_style, field_editor, read_item
from .html import BORDER_COLOUR, heading_html
from .shapes import MISSING, Kind, Shape

_MOST_PAIRS = 200
_LABEL = {"margin": "2px 8px 0 0", "flex": "0 0 auto", "display": "flex", "justify_content": "flex-end"}
_FRAME = {"border_left": f"2px solid {BORDER_COLOUR}", "padding": "0 0 0 8px", "margin": "2px 0 8px"}


def make_editor(shape: Shape, path: Path, changed: Callable[[], None]) -> Editor:
    """The editor of a field that stands at `path` in the spec."""
    match shape.kind:
        case Kind.PAIRS:
            return PairsEditor(shape, path, changed)
        case Kind.GROUP:
            return GroupEditor(shape, path, changed)
        case Kind.VARIANTS:
            return VariantsEditor(shape, path, changed)
    return field_editor(shape, path, changed)


class PairsEditor(Editor):
    """Rows of a name and a value, with buttons to add and remove rows."""

    def __init__(self, shape: Shape, path: Path, changed: Callable[[], None]) -> None:
        super().__init__(shape, path, changed)
        self.rows = ipywidgets.VBox()
        self.add_button = ipywidgets.Button(
            description="Add", icon="plus", tooltip=f"Add a row to {shape.label}", layout={"width": "6em"}
        )
        self.add_button.on_click(lambda _: self.add_row())
        label = ipywidgets.Label(shape.label, layout={**_LABEL, "width": LABEL_WIDTH})
        right = ipywidgets.VBox([self.rows, self.add_button], layout={"flex": "1 1 auto"})
        self._box = ipywidgets.VBox([ipywidgets.HBox([label, right], layout=control_layout()), self._note])
        for name, value in dict(shape.default if isinstance(shape.default, Mapping) else {}).items():
            self.add_row(name, str(value))

    @property
    def widget(self) -> Any:
        """Label, rows, the button that adds one, and help."""
        return self._box

    def add_row(self, name: str = "", value: str = "") -> None:
        """Add a row at the end; after 200 rows nothing more is added."""
        if len(self.rows.children) >= _MOST_PAIRS:
            return
        name_box = ipywidgets.Text(name, placeholder="NAME", tooltip="name", layout={"width": "14em"})
        value_box = ipywidgets.Text(value, placeholder="value or $name", tooltip="value", layout={"width": "18em"})
        remove = ipywidgets.Button(icon="trash", tooltip="Remove this row", layout={"width": "3em"})
        row = ipywidgets.HBox([name_box, ipywidgets.Label("="), value_box, remove])
        remove.on_click(lambda _: self._remove(row))
        for box in (name_box, value_box):
            box.observe(self._on_change, names="value")
        self.rows.children = (*self.rows.children, row)

    def _remove(self, row: Any) -> None:
        self.rows.children = tuple(other for other in self.rows.children if other is not row)
        row.close()
        self._changed()

    def _written(self, collected: Collected) -> Any:
        out: dict[str, Any] = {}
        for row in self.rows.children:
            name, value = row.children[0].value.strip(), row.children[2].value
            if not name and not value:
                continue
            if not name or name in out:
                text = f"{name} is there twice" if name else "a value has no name"
                collected.problems.append(Problem(dotted(self.path), text))
                continue
            out[name] = read_item(value, self.shape.item)
        if self.shape.default is not MISSING:
            return MISSING if out == self.shape.default else out
        return out or MISSING


class GroupEditor(Editor):
    """The fields of a nested mapping; one that may be left out has a switch, and is built when first used."""

    def __init__(self, shape: Shape, path: Path, changed: Callable[[], None]) -> None:
        super().__init__(shape, path, changed)
        self._editors: tuple[Editor, ...] = ()
        self._inner = ipywidgets.VBox(layout=_FRAME if path else {})
        self.switch: Any = None
        head: list[Any] = [ipywidgets.HTML(heading_html(shape.label))] if shape.label else []
        if shape.is_nullable and shape.default is MISSING:
            self.switch = ipywidgets.Checkbox(
                value=False, description=f"Set {shape.label}", indent=True, style=control_style(), tooltip=shape.key
            )
            self.switch.observe(self._on_switch, names="value")
            head = [self.switch]
        else:
            self._build()
        self._box = ipywidgets.VBox([*head, self._note, self._inner])

    @property
    def widget(self) -> Any:
        """Title or switch, help, and the fields in a frame."""
        return self._box

    def children(self) -> Sequence[Editor]:
        """The fields of the group, while it is used."""
        return self._editors if self._is_used() else ()

    def field(self, key: str) -> Editor:
        """The editor of one field of the group."""
        return next(editor for editor in self._editors if editor.path[-1] == key)

    def _is_used(self) -> bool:
        return self.switch is None or bool(self.switch.value)

    def _build(self) -> None:
        self._editors = tuple(make_editor(field, (*self.path, field.key), self._changed) for field in self.shape.fields)
        self._inner.children = tuple(editor.widget for editor in self._editors)

    def _on_switch(self, _: Any) -> None:
        if not self._editors:
            self._build()
        self._inner.layout.display = "" if self._is_used() else "none"
        self._changed()

    def _written(self, collected: Collected) -> Any:
        values: dict[Any, Any] = {editor.path[-1]: editor.written(collected) for editor in self.children()}
        out = {key: value for key, value in values.items() if value is not MISSING}
        out = {**dict(self.shape.preset), **out} if out else out
        is_asked = self.shape.is_required or (self.switch is not None and self._is_used())
        return out if out or is_asked else MISSING


class VariantsEditor(Editor):
    """One of several groups, chosen by its tag."""

    def __init__(self, shape: Shape, path: Path, changed: Callable[[], None]) -> None:
        super().__init__(shape, path, changed)
        default = shape.default.get(shape.tag_key) if isinstance(shape.default, Mapping) else None
        self._default_tag = None if shape.is_nullable and shape.default is MISSING else default
        empty = "(choose)" if shape.is_required else "(not set)"
        options = [(variant.label, variant.tag) for variant in shape.variants]
        self.choice = ipywidgets.Dropdown(
            options=options if default is not None else [(empty, None), *options],
            value=default,
            description=shape.label,
            tooltip=shape.key,
            style=control_style(),
            layout=control_layout(),
        )
        self._groups: dict[str, GroupEditor] = {}
        self._inner = ipywidgets.VBox()
        self._box = ipywidgets.VBox([self.choice, self._note, self._inner])
        self._show()
        self.choice.observe(self._on_choice, names="value")

    @property
    def widget(self) -> Any:
        """The choice, and the fields that come with it."""
        return self._box

    def children(self) -> Sequence[Editor]:
        """The fields of the chosen group."""
        chosen = self._groups.get(self.choice.value)
        return chosen.children() if chosen is not None else ()

    def group(self) -> GroupEditor:
        """The group that is chosen now."""
        return self._groups[self.choice.value]

    def _on_choice(self, _: Any) -> None:
        self._show()
        self._changed()

    def _show(self) -> None:
        tag = self.choice.value
        if tag is not None and tag not in self._groups:
            variant = next(variant for variant in self.shape.variants if variant.tag == tag)
            group = Shape(self.shape.key, Kind.GROUP, "", fields=variant.fields, preset=variant.preset)
            self._groups[tag] = GroupEditor(group, self.path, self._changed)
        self._inner.children = () if tag is None else (self._groups[tag].widget,)

    def _written(self, collected: Collected) -> Any:
        tag = self.choice.value
        if tag is None:
            return MISSING
        inner = self._groups[tag].written(collected)
        fields = {} if inner is MISSING else inner
        return MISSING if tag == self._default_tag and not fields else {self.shape.tag_key: tag, **fields}
