"""The controls that every form has around its fields, and how they are laid out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, ClassVar

import ipywidgets
from IPython import get_ipython

from .displaying import show
from .editor import NOTE_MARGIN
from .fields import control_layout, control_style
from .html import heading_html, problem_html
from .plan_view import waiting_html
from .stale import FORM_CLASS, stale_note_html

EMPTY = "Fill in the fields; the plan and its price appear here."
SHOW_CELL = "Show as magic"
_MOST_CELL_ROWS = 20


class FormControls:
    """Name, plan, consent, buttons, outcome, cell and card.

    Parameters
    ----------
    title, verb : heading, and the text of the button that sends.
    """

    command: ClassVar[str]
    name_help: ClassVar[str] = ""
    has_name: ClassVar[bool] = True
    """Whether the form asks for a name of its own, which a field ``name`` of the spec then is."""

    def __init__(self, title: str, verb: str) -> None:
        self._title, self._verb = title, verb
        self.name = ipywidgets.Text(
            description="Name", placeholder=self.name_help, style=control_style(), layout=control_layout()
        )
        self.name_note = ipywidgets.HTML(layout={"margin": NOTE_MARGIN, "display": "none"})
        self.message = ipywidgets.HTML()
        self.plan_view = ipywidgets.HTML(waiting_html(EMPTY))
        self.agree: Any = None
        self._agree_box = ipywidgets.VBox()
        self.send_button = _button(verb, "check", "", button_style="primary", disabled=True)
        self.again_button = _button("Plan again", "refresh", "Look up prices and names again")
        self.cell_button = _button(SHOW_CELL, "code", "The notebook cell that does the same")
        self.outcome = ipywidgets.HTML()
        self.cell = ipywidgets.Textarea(layout=control_layout(display="none"), tooltip="Copy this into a cell")
        self.card = ipywidgets.VBox()
        self._fields_box = ipywidgets.VBox()

    def _lay_out(self, *targets: Any, below: Sequence[Any] = ()) -> None:
        """Put everything in its place: `targets` above the name, `below` under it."""
        buttons = ipywidgets.HBox([self.send_button, self.again_button, self.cell_button])
        buttons.layout.flex_flow = "row wrap"
        name = [self.name, self.name_note] if self.has_name else []
        head = [ipywidgets.HTML(heading_html(self._title)), self.message, *targets, *name, *below]
        plan = [self._fields_box, self.plan_view, self._agree_box, buttons, self.outcome, self.cell, self.card]
        self.widget = ipywidgets.VBox([*head, *plan], layout={"padding": "4px 8px", "max_width": "60em"})
        self.widget.add_class(FORM_CLASS)

    def _ipython_display_(self) -> None:
        """Show the form, and words for where it cannot be alive."""
        text = f"{self._title}: a form. It lives while its kernel runs; run the cell again, or use {self.command}."
        if getattr(get_ipython(), "kernel", None) is None:
            sys.stdout.write(f"{text}\n")
            return
        show({"text/html": stale_note_html(text), "text/plain": text})
        show({**self.widget._repr_mimebundle_(), "text/plain": self._title})

    def _show_name_problems(self, texts: Sequence[str]) -> None:
        self.name_note.value = problem_html(texts)
        self.name_note.layout.display = "" if texts else "none"

    @property
    def _is_cell_shown(self) -> bool:
        return bool(self.cell.layout.display != "none")

    def _show_cell(self, text: str) -> None:
        self.cell.rows = min(text.count("\n") + 1, _MOST_CELL_ROWS)
        self.cell.value = text

    def _turn_cell(self) -> None:
        """Show the cell if it is hidden, hide it if it is shown."""
        is_hidden = not self._is_cell_shown
        self.cell.layout.display = "" if is_hidden else "none"
        self.cell_button.description = "Hide magic" if is_hidden else SHOW_CELL


def _button(description: str, icon: str, tooltip: str, **more: Any) -> Any:
    return ipywidgets.Button(description=description, icon=icon, tooltip=tooltip, layout={"width": "auto"}, **more)
