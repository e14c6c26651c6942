"""An operation of this service: which query parameters it needs and takes, and whether it has a body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..service import Call, Problem, Refused, Route
from .errors import bad

PAGES = ("page_no", "per_page")


@dataclass(frozen=True, slots=True)
class TirRoute(Route):
    """Beside `needs` and `takes` every operation takes ``apikey``."""

    needs: tuple[str, ...] = ("project_id", "location")
    takes: tuple[str, ...] = ("active_iam",)
    has_body: bool = False

    def check(self, call: Call) -> None:
        """Raise `Refused` 400 for parameters that are missing or unknown, and for a body where none belongs."""
        problems = list(self._problems(call))
        if problems:
            raise Refused(400, "Invalid request", problems=problems)
        if call.body and not self.has_body:
            raise bad("", "This call has no body.")

    def _problems(self, call: Call) -> Iterator[Problem]:
        known = {"apikey", *self.needs, *self.takes}
        yield from ((name, "This field is required.") for name in self.needs if not call.asked(name))
        yield from ((name, "Unknown parameter.") for name in call.query if name not in known)
