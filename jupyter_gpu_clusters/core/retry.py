"""How long a call may take, and when to try it again: growing pauses with jitter, and what ``Retry-After`` asks."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

MAX_RETRY_AFTER_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long a call may take and how much it may bring.

    Parameters
    ----------
    connect_s, read_s, write_s, pool_s : longest wait for a connection, between two pieces of the answer, for one
        piece to be sent, and for a free connection.
    call_s : longest time of the whole call with its repeats; more than `pool_s` and `connect_s` together, so that a
        connection that never comes is told from an answer that never comes.
    max_bytes : of the unpacked body.
    tries : of a read, with pauses that double from `first_pause_s` to `max_pause_s`.
    """

    connect_s: float = 10.0
    read_s: float = 30.0
    write_s: float = 30.0
    pool_s: float = 10.0
    call_s: float = 90.0
    max_bytes: int = 16 * 1024 * 1024
    tries: int = 3
    first_pause_s: float = 0.5
    max_pause_s: float = 8.0


def pause_s(attempt: int, limits: Limits) -> float:
    """How long to wait after the failed try number `attempt` (from 1): doubling, capped, between half and all of it."""
    whole = min(limits.first_pause_s * 2.0 ** (attempt - 1), limits.max_pause_s)
    return whole * random.uniform(0.5, 1.0)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that an answer asks to wait, 0 to 3600; ``None`` when it does not say so in a readable way.

    A date is read against the answer's own ``Date``, so a clock that differs from ours does no harm.

    Parameters
    ----------
    headers : of the answer, with lower-case names.
    """
    asked = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", asked, re.ASCII):
        return min(float(asked), MAX_RETRY_AFTER_S)
    until = _date(asked)
    if until is None:
        return None
    now = _date(headers.get("date", "")) or datetime.now(UTC)
    return min(max((until - now).total_seconds(), 0.0), MAX_RETRY_AFTER_S)


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
