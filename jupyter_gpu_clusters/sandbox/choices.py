"""What the contracts leave open, and what the sandbox is told to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from random import Random

RANDOM = "random"


@dataclass(frozen=True, slots=True)
class Choice:
    """One open point.

    ``values`` are the allowed words, the usual one first in `default`; without them any text goes that `check`
    takes without a `ValueError`.
    """

    key: str
    default: str
    about: str
    values: tuple[str, ...] = ()
    check: Callable[[str], object] = str


class Choices:
    """The present choices; the word ``random`` draws one of the allowed values with the sandbox's seed."""

    def __init__(self, known: Iterable[Choice], random: Random) -> None:
        self._known = {choice.key: choice for choice in known}
        self._chosen = {choice.key: choice.default for choice in self._known.values()}
        self._random = random

    def __getitem__(self, key: str) -> str:
        return self._chosen[key]

    def number(self, key: str) -> float:
        """A choice that is a number."""
        return float(self._chosen[key])

    def set(self, values: Mapping[str, str]) -> None:
        """Choose; all of them or, with a mistake, none.

        Raises
        ------
        ValueError : an unknown key or value, with what is allowed.
        """
        drawn = {key: self._value(key, str(value)) for key, value in values.items()}
        self._chosen.update(drawn)

    def _value(self, key: str, value: str) -> str:
        choice = self._known.get(key)
        if choice is None:
            raise ValueError(f"There is no choice {key!r}; known: {', '.join(self._known)}.")
        if choice.values and value == RANDOM:
            return self._random.choice(choice.values)
        if choice.values and value not in choice.values:
            raise ValueError(f"{key} is one of {', '.join(choice.values)} or {RANDOM}, not {value!r}.")
        try:
            choice.check(value)
        except ValueError as exc:
            raise ValueError(f"{key} cannot be {value!r}: {exc}. {choice.about}") from exc
        return value

    def describe(self) -> dict[str, dict[str, object]]:
        """Every choice with its present value."""
        return {
            key: {"value": self._chosen[key], "values": list(choice.values), "about": choice.about}
            for key, choice in self._known.items()
        }
