"""Moments as the service writes them down and reads them."""

from __future__ import annotations

from datetime import datetime

from ..service import Call, Refused
from ..world import World


def shown(world: World, at: float) -> str:
    """A moment as ISO 8601 with ``Z``."""
    return world.clock.shown(at).isoformat().replace("+00:00", "Z")


def maybe(world: World, at: float | None) -> str | None:
    """The same, or nothing."""
    return None if at is None else shown(world, at)


def asked_time(world: World, call: Call, name: str) -> float:
    """The sandbox time that a query parameter means.

    Raises
    ------
    Refused : 400, missing or no date and time with a zone.
    """
    try:
        moment = datetime.fromisoformat(call.asked(name) or "")
    except ValueError:
        raise Refused(400, f"parameter {name} must be a date and time in ISO 8601") from None
    if moment.tzinfo is None:
        raise Refused(400, f"parameter {name} needs a time zone")
    return world.clock.heard(moment)
