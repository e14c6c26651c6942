"""What the event bus is told: that something changed, and nothing that would have to be believed.

The bus has no replay and any signed-in client may write to it. So an event only makes a page ask again,
and sequence numbers with a heartbeat tell it when it has missed one (``events/state-v1.yaml``).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from jupyter_events.logger import EventLogger

from ..core.models import AccountView, Cluster, Order, State, Workload

SCHEMA_ID = "https://jupyter-gpu-clusters.invalid/state/v1"
SCHEMA_FILE = Path(__file__).parent / "events" / "state-v1.yaml"
# One event takes about 0.65 ms of the server's loop, and a page asks once whatever their number.
MAX_EVENTS_AT_ONCE = 50

Kind = Literal["cluster", "workload", "account", "order"]
Thing = Cluster | Workload | AccountView | Order


class Change(NamedTuple):
    """One thing that is not as it was. ``phase`` is ``None`` where there is none or the thing is gone."""

    kind: Kind
    id: str
    phase: str | None


class Bus:
    """The sending end of our stream of events.

    Parameters
    ----------
    logger : the server's event logger; our schema is registered with it.
    """

    def __init__(self, logger: EventLogger) -> None:
        if SCHEMA_ID not in logger.schemas:
            logger.register_event_schema(SCHEMA_FILE)
        self._logger = logger
        self.stream = str(uuid.uuid4())
        self.seq = 0

    def heartbeat(self) -> None:
        """Say that the stream is alive."""
        self._emit("heartbeat", None)

    def tell(self, changes: Sequence[Change]) -> None:
        """Send one event for each change, or a single one without a name when there are too many."""
        if len(changes) > MAX_EVENTS_AT_ONCE:
            self._emit("changed", None)
            return
        for change in changes:
            self._emit("changed", change)

    def _emit(self, topic: Literal["changed", "heartbeat"], change: Change | None) -> None:
        self.seq += 1
        kind, thing_id, phase = change or (None, None, None)
        data = {"stream": self.stream, "seq": self.seq, "topic": topic, "kind": kind, "id": thing_id, "phase": phase}
        self._logger.emit(schema_id=SCHEMA_ID, data=data)


def changes(before: State, after: State) -> list[Change]:
    """What is new, different or gone in `after`.

    That a look was repeated with the same result is no change, nor is a log that grew: pages see both when
    they ask next.
    """
    return [
        *_differences("account", before.accounts, after.accounts),
        *_differences("cluster", before.clusters, after.clusters),
        *_differences("workload", before.workloads, after.workloads),
        *_differences("order", before.orders, after.orders),
    ]


def _differences(kind: Kind, before: Iterable[Thing], after: Iterable[Thing]) -> Iterator[Change]:
    old = {_key(thing): thing for thing in before}
    new = {_key(thing): thing for thing in after}
    for key, thing in new.items():
        if key not in old or not _is_same(old[key], thing):
            yield Change(kind, key[-1], _phase(thing))
    for key in old:
        if key not in new:
            yield Change(kind, key[-1], None)


def _key(thing: Thing) -> tuple[str, ...]:
    """What tells it from all others of its kind; last its own id."""
    match thing:
        case Cluster():
            return (thing.account, thing.cluster_id)
        case Workload():
            return (thing.account, thing.cluster_id, thing.workload_id)
        case AccountView():
            return (thing.account,)
        case Order():
            return (thing.order_id,)


def _phase(thing: Thing) -> str | None:
    match thing:
        case Cluster() | Workload():
            return thing.phase
        case Order():
            return thing.state
        case AccountView():
            return None


_NO_CHANGE: Mapping[type[Thing], Mapping[str, object]] = {
    AccountView: {"observed_at": None, "age_s": None},
    Workload: {"log_bytes": 0},
}


def _is_same(old: Thing, new: Thing) -> bool:
    ignored = _NO_CHANGE.get(type(new), {})
    return old == new or (bool(ignored) and old.model_copy(update=ignored) == new.model_copy(update=ignored))
