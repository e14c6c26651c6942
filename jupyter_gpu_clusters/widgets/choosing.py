"""Fields whose values are mostly chosen from a list, while anything can be written."""

from __future__ import annotations

from typing import Any

import ipywidgets

from ..core.choices import Choice
from ..core.yaml_text import Path
from .choice_lists import Question
from .editor import LABEL_WIDTH, NOTE_MARGIN, Collected, Editor, Host
from .fields import common, control_layout, placeholder, read_item
from .options import LOOKING, Options, Outcome, choice_html, fixed_options
from .shapes import MISSING, Kind, Shape

_NUMBERS = (Kind.INTEGER, Kind.NUMBER, Kind.SCALAR)


class ChoosingEditor(Editor):
    """What a single choice and a list of them have in common."""

    def __init__(self, shape: Shape, path: Path, host: Host, control: Any, box: Any) -> None:
        super().__init__(shape, path, host)
        self.control, self.box = control, box
        self.asked: Question | None = None
        self.outcome = Outcome(options=fixed_options(shape.choices)) if not shape.look_up else LOOKING
        self._kind = shape.item if shape.kind is Kind.LINES else shape.kind
        self._chosen: dict[str, Choice] = {}
        self.line = ipywidgets.HTML()
        self.again_button = ipywidgets.Button(
            description="Try again", icon="refresh", tooltip=f"Look up {shape.label} again", layout={"width": "auto"}
        )
        self.again_button.on_click(lambda _: self._on_again())
        self._line_box = ipywidgets.HBox([self.line, self.again_button], layout={"margin": NOTE_MARGIN})
        control.observe(self._on_change, names="value")
        box.observe(self._on_typing, names="value")
        self.show_choices(self.outcome)

    def connect(self) -> None:
        """Begin to show the list."""
        if self.shape.look_up and self._host.lists is not None:
            self._host.lists.add(self)

    @property
    def is_open(self) -> bool:
        """Whether its controls are still there."""
        return self.control.comm is not None

    def show_choices(self, outcome: Outcome) -> None:
        """Offer the options, and say in one line what there is to say."""
        self._remember()
        self.outcome = outcome
        self.box.options = (outcome.options or Options()).labels
        self._show_line()

    def _texts(self) -> list[str]:
        """What stands in the control, entry by entry."""
        raise NotImplementedError

    def _remember(self) -> None:
        """A label that was chosen keeps its value when the list that had it is gone."""
        options = self.outcome.options
        found = {text: options.find(text) if options is not None else None for text in self._texts()}
        kept = {text: choice or self._chosen.get(text) for text, choice in found.items()}
        self._chosen = {text: choice for text, choice in kept.items() if choice is not None}

    def _value_of(self, text: str) -> Any:
        options = self.outcome.options
        choice = (options.find(text) if options is not None else None) or self._chosen.get(text.strip())
        if choice is not None:
            return choice.value
        return read_item(text.strip(), Kind.SCALAR if self._kind in _NUMBERS else Kind.TEXT)

    def _show_line(self) -> None:
        value = choice_html(self.box.value, self.outcome)
        self.line.value = value
        self.again_button.layout.display = "" if self.outcome.problem is not None else "none"
        self._line_box.layout.display = "" if value else "none"

    def _on_again(self) -> None:
        if self._host.lists is not None:
            self._host.lists.try_again(self)

    def _on_typing(self, _: Any) -> None:
        self._show_line()

    def _on_change(self, change: Any) -> None:
        self._remember()
        super()._on_change(change)


class ChoiceEditor(ChoosingEditor):
    """One value: labels are shown, the value of the chosen one is sent."""

    def __init__(self, shape: Shape, path: Path, host: Host) -> None:
        control = ipywidgets.Combobox(ensure_option=False, placeholder=placeholder(shape), **common(shape))
        super().__init__(shape, path, host, control, control)
        self._box = ipywidgets.VBox([control, self._line_box, self._note], layout={"margin": "0 0 4px"})
        self.connect()

    @property
    def widget(self) -> Any:
        """The box to choose or write in, what is known about it, and help."""
        return self._box

    def _texts(self) -> list[str]:
        return [self.control.value.strip()]

    def _written(self, collected: Collected) -> Any:
        return self._value_of(self.control.value) if self.control.value.strip() else MISSING


class ChoiceLinesEditor(ChoosingEditor):
    """Several values, one a line, with a box that adds one."""

    def __init__(self, shape: Shape, path: Path, host: Host) -> None:
        control = ipywidgets.Textarea(rows=3, **common(shape))
        box = ipywidgets.Combobox(
            ensure_option=False, placeholder="choose or write one, then Add", layout=control_layout(flex="1 1 auto")
        )
        box.tooltip = f"One more for {shape.label}"
        super().__init__(shape, path, host, control, box)
        self.add_button = ipywidgets.Button(
            description="Add", icon="plus", tooltip=f"Add it to {shape.label}", layout={"width": "6em"}
        )
        self.add_button.on_click(lambda _: self._on_add())
        margin = f"2px 0 0 calc({LABEL_WIDTH} + 8px)"
        adding = ipywidgets.HBox([box, self.add_button], layout={"margin": margin, "max_width": "39em"})
        self._box = ipywidgets.VBox([control, adding, self._line_box, self._note], layout={"margin": "0 0 4px"})
        self.connect()

    @property
    def widget(self) -> Any:
        """The lines, the box that adds one, what is known about the list, and help."""
        return self._box

    def _on_add(self) -> None:
        text = self.box.value.strip()
        lines = self._texts()
        if text and text not in lines:
            self.control.value = "\n".join([*lines, text])
        self.box.value = ""

    def _texts(self) -> list[str]:
        return [line.strip() for line in self.control.value.splitlines() if line.strip()]

    def _written(self, collected: Collected) -> Any:
        return [self._value_of(text) for text in self._texts()] or MISSING
