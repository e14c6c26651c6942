"""Driving forms in tests: controls by name, waiting for plans."""

from __future__ import annotations

from typing import Any, TypeVar

from jupyter_gpu_clusters.widgets.form import Form

from ..until import until

F = TypeVar("F", bound=Form[Any])


def control(form: Form[Any], key: str) -> Any:
    """The control of one field."""
    editor: Any = form.root.field(key)
    return editor.control


def note(form: Form[Any], key: str) -> str:
    """What stands under one field: problems and help."""
    return str(form.root.field(key)._note.value)


def planned(form: F) -> F:
    """The form once it shows a plan."""
    until(lambda: form._plan is not None)
    return form


def agreed(form: F) -> F:
    """The form once it shows a plan, with its price agreed to."""
    planned(form).agree.value = True
    return form


def states_in(widget: Any) -> list[Any]:
    """What the front end knows of a widget and of all inside it."""
    inner = [state for child in getattr(widget, "children", ()) for state in states_in(child)]
    return [widget.get_state(), *inner]
