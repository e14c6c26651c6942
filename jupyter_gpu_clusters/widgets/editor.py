"""What every part of a form can do: say what was filled in, and show what is wrong with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets

from ..core.errors import Problem
from ..core.references import Masked
from ..core.yaml_text import Path, dotted
from .choice_lists import ChoiceLists
from .html import help_html, problem_html
from .shapes import MISSING, Kind, Shape

LABEL_WIDTH = "13em"
ROW_WIDTH = "52em"
NOTE_MARGIN = f"0 0 0 calc({LABEL_WIDTH} + 8px)"


class Collected:
    """What one look at a form found besides the values: faults of its own, and lines inside YAML boxes."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.lines: dict[Path, int] = {}


@dataclass(frozen=True, slots=True)
class Host:
    """What the fields of a form need of it.

    Parameters
    ----------
    changed : called after every change by the user, on whatever thread it comes.
    lists : looks choices up; without it fields with choices are plain ones.
    """

    changed: Callable[[], None]
    lists: ChoiceLists | None = None


class Editor(ABC):
    """One field of a form.

    Parameters
    ----------
    shape : what to ask for.
    path : where the value belongs in the spec.
    host : the form it is part of.
    """

    def __init__(self, shape: Shape, path: Path, host: Host) -> None:
        self.shape = shape
        self.path = path
        self._host = host
        self._note = ipywidgets.HTML(layout={"margin": NOTE_MARGIN})
        self._help = help_html(help_text(shape))
        self.show_problems(())

    @property
    @abstractmethod
    def widget(self) -> Any:
        """The controls."""

    @abstractmethod
    def _written(self, collected: Collected) -> Any:
        """The value without regard to masking, or `MISSING`."""

    def written(self, collected: Collected) -> Any:
        """What the user filled in (values may be references, see `values`), or `MISSING`."""
        value = self._written(collected)
        if value is MISSING or not self.shape.is_masked:
            return value
        if self.shape.kind is Kind.PAIRS:
            return {name: Masked(inner) for name, inner in value.items()}
        return Masked(value)

    def children(self) -> Sequence[Editor]:
        """The fields inside this one that are shown now."""
        return ()

    def move(self, path: Path) -> None:
        """The value belongs somewhere else from now on: entries before it are gone."""
        self.path = path

    def reveal(self, field: str) -> None:
        """Open whatever hides the place of this dotted path."""
        for child in self.children():
            if is_inside(field, child.path):
                child.reveal(field)

    def everything(self) -> Iterator[Editor]:
        """This field and all fields inside it."""
        yield self
        for child in self.children():
            yield from child.everything()

    def show_problems(self, texts: Iterable[str]) -> None:
        """Show these faults beside the field, in place of the ones shown before."""
        value = problem_html(texts) + self._help
        if self._note.value != value:
            self._note.value = value
        self._note.layout.display = "" if value else "none"

    def _on_change(self, _: Any) -> None:
        self._host.changed()


def close_all(widget: Any) -> None:
    """Close a widget and all inside it, so that rebuilt forms do not pile up."""
    for child in getattr(widget, "children", ()):
        close_all(child)
    widget.close()


def help_text(shape: Shape) -> str:
    """Description, limits, choices and default in one or two sentences."""
    facts = [
        shape.limits,
        _HOW.get(shape.kind, ""),
        ("required" if shape.label else "") if shape.is_required else _default_text(shape),
    ]
    text = "; ".join(fact for fact in facts if fact)
    sentence = f"{text[:1].upper()}{text[1:]}." if text else ""
    description = shape.help if not shape.help or shape.help.endswith(".") else f"{shape.help}."
    return " ".join(part for part in (description, sentence) if part)


def place_problems(problems: Iterable[Problem], root: Editor) -> list[Problem]:
    """Show every problem at the innermost field it belongs to, clear all other fields, return the rest."""
    texts: dict[int, list[str]] = {}
    rest: list[Problem] = []
    problems = list(problems)
    for problem in problems:
        root.reveal(problem.field)
    editors = [editor for editor in root.everything() if editor.path]
    for problem in problems:
        owner = max((e for e in editors if is_inside(problem.field, e.path)), key=lambda e: len(e.path), default=None)
        if owner is None:
            rest.append(problem)
        else:
            texts.setdefault(id(owner), []).append(_text_at(problem, owner))
    for editor in editors:
        editor.show_problems(texts.get(id(editor), ()))
    return rest


def is_inside(field: str, path: Path) -> bool:
    """Whether a dotted path is this place or one below it."""
    prefix = dotted(path)
    return field == prefix or field.startswith((f"{prefix}.", f"{prefix}["))


def _text_at(problem: Problem, owner: Editor) -> str:
    """The problem without what the label beside it already says."""
    inner = problem.field.removeprefix(dotted(owner.path)).lstrip(".")
    where = f"line {problem.line}: " if problem.line is not None else ""
    return f"{where}{inner}: {problem.text}" if inner else f"{where}{problem.text}"


def _default_text(shape: Shape) -> str:
    if shape.default is MISSING or shape.default in ("", [], {}) or shape.kind in _SHOWS_DEFAULT:
        return ""
    return f"default {shape.default}"


_SHOWS_DEFAULT = (Kind.FLAG, Kind.CHOICE, Kind.GROUP, Kind.VARIANTS, Kind.PAIRS, Kind.ITEMS)
_HOW = {
    Kind.LINES: "one entry a line",
    Kind.SECRET: "write env:NAME (an environment variable) or $name (a notebook variable), never the secret itself",
}
