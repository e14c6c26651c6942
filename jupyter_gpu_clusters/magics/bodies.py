"""The spec that a call asks for: the cell's YAML and the line's options put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pydantic import BaseModel

from ..core.errors import Problem, SpecError
from ..core.format import plural
from ..core.spec_fields import members, written_name
from ..core.specs import Path, build_spec, dotted, field_names, load_yaml, read_option, unknown_field
from .parsing import Parsed
from .variables import fill_in

M = TypeVar("M", bound=BaseModel)


@dataclass
class Body:
    """What was written so far. ``hidden`` are paths whose values came from variables.

    ``problems`` were found in the line; `build` tells them with those of the spec.
    """

    data: dict[str, Any] = field(default_factory=dict)
    lines: Mapping[Path, int] = field(default_factory=dict)
    hidden: set[Path] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)

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
        """The checked spec.

        Raises
        ------
        SpecError : with every problem of the line and of the spec.
        """
        problems = list(self.problems)
        try:
            spec = build_spec(model, self.data, self.lines, hidden=self.hidden)
            if not problems:
                return spec
        except SpecError as exc:
            problems += exc.problems
        count = len(problems)
        raise SpecError(f"The spec has {plural(count, 'problem')}; nothing was sent.", problems=problems)


def spec_options(
    parsed: Parsed[Any], model: type[BaseModel], known_options: list[str]
) -> tuple[dict[str, Any], list[Problem]]:
    """The line form's ``--field value`` options as values of the spec's fields.

    Returns
    -------
    The values, and a problem for each name that is neither an option nor a field and each field without its value.
    """
    infos = {written_name(name, info): info for name, info in model.model_fields.items()}
    options = [*known_options, *(_written(name) for name in infos)]
    values: dict[str, Any] = {}
    problems = []
    for key, value in parsed.fields.items():
        if key not in infos:
            problems.append(Problem(_written(key), unknown_field(_written(key), options)))
        elif value is True and key not in parsed.hidden and bool not in members(infos[key].annotation):
            problems.append(Problem(_written(key), "needs a value."))
        else:
            values[key] = read_option(model, key, value) if isinstance(value, str) else value
    return values, problems


def _written(name: str) -> str:
    return f"--{name.replace('_', '-')}"
