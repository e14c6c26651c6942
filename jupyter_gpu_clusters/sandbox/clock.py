"""The sandbox's own time: it runs at any speed, jumps forward, stands still, and may be shown wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import formatdate


class Clock:
    """Seconds since 1970, as the simulated services count them.

    Life-cycles never run in the background: they are worked out from this clock whenever somebody looks.

    Parameters
    ----------
    speed : sandbox seconds per real second; 0 stands still and moves only by `advance`.
    start : where it begins, seconds since 1970; the real time when left out.
    """

    def __init__(self, *, speed: float = 1.0, start: float | None = None) -> None:
        self._base = time.time() if start is None else start
        self._anchor = time.monotonic()
        self._held: float | None = None
        self.skew_s = 0.0
        self.speed = _positive(speed)

    def now(self) -> float:
        """The true sandbox time."""
        if self._held is not None:
            return self._held
        return self._base + (time.monotonic() - self._anchor) * self.speed

    def advance(self, seconds: float) -> None:
        """Jump forward.

        Raises
        ------
        ValueError : `seconds` is negative; time never runs back (a wrong clock is `skew_s`).
        """
        self._base += _positive(seconds)

    def run_at(self, speed: float) -> None:
        """Change the speed from now on."""
        speed = _positive(speed)
        self._base, self._anchor, self.speed = self.now(), time.monotonic(), speed

    @contextmanager
    def held_at(self, moment: float) -> Iterator[None]:
        """Let something happen as if it were `moment`: work accepted then and carried out only when somebody looks."""
        before, self._held = self._held, moment
        try:
            yield
        finally:
            self._held = before

    def shown(self, moment: float) -> datetime:
        """A moment as the services write it down: skewed, aware UTC."""
        return datetime.fromtimestamp(moment + self.skew_s, UTC)

    def heard(self, moment: datetime) -> float:
        """The sandbox time of a moment that a client wrote down after the services' (maybe skewed) clock."""
        return moment.timestamp() - self.skew_s

    def http_date(self, moment: float) -> str:
        """A moment as HTTP headers have it."""
        return formatdate(moment + self.skew_s, usegmt=True)


def _positive(value: float) -> float:
    if not 0 <= value < float("inf"):
        raise ValueError(f"{value} must be a number that is not negative")
    return value
