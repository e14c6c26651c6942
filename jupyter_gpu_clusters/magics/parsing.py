"""From a magic's line to its typed arguments, with every fault of the line in one error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from ..core.errors import Problem, SettingsError
from ..core.specs import VARIABLE, nearest, problems_of, read_option, unknown_field
from .arguments import Arguments, Option, Positional
from .variables import UnusableVariable, variable
from .words import Word, split_command, split_words

A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True)
class Parsed(Generic[A]):
    """A line that was read.

    ``fields`` are options that no magic knows and that belong to a provider's spec (create only): text as it
    was written, a value where it came from a variable, ``True`` without a value. ``hidden`` names those that
    came from variables. ``command`` is the raw text after ``--``.
    """

    arguments: A
    fields: Mapping[str, Any]
    hidden: frozenset[str]
    command: str | None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a magic as it is written on a line."""

    field: str
    mark: Positional | Option
    is_flag: bool = False
    is_repeated: bool = False

    @property
    def written(self) -> str:
        """``--procs-per-node``, or the placeholder of a positional."""
        return self.mark.metavar if isinstance(self.mark, Positional) else f"--{self.field.replace('_', '-')}"

    @property
    def is_positional(self) -> bool:
        """Whether its place says what it is."""
        return isinstance(self.mark, Positional)


def parameters(model: type[Arguments]) -> list[Parameter]:
    """All arguments of a model: positionals in their order, then the options."""
    found = []
    for name, info in model.model_fields.items():
        mark = next((mark for mark in info.metadata if isinstance(mark, Positional | Option)), Option())
        is_many = info.annotation in (dict[str, str], tuple[str, ...])
        found.append(Parameter(name, mark, is_flag=info.annotation is bool, is_repeated=is_many))
    return sorted(found, key=lambda parameter: not parameter.is_positional)


def parse(magic: str, model: type[A], line: str, namespace: Mapping[str, Any]) -> Parsed[A]:
    """Read a line.

    Parameters
    ----------
    namespace : where ``$name`` is looked up.

    Raises
    ------
    SettingsError : with every problem of the line.
    """
    text, command = split_command(line)
    reader = _Reader(model, namespace)
    reader.read(split_words(text))
    if command is not None and not model.takes_command:
        reader.problems.append(Problem("--", "this magic runs no command."))
    arguments = reader.validated()
    if arguments is None:
        count = len(reader.problems)
        raise SettingsError(
            f"%{magic} has {count} problem{'s' * (count > 1)} in its line; nothing was sent.",
            problems=reader.problems,
            hint=f"`%{magic}?` shows what it takes.",
        )
    return Parsed(arguments, reader.fields, frozenset(reader.hidden), command)


@dataclass
class _Reader(Generic[A]):
    model: type[A]
    namespace: Mapping[str, Any]
    values: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)

    def __post_init__(self) -> None:
        known = parameters(self.model)
        self.by_field = {parameter.field: parameter for parameter in known}
        self.positionals = [parameter for parameter in known if parameter.is_positional]
        self.options = {parameter.written: parameter for parameter in known if not parameter.is_positional}
        self.options |= {p.mark.short: p for p in known if isinstance(p.mark, Option) and p.mark.short}

    def read(self, words: list[Word]) -> None:
        """Sort all words into values, spec fields and problems."""
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word.bare.startswith("-") and word.bare != "-":
                self._read_option(word, rest)
            else:
                self._read_positional(word)

    def validated(self) -> A | None:
        """The typed arguments; ``None`` when there are problems."""
        try:
            arguments = self.model.model_validate(self.values)
        except ValidationError as exc:
            spoiled = {problem.field for problem in self.problems}
            hidden = [(name,) for name in self.hidden]
            found = [self._renamed(p) for p in problems_of(exc, self.model, self.values, hidden=hidden)]
            self.problems += [problem for problem in found if problem.field not in spoiled]
            return None
        return None if self.problems else arguments

    def _renamed(self, problem: Problem) -> Problem:
        name = problem.field.partition(".")[0].partition("[")[0]
        return Problem(self.by_field[name].written if name in self.by_field else name, problem.text)

    def _read_positional(self, word: Word) -> None:
        wanted = next((p for p in self.positionals if p.is_repeated or p.field not in self.values), None)
        if wanted is None:
            self.problems.append(Problem("", f"there is a word too many: {word.text!r}."))
            return
        value = self._value(wanted.written, word, wanted.field)
        if wanted.is_repeated:
            self.values[wanted.field] = (*self.values.get(wanted.field, ()), value)
        else:
            self.values[wanted.field] = value

    def _read_option(self, word: Word, rest: list[Word]) -> None:
        end = word.bare.find("=")
        name, attached = (word.text, None) if end < 0 else (word.text[:end], word.cut(end + 1))
        option = self.options.get(name)
        if option is None and self.model.takes_fields and name.startswith("--"):
            self._read_field(name, attached, rest)
        elif option is None:
            self.problems.append(Problem(name, unknown_field(name, list(self.options))))
            meant = self.options.get(nearest(name, self.options) or "")
            if meant is not None and not meant.is_flag:
                self._next_value(rest)
        elif option.is_flag:
            self._set(option, True if attached is None else self._value(name, attached, option.field))
        elif (value := attached or self._next_value(rest)) is not None:
            self._set_value(option, value)
        else:
            self.problems.append(Problem(option.written, f"needs a value: {option.mark.metavar}."))

    def _next_value(self, rest: list[Word]) -> Word | None:
        return rest.pop(0) if rest and not rest[0].bare.startswith("--") else None

    def _read_field(self, name: str, attached: Word | None, rest: list[Word]) -> None:
        key = name.removeprefix("--").replace("-", "_")
        value = attached or self._next_value(rest)
        if key in self.fields:
            self.problems.append(Problem(name, "is given twice."))
        elif value is None:
            self.fields[key] = True
        elif found := VARIABLE.fullmatch(value.bare):
            self.fields[key] = self._variable(name, found[1])
            self.hidden.add(key)
        else:
            self.fields[key] = value.text

    def _set(self, option: Parameter, value: Any) -> None:
        if option.field in self.values:
            self.problems.append(Problem(option.written, "is given twice."))
        self.values[option.field] = value

    def _set_value(self, option: Parameter, word: Word) -> None:
        if not option.is_repeated:
            self._set(option, self._value(option.written, word, option.field))
            return
        end = word.text.find("=")
        if end < 1:
            self.problems.append(Problem(option.written, f"must be {option.mark.metavar}."))
            return
        key, value = word.text[:end], self._value(option.written, word.cut(end + 1), option.field)
        known = self.values.setdefault(option.field, {})
        if key in known:
            self.problems.append(Problem(option.written, f"sets {key} twice."))
        known[key] = str(value) if isinstance(value, int | float) else value

    def _value(self, written: str, word: Word, name: str) -> Any:
        if found := VARIABLE.fullmatch(word.bare):
            self.hidden.add(name)
            return self._variable(written, found[1])
        return word.text if self.by_field[name].is_repeated else read_option(self.model, name, word.text)

    def _variable(self, written: str, name: str) -> Any:
        try:
            return variable(name, self.namespace)
        except UnusableVariable as exc:
            self.problems.append(Problem(written, str(exc)))
            return None
