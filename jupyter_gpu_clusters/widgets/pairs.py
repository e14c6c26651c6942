"""A field of names with values: rows that can be added and removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets

from ..core.errors import Problem
from ..core.yaml_text import Path, dotted
from .editor import Collected, Editor, Host
from .fields import control_layout, read_item, side_label
from .shapes import MISSING, Shape

_MOST_PAIRS = 200


class PairsEditor(Editor):
    """Rows of a name and a value, with buttons to add and remove rows."""

    def __init__(self, shape: Shape, path: Path, host: Host) -> None:
        super().__init__(shape, path, host)
        self.rows = ipywidgets.VBox()
        self.add_button = ipywidgets.Button(
            description="Add", icon="plus", tooltip=f"Add a row to {shape.label}", layout={"width": "6em"}
        )
        self.add_button.on_click(lambda _: self.add_row())
        right = ipywidgets.VBox([self.rows, self.add_button], layout={"flex": "1 1 auto"})
        self._box = ipywidgets.VBox([ipywidgets.HBox([side_label(shape), right], layout=control_layout()), self._note])
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
        self._host.changed()

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
