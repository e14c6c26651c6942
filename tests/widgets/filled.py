"""A form over a model with every kind of field, without a service behind it."""

from __future__ import annotations

from typing import Any

import ipywidgets

from jupyter_gpu_clusters.widgets.editor import Collected, Editor, Host
from jupyter_gpu_clusters.widgets.nested import GroupEditor
from jupyter_gpu_clusters.widgets.shapes import MISSING, Kind, Shape, shapes_of

from .models import Everything


class Filled:
    """A form over `Everything`, as a person fills it in."""

    def __init__(self) -> None:
        self.changes = 0
        self.root = GroupEditor(Shape("", Kind.GROUP, "", fields=shapes_of(Everything)), (), Host(self._count))

    def _count(self) -> None:
        self.changes += 1

    def __getitem__(self, key: str) -> Any:
        return self.root.field(key)

    def set(self, key: str, value: Any) -> None:
        self[key].control.value = value

    def choose(self, key: str, label: str) -> None:
        self[key].control.label = label

    def written(self) -> tuple[dict[str, Any], Collected]:
        collected = Collected()
        value = self.root.written(collected)
        return ({} if value is MISSING else value), collected

    def value_of(self, key: str) -> Any:
        return self.written()[0].get(key, MISSING)

    def note(self, key: str) -> str:
        return note_of(self[key])


def note_of(editor: Editor) -> str:
    return str(editor._note.value)


def widgets_in(widget: Any) -> list[ipywidgets.Widget]:
    inner = [found for child in getattr(widget, "children", ()) for found in widgets_in(child)]
    return [widget, *inner]
