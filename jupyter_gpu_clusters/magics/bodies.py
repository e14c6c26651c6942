"""The spec that a call asks for: the cell's YAML and the line's options put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pydantic import BaseModel

from ..core.errors import Problem, SpecError
from ..core.specs import Path, build_spec, dotted, field_names, load_yaml, read_option, unknown_field
from .variables import fill_in

M = TypeVar("M", bound=BaseModel)


@dataclass
class Body:
    """What was written so far. ``hidden`` are paths whose values came from variables."""

    data: dict[str, Any] = field(default_factory=dict)
    lines: Mapping[Path, int] = field(default_factory=dict)
    hidden: set[Path] = field(default_factory=set)

    @classmethod
    def of_cell(cls, cell: str | None, namespace: Mapping[str, Any]) -> Body:
        """The cell's YAML, with its variables filled in; empty without a cell.

        Raises
        ------
        SpecError : with every problem of the text, and the line of each.
        """
        if cell is None:
            return cls()
        text = load_yaml(cell)
        return cls(fill_in(text, namespace), text.lines, set(text.variables))

    def add_options(self, options: Mapping[str, Any]) -> None:
        """Add what the line gives.

        Raises
        ------
        SpecError : the line contradicts the body.
        """
        problems = [
            Problem(key, f"contradicts --{key.replace('_', '-')} of the line above.", self.lines.get((key,)))
            for key, value in options.items()
            if key in self.data and self.data[key] != value
        ]
        if problems:
            raise SpecError("The line and the body contradict each other; nothing was sent.", problems=problems)
        self.data.update(options)

    def take_name(self, given: str | None, model: type[BaseModel]) -> str | None:
        """The name from the line or the body; it stays in the data only where the provider's spec has that field.

        Raises
        ------
        SpecError : line and body name different things, or the body's name is not text.
        """
        if given is not None:
            self.add_options({"name": given})
        name = self.data.get("name")
        if name is not None and not isinstance(name, str):
            problem = Problem("name", "must be text; put it in quotes.", self.lines.get(("name",)))
            raise SpecError("The name is not text; nothing was sent.", problems=[problem])
        if "name" not in field_names(model):
            self.data.pop("name", None)
        return name

    @contextmanager
    def located(self) -> Iterator[None]:
        """Inside, a `SpecError` of the provider's own checks gets the lines of the fields it names."""
        try:
            yield
        except SpecError as exc:
            lines = {dotted(path): line for path, line in self.lines.items()}
            problems = [replace(problem, line=problem.line or lines.get(problem.field)) for problem in exc.problems]
            raise SpecError(exc.message, hint=exc.hint, provider=exc.provider, problems=problems) from None

    def build(self, model: type[M]) -> M:
        """The checked spec; raises like `build_spec`."""
        return build_spec(model, self.data, self.lines, hidden=self.hidden)


def spec_options(fields: Mapping[str, Any], model: type[BaseModel], known_options: list[str]) -> dict[str, Any]:
    """The line form's ``--field value`` options as values of the spec's fields.

    Raises
    ------
    SpecError : names that are neither options nor fields, each with the nearest right one.
    """
    names = field_names(model)
    options = [*known_options, *(f"--{name.replace('_', '-')}" for name in names)]
    unknown = [f"--{key.replace('_', '-')}" for key in fields if key not in names]
    if unknown:
        problems = [Problem(name, unknown_field(name, options)) for name in unknown]
        raise SpecError("The line has options that are not known; nothing was sent.", problems=problems)
    return {key: read_option(model, key, value) if isinstance(value, str) else value for key, value in fields.items()}
