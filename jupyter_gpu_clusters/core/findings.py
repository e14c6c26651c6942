"""What a plan finds out on its way: faults of the user's request, all of them, and what could not be checked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from .errors import AuthError, GpuClustersError, Problem, SpecError

T = TypeVar("T")
_MOST_NAMED = 8


@dataclass
class Findings:
    """Collects them; nothing is raised before `refuse`."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def wrong(self, name: str, text: str) -> None:
        """Note a fault of a field."""
        self.problems.append(Problem(name, text))

    def one_of(self, short: str, given: T | None, own: str, own_given: T | None) -> T | None:
        """The value written under a short word or under the service's own; both must say the same."""
        if given is not None and own_given is not None and given != own_given:
            self.wrong(short, f"says {given!r} and {own} says {own_given!r}; leave one out.")
        return own_given if own_given is not None else given

    async def unless_silent(self, what: str, call: Callable[[], Awaitable[T]]) -> T | None:
        """What a look-up answers; one that fails is ``None`` and a warning.

        Raises
        ------
        AuthError : the credential is refused as a whole, so nothing can be looked up.
        """
        try:
            return await call()
        except AuthError as exc:
            if exc.status != 403:
                raise
            self.warnings.append(f"The {what} could not be read: {exc.message}")
        except GpuClustersError as exc:
            self.warnings.append(f"The {what} could not be read: {exc.message}")
        return None

    def refuse(self, text: str, provider: str) -> None:
        """Raise `SpecError` with every fault, if there is one."""
        if self.problems:
            raise SpecError(text, problems=self.problems, provider=provider)


def named(names: Iterable[object]) -> str:
    """What there is to choose from, as the end of a sentence; empty where nothing is known."""
    known = [str(name) for name in names if name]
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    return f" There is: {', '.join(known[:_MOST_NAMED])}{more}." if known else ""
