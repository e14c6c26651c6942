"""Fields made of several fields: groups, lists of groups, and groups of which one is chosen.

What is inside is built when it is first opened, so a form with hundreds of fields opens as fast as a small one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets

from ..core.yaml_text import Path
from .choosing import ChoiceEditor, ChoiceLinesEditor
from .editor import NOTE_MARGIN, Collected, Editor, Host, close_all, is_inside
from .fields import control_layout, control_style, field_editor, side_label
from .html import BORDER_COLOUR, heading_html
from .pairs import PairsEditor
from .shapes import MISSING, Kind, Shape

MOST_AT_FIRST = 12
"""So many fields of a large group are shown at once, the required ones before the others; the rest on demand."""

_MANY = 16
_MOST_ENTRIES = 200
_FRAME = {"border_left": f"2px solid {BORDER_COLOUR}", "padding": "0 0 0 8px", "margin": "2px 0 8px"}


def make_editor(shape: Shape, path: Path, host: Host) -> Editor:
    """The editor of a field that stands at `path` in the spec."""
    match shape.kind:
        case Kind.PAIRS:
            return PairsEditor(shape, path, host)
        case Kind.GROUP:
            return GroupEditor(shape, path, host)
        case Kind.VARIANTS:
            return VariantsEditor(shape, path, host)
        case Kind.ITEMS:
            return ItemsEditor(shape, path, host)
        case Kind.LINES if shape.choices or _is_looked_up(shape, host):
            return ChoiceLinesEditor(shape, path, host)
    return ChoiceEditor(shape, path, host) if _is_looked_up(shape, host) else field_editor(shape, path, host)


def _is_looked_up(shape: Shape, host: Host) -> bool:
    return bool(shape.look_up) and host.lists is not None and shape.kind in _CHOOSABLE


_CHOOSABLE = (Kind.TEXT, Kind.LONG_TEXT, Kind.INTEGER, Kind.NUMBER, Kind.DECIMAL, Kind.SCALAR, Kind.LINES)


class GroupEditor(Editor):
    """The fields of a nested mapping; one that may be left out has a switch. A large one shows a part at first."""

    def __init__(self, shape: Shape, path: Path, host: Host) -> None:
        super().__init__(shape, path, host)
        self._editors: dict[str, Editor] = {}
        self._first, self._later = _parted(shape)
        self._shown = ipywidgets.VBox()
        self._more = ipywidgets.VBox()
        self._inner = ipywidgets.VBox([self._shown], layout=_FRAME if path else {})
        self.switch: Any = None
        self.more_button: Any = None
        head: list[Any] = [ipywidgets.HTML(heading_html(shape.label))] if shape.label else []
        if shape.is_nullable and shape.default is MISSING:
            self.switch = ipywidgets.Checkbox(
                value=False,
                description=f"Set {shape.label}",
                indent=True,
                style=control_style(),
                tooltip=shape.key,
                layout=control_layout(),
            )
            self.switch.observe(self._on_switch, names="value")
            self._inner.layout.display = "none"
            head = [self.switch]
        else:
            self._build()
        self._box = ipywidgets.VBox([*head, self._note, self._inner])

    @property
    def widget(self) -> Any:
        """Title or switch, help, and the fields in a frame."""
        return self._box

    def children(self) -> Sequence[Editor]:
        """The fields of the group that have been opened, while it is used."""
        if not self._is_used():
            return ()
        return [self._editors[inner.key] for inner in self.shape.fields if inner.key in self._editors]

    def field(self, key: str) -> Editor:
        """The editor of one field of the group; it is opened if it was not."""
        if key not in self._editors:
            self._open()
        return self._editors[key]

    def move(self, path: Path) -> None:
        """The fields move along."""
        super().move(path)
        for key, editor in self._editors.items():
            editor.move((*path, key))

    def reveal(self, field: str) -> None:
        """Show the fields that are shown on demand only, if that is one of them."""
        is_later = any(is_inside(field, (*self.path, inner.key)) for inner in self._later)
        if is_later and self._is_used() and not self.more_button.value:
            self.more_button.value = True
        super().reveal(field)

    def _is_used(self) -> bool:
        return self.switch is None or bool(self.switch.value)

    def _open(self) -> None:
        if self.switch is not None and not self._shown.children:
            self.switch.value = True
        if self.more_button is not None and not self._more.children:
            self.more_button.value = True

    def _build(self) -> None:
        self._shown.children = self._made(self._first)
        if self._later:
            self.more_button = ipywidgets.ToggleButton(
                description=self._more_text(), icon="chevron-down", layout={"width": "16em", "margin": NOTE_MARGIN}
            )
            self.more_button.observe(self._on_more, names="value")
            self._inner.children = (self._shown, self.more_button, self._more)

    def _made(self, fields: Sequence[Shape]) -> tuple[Any, ...]:
        made = {inner.key: make_editor(inner, (*self.path, inner.key), self._host) for inner in fields}
        self._editors.update(made)
        return tuple(editor.widget for editor in made.values())

    def _more_text(self) -> str:
        return f"{'More' if self._first else 'Show'} fields ({len(self._later)})"

    def _on_more(self, change: Any) -> None:
        if change["new"] and not self._more.children:
            self._more.children = self._made(self._later)
        self._more.layout.display = "" if change["new"] else "none"
        self.more_button.description = "Fewer fields" if change["new"] else self._more_text()

    def _on_switch(self, _: Any) -> None:
        if not self._shown.children and self.more_button is None:
            self._build()
        self._inner.layout.display = "" if self._is_used() else "none"
        self._host.changed()

    def _written(self, collected: Collected) -> Any:
        values: dict[Any, Any] = {editor.path[-1]: editor.written(collected) for editor in self.children()}
        out = {key: value for key, value in values.items() if value is not MISSING}
        out = {**dict(self.shape.preset), **out} if out else out
        is_asked = self.shape.is_required or (self.switch is not None and self._is_used())
        return out if out or is_asked else MISSING


def _parted(shape: Shape) -> tuple[Sequence[Shape], Sequence[Shape]]:
    """Which fields are shown at once, and which on demand. A large group that need not be touched starts closed."""
    if len(shape.fields) <= _MANY:
        return shape.fields, ()
    if shape.label and not shape.is_required and not shape.is_nullable:
        return (), shape.fields
    required = [inner for inner in shape.fields if inner.is_required]
    others = [inner for inner in shape.fields if not inner.is_required]
    count = max(MOST_AT_FIRST - len(required), 0)
    return [*required, *others[:count]], others[count:]


class ItemsEditor(Editor):
    """A list of groups, with buttons to add and remove them."""

    def __init__(self, shape: Shape, path: Path, host: Host) -> None:
        super().__init__(shape, path, host)
        self.entries: list[Editor] = []
        self._rows = ipywidgets.VBox()
        self.add_button = ipywidgets.Button(
            description="Add", icon="plus", tooltip=f"Add one to {shape.label}", layout={"width": "6em"}
        )
        self.add_button.on_click(lambda _: self.add())
        head = ipywidgets.HBox([side_label(shape), self.add_button])
        self._box = ipywidgets.VBox([head, self._note, self._rows], layout={"margin": "0 0 4px"})

    @property
    def widget(self) -> Any:
        """Label, the button that adds an entry, help, and the entries."""
        return self._box

    def children(self) -> Sequence[Editor]:
        """The entries."""
        return self.entries

    def add(self) -> None:
        """Add an entry at the end; after 200 nothing more is added."""
        assert self.shape.entry is not None
        if len(self.entries) >= _MOST_ENTRIES:
            return
        entry = make_editor(self.shape.entry, (*self.path, len(self.entries)), self._host)
        remove = ipywidgets.Button(
            description="Remove",
            icon="trash",
            tooltip=f"Remove this one from {self.shape.label}",
            layout={"width": "8em", "margin": NOTE_MARGIN},
        )
        row = ipywidgets.VBox([entry.widget, remove], layout={"margin": "0 0 8px"})
        remove.on_click(lambda _: self._remove(entry, row))
        self.entries.append(entry)
        self._rows.children = (*self._rows.children, row)
        self._host.changed()

    def move(self, path: Path) -> None:
        """The entries move along."""
        super().move(path)
        for index, entry in enumerate(self.entries):
            entry.move((*path, index))

    def _remove(self, entry: Editor, row: Any) -> None:
        if entry not in self.entries:
            return
        self.entries.remove(entry)
        self._rows.children = tuple(other for other in self._rows.children if other is not row)
        close_all(row)
        self.move(self.path)
        self._host.changed()

    def _written(self, collected: Collected) -> Any:
        values = [entry.written(collected) for entry in self.entries]
        return [{} if value is MISSING else value for value in values] or MISSING


class VariantsEditor(Editor):
    """One of several groups, chosen by its tag."""

    def __init__(self, shape: Shape, path: Path, host: Host) -> None:
        super().__init__(shape, path, host)
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

    def move(self, path: Path) -> None:
        """The groups move along."""
        super().move(path)
        for group in self._groups.values():
            group.move(path)

    def reveal(self, field: str) -> None:
        """Open whatever hides that place in the chosen group."""
        if self.choice.value in self._groups:
            self.group().reveal(field)

    def _on_choice(self, _: Any) -> None:
        self._show()
        self._host.changed()

    def _show(self) -> None:
        tag = self.choice.value
        if tag is not None and tag not in self._groups:
            variant = next(variant for variant in self.shape.variants if variant.tag == tag)
            group = Shape(self.shape.key, Kind.GROUP, "", fields=variant.fields, preset=variant.preset)
            self._groups[tag] = GroupEditor(group, self.path, self._host)
        self._inner.children = () if tag is None else (self._groups[tag].widget,)

    def _written(self, collected: Collected) -> Any:
        tag = self.choice.value
        if tag is None:
            return MISSING
        inner = self._groups[tag].written(collected)
        fields = {} if inner is MISSING else inner
        return MISSING if tag == self._default_tag and not fields else {self.shape.tag_key: tag, **fields}
