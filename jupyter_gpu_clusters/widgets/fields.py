"""From the shape of a field to its controls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets

from ..core.errors import Problem, SpecError
from ..core.references import Reference, reference_in, secret_reference_in
from ..core.yaml_text import Path, dotted, load_yaml, read_scalar
from .editor import LABEL_WIDTH, ROW_WIDTH, Collected, Editor, Host
from .shapes import MISSING, Kind, Shape

_NOT_SET = "(not set)"
_CHOOSE = "(choose)"
_REMOVED = "(removed)"
_YAML_KEY = "value"
_LABEL = {"margin": "2px 8px 0 0", "flex": "0 0 auto", "display": "flex", "justify_content": "flex-end"}


def control_style() -> dict[str, str]:
    """A label column of one width, so that all fields of a form line up."""
    return {"description_width": LABEL_WIDTH}


def control_layout(**more: str) -> dict[str, str]:
    """As wide as a line can be read, narrower where there is less room."""
    return {"width": "auto", "max_width": ROW_WIDTH, **more}


def side_label(shape: Shape) -> Any:
    """The label of a field that has no single control, in the column of labels."""
    return ipywidgets.Label(shape.label, tooltip=shape.key, layout={**_LABEL, "width": LABEL_WIDTH})


class ControlEditor(Editor):
    """A field with one control.

    Parameters
    ----------
    control : an ipywidgets control with a ``value``.
    read : from the control's value to what was written, or `MISSING`.
    """

    def __init__(self, shape: Shape, path: Path, host: Host, control: Any, read: Callable[[Any], Any]) -> None:
        super().__init__(shape, path, host)
        self.control = control
        self._read = read
        control.observe(self._on_change, names="value")
        self._box = ipywidgets.VBox([control, self._note], layout={"margin": "0 0 4px"})

    @property
    def widget(self) -> Any:
        """The control with its help under it."""
        return self._box

    def _written(self, collected: Collected) -> Any:
        return self._read(self.control.value)


class YamlEditor(ControlEditor):
    """A field with no natural control: its part of the spec as YAML."""

    def __init__(self, shape: Shape, path: Path, host: Host) -> None:
        super().__init__(shape, path, host, _area(shape, rows=4), lambda text: text)

    def _written(self, collected: Collected) -> Any:
        text = self.control.value
        if not text.strip():
            return MISSING
        indented = "\n".join(f"  {line}" for line in text.split("\n"))
        try:
            read = load_yaml(f"{_YAML_KEY}:\n{indented}\n", first_line=0)
        except SpecError as exc:
            collected.problems += [self._problem(problem) for problem in exc.problems]
            return MISSING
        collected.lines.update({(*self.path, *path[1:]): line for path, line in read.lines.items() if len(path) > 1})
        return _with_references(read.data[_YAML_KEY], (_YAML_KEY,), read.variables)

    def _problem(self, problem: Problem) -> Problem:
        return Problem(dotted(self.path) + problem.field.removeprefix(_YAML_KEY), problem.text, problem.line)


class SecretEditor(ControlEditor):
    """A reference to a secret; anything else is taken out of the control at once and never kept."""

    def __init__(self, shape: Shape, path: Path, host: Host) -> None:
        control = _line(shape, hint="env:NAME or $name", continuous_update=False)
        super().__init__(shape, path, host, control, lambda text: secret_reference_in(text) or MISSING)

    def _on_change(self, change: Any) -> None:
        text = change["new"].strip()
        if text in ("", _REMOVED) or secret_reference_in(text):
            super()._on_change(change)
        else:
            self.control.value = _REMOVED

    def _written(self, collected: Collected) -> Any:
        if self.control.value == _REMOVED:
            text = "only a reference goes here (env:NAME or $name); what was typed has been removed"
            collected.problems.append(Problem(dotted(self.path), text))
        return super()._written(collected)


def field_editor(shape: Shape, path: Path, host: Host) -> Editor:
    """The editor of a field that has one control; `path` is where it stands in the spec."""
    if shape.kind is Kind.YAML:
        return YamlEditor(shape, path, host)
    if shape.kind is Kind.SECRET:
        return SecretEditor(shape, path, host)
    control, read = _control(shape)
    return ControlEditor(shape, path, host, control, read)


def read_item(text: str, kind: Kind) -> Any:
    """One entry of a list, or one value beside a name."""
    return reference_in(text) or (read_scalar(text.strip()) if kind is Kind.SCALAR else text)


def _control(shape: Shape) -> tuple[Any, Callable[[Any], Any]]:
    has_default = shape.default is not MISSING and not shape.is_nullable
    match shape.kind:
        case Kind.INTEGER | Kind.NUMBER if has_default:
            return _number(shape), lambda value: MISSING if value == shape.default else value
        case Kind.INTEGER | Kind.NUMBER | Kind.SCALAR:
            return _line(shape), lambda text: _unless_empty(text, Kind.SCALAR)
        case Kind.DECIMAL:
            return _line(shape), lambda text: _unless_empty(text.strip(), Kind.TEXT)
        case Kind.FLAG if has_default:
            return _checkbox(shape), lambda value: MISSING if value is shape.default else value
        case Kind.FLAG | Kind.CHOICE:
            return _dropdown(shape), lambda value: value
        case Kind.LONG_TEXT:
            return _area(shape, rows=6), lambda text: _unless_empty(text, Kind.TEXT)
        case Kind.LINES:
            return _area(shape, rows=3), lambda text: _entries(text, shape.item)
    return _line(shape), lambda text: _unless_empty(text, Kind.TEXT)


def _unless_empty(text: str, kind: Kind) -> Any:
    return read_item(text, kind) if text.strip() else MISSING


def _entries(text: str, kind: Kind) -> Any:
    entries = [read_item(line, kind) for line in text.splitlines() if line.strip()]
    return entries or MISSING


def common(shape: Shape) -> dict[str, Any]:
    """Label, tooltip and size, the same for every control."""
    return {"description": shape.label, "tooltip": shape.key, "style": control_style(), "layout": control_layout()}


def placeholder(shape: Shape) -> str:
    """The default or, for numbers, the limits, as a hint in an empty control."""
    if shape.default is not MISSING and isinstance(shape.default, str | int | float):
        return f"{shape.default}"
    return shape.limits if shape.kind in (Kind.INTEGER, Kind.NUMBER, Kind.DECIMAL) else ""


def _line(shape: Shape, *, hint: str | None = None, continuous_update: bool = True) -> Any:
    shown = placeholder(shape) if hint is None else hint
    return ipywidgets.Text(placeholder=shown, continuous_update=continuous_update, **common(shape))


def _area(shape: Shape, *, rows: int) -> Any:
    return ipywidgets.Textarea(rows=rows, placeholder=placeholder(shape), **common(shape))


def _number(shape: Shape) -> Any:
    make = ipywidgets.IntText if shape.kind is Kind.INTEGER else ipywidgets.FloatText
    return make(value=shape.default, continuous_update=True, **common(shape))


def _checkbox(shape: Shape) -> Any:
    return ipywidgets.Checkbox(value=shape.default, indent=True, **common(shape))


def _dropdown(shape: Shape) -> Any:
    """Choices carry what is to be sent: nothing for "not set" and for the default."""
    values = (True, False) if shape.kind is Kind.FLAG else shape.choices
    words = {True: "yes", False: "no"} if shape.kind is Kind.FLAG else {}
    options: list[tuple[str, Any]] = [(words.get(value, str(value)), _unless_default(value, shape)) for value in values]
    if shape.default is MISSING and not (shape.is_required and len(values) == 1):
        options.insert(0, (_CHOOSE if shape.is_required else _NOT_SET, MISSING))
    elif shape.is_nullable and shape.default is not MISSING:
        options.append(("(none)", None))
    default = next((index for index, (_, value) in enumerate(options) if value is MISSING), 0)
    return ipywidgets.Dropdown(options=options, index=default, **common(shape))


def _unless_default(value: Any, shape: Shape) -> Any:
    is_default = type(value) is type(shape.default) and value == shape.default
    return MISSING if is_default else value


def _with_references(value: Any, path: Path, variables: dict[Path, str]) -> Any:
    if path in variables:
        return Reference("notebook", variables[path])
    if isinstance(value, dict):
        return {key: _with_references(inner, (*path, key), variables) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_references(inner, (*path, index), variables) for index, inner in enumerate(value)]
    return value
