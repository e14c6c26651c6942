"""What came back, whatever it is: JSON, text, HTML of a gateway, or nothing. No shape is taken for granted."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

from .errors import Problem, ProviderError
from .retry import retry_after_s

_ID_HEADERS = ("x-request-id", "request-id", "x-correlation-id")


@dataclass(frozen=True, eq=False)
class Answer:
    """One whole answer. Its repr has no header and no content, for either may hold secrets.

    Parameters
    ----------
    status : HTTP status.
    headers : names in lower case; repeated ones joined by ``", "``.
    content : the body, unpacked, at most `Limits.max_bytes`.
    """

    status: int
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)

    @cached_property
    def _parsed(self) -> tuple[bool, object]:
        try:
            return True, json.loads(self.content, parse_float=Decimal, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            return False, None

    @property
    def data(self) -> object:
        """The body read as JSON, fractions as `Decimal`, NaN and infinities as ``None``; ``None`` if it is not JSON."""
        return self._parsed[1]

    @property
    def is_json(self) -> bool:
        """Whether the body is JSON, whatever its content type says."""
        return self._parsed[0]

    @property
    def is_empty(self) -> bool:
        """Whether there is no body, or only blank space."""
        return not self.content.strip()

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx; a service may still report a failure inside."""
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        """The body as text; what is not UTF-8 is replaced."""
        return self.content.decode("utf-8", "replace")

    @property
    def request_id(self) -> str | None:
        """The service's own id of this answer, from the usual headers."""
        return next((self.headers[name] for name in _ID_HEADERS if self.headers.get(name)), None)

    @property
    def retry_after_s(self) -> float | None:
        """Seconds that the header ``Retry-After`` asks to wait, if it does."""
        return retry_after_s(self.headers)


@dataclass(frozen=True, slots=True)
class Trouble:
    """No whole answer came.

    Parameters
    ----------
    text : what happened, secrets cut out.
    was_sent : false only if it is certain that not a byte of the request left.
    is_passing : whether another try may do better.
    """

    text: str
    was_sent: bool = True
    is_passing: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What a provider reads out of an answer that means "no".

    Parameters
    ----------
    text : the service's own words.
    kind : class to raise; ``None`` lets the status decide.
    code : the service's own code of the failure, shown beside the status.
    hint : what the user can do next.
    problems : faults of single fields.
    request_id : where the body has one; else the header's is taken.
    is_definite : the provider's table lists this refusal as certain: nothing was made.
    ids : every remote id in the answer, also where the outcome is unknown.
    retry_after_s : seconds to wait, where the body says so; the header wins.
    """

    text: str = ""
    kind: type[ProviderError] | None = None
    code: str | None = None
    hint: str | None = None
    problems: Sequence[Problem] = ()
    request_id: str | None = None
    is_definite: bool = False
    ids: Sequence[str] = ()
    retry_after_s: float | None = None


ErrorReader = Callable[[Answer], Refusal | None]
"""Asked about every answer, a 2xx as well; ``None`` where it sees no failure. It must cope with any body."""
