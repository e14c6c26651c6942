"""How the card of a cluster or a workload looks, as HTML and as text. Pure.

A card may be read days later in a saved notebook, so it says when things were seen by the clock, and ages
are as of then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape

from ..core.format import (
    age_text,
    clean,
    elapsed_text,
    exit_text,
    gpus_text,
    hourly_text,
    phase_shape,
    phase_text,
    plural,
    workload_time_text,
)
from ..core.models import Billing, Cluster, RankState, Workload, WorkloadPhase
from .html import (
    BORDER_COLOUR,
    BUSY_COLOUR,
    ERROR_COLOUR,
    GOOD_COLOUR,
    SMALL,
    WARN_COLOUR,
    problem_html,
    rows_html,
    text_block_html,
)
from .stale import CARD_CLASS

_COLOURS = {
    "running": GOOD_COLOUR,
    "succeeded": GOOD_COLOUR,
    "failed": ERROR_COLOUR,
    "degraded": WARN_COLOUR,
    "unknown": WARN_COLOUR,
    "cancelled": "inherit",
    "stopped": "inherit",
    "deleted": "inherit",
}
_MOST_RANKS_SHOWN = 8
_FRAME = f"border: 1px solid {BORDER_COLOUR}; border-radius: 4px; padding: 6px 10px; max-width: 52em; line-height: 1.4"


@dataclass(frozen=True, slots=True)
class Sight:
    """How a card's content was come by.

    Parameters
    ----------
    observed_at : when the provider was last looked at with success, if ever.
    now : when the card is drawn.
    problem : why the last look failed, if it did.
    is_live : the card will be drawn again when something changes.
    is_stopped : the card is no longer followed although its thing has not come to its end.
    tail : last lines of output worth showing.
    jobs : names of workloads that run on the cluster.
    """

    observed_at: datetime | None
    now: datetime
    problem: str | None = None
    is_live: bool = True
    is_stopped: bool = False
    tail: str = ""
    jobs: tuple[str, ...] = ()


def card_html(thing: Cluster | Workload, sight: Sight) -> str:
    """The card as HTML without scripts, in the colours of the theme."""
    name = escape(clean(thing.full_name))
    mark = f'<b style="color: {_COLOURS.get(thing.phase, BUSY_COLOUR)}">{escape(_phase(thing))}</b>'
    title = f'<div style="margin-bottom: 3px">{_kind(thing)} <b>{name}</b>: {mark}</div>'
    rows = rows_html([(name, escape(clean(value))) for name, value in _rows(thing, sight)])
    problem = problem_html([clean(_problem(sight))]) if sight.problem else ""
    tail = text_block_html(sight.tail) if sight.tail else ""
    foot = f'<div style="{SMALL}; opacity: 0.8; margin-top: 3px">{escape(_footer(sight))}</div>'
    attributes = f'class="{CARD_CLASS}" role="group" aria-label="{name}" style="{_FRAME}"'
    return f"<div {attributes}>{title}{rows}{problem}{tail}{foot}</div>"


def card_text(thing: Cluster | Workload, sight: Sight) -> str:
    """The card for terminals and for front ends without HTML."""
    rows = _rows(thing, sight)
    width = max((len(name) for name, _ in rows), default=0)
    lines = [f"{_kind(thing)} {clean(thing.full_name)}: {_phase(thing)}"]
    lines += [f"  {name:<{width}}  {clean(value)}" for name, value in rows]
    if sight.problem:
        lines.append(f"✖ {clean(_problem(sight))}")
    lines += [f"  | {line}" for line in sight.tail.splitlines()]
    return "\n".join([*lines, _footer(sight)])


def _kind(thing: Cluster | Workload) -> str:
    return "Cluster" if isinstance(thing, Cluster) else "Workload"


def _phase(thing: Cluster | Workload) -> str:
    return f"{phase_shape(thing.phase)} {phase_text(thing.phase, thing.provider_state)}"


def _rows(thing: Cluster | Workload, sight: Sight) -> list[tuple[str, str]]:
    rows = _cluster_rows(thing, sight) if isinstance(thing, Cluster) else _workload_rows(thing, sight)
    return [(name, value) for name, value in rows if value]


def _cluster_rows(cluster: Cluster, sight: Sight) -> Iterable[tuple[str, str]]:
    yield "Provider says", cluster.provider_state or ""
    yield "Nodes", _counted([str(node.phase) for node in cluster.nodes]) or str(cluster.node_count)
    yield "GPUs", gpus_text(cluster.gpu_count, cluster.gpu_type)
    yield "Price", hourly_text(cluster.price_per_hour, cluster.is_free)
    yield "Billed now", "" if cluster.is_free else _billing(cluster.billing)
    yield "Region", cluster.region or ""
    yield "Created", _moment(cluster.created_at, sight)
    yield "Ends", _end(cluster)
    yield "Running on it", ", ".join(sight.jobs)
    yield "Reason", cluster.reason or ""


def _workload_rows(workload: Workload, sight: Sight) -> Iterable[tuple[str, str]]:
    yield "Provider says", workload.provider_state or ""
    yield "Ranks", _ranks(workload)
    yield "Submitted", _moment(workload.submitted_at, sight)
    yield "Started", _time(workload.started_at)
    yield "Finished", _time(workload.finished_at)
    is_going = workload.started_at is not None and workload.finished_at is None
    yield "Running for", elapsed_text(workload.started_at, sight.now) if is_going else ""
    yield "Took", workload_time_text(workload) if workload.finished_at is not None else ""
    first = _first_failed(workload)
    yield "First to fail", first
    yield "Also failed", "; ".join(_ending(rank) for rank in _other_failures(workload))
    yield "Result", "" if first else exit_text(workload.exit_code)
    yield "Reason", workload.reason or ""


def _ranks(workload: Workload) -> str:
    if not workload.ranks:
        return f"on {plural(workload.nodes, 'node')}"
    return f"{_counted([str(rank.phase) for rank in workload.ranks])} on {plural(workload.nodes, 'node')}"


def _first_failed(workload: Workload) -> str:
    found = [rank for rank in workload.ranks if rank.rank == workload.first_failed_rank]
    return _ending(found[0]) if found else ""


def _ending(rank: RankState) -> str:
    how = exit_text(rank.exit_code) or rank.reason or str(rank.phase)
    return f"rank {rank.rank} on node {rank.node_index}: {how}"


def _other_failures(workload: Workload) -> Sequence[RankState]:
    """Ranks that failed by themselves beside the first one, as many as fit."""
    others = [r for r in workload.ranks if r.phase is WorkloadPhase.FAILED and r.rank != workload.first_failed_rank]
    return others[:_MOST_RANKS_SHOWN]


def _counted(phases: Sequence[str]) -> str:
    """``2 running, 1 failed``."""
    return ", ".join(f"{count} {phase}" for phase, count in Counter(phases).items())


def _billing(billing: Billing) -> str:
    return {Billing.YES: "yes", Billing.NO: "no", Billing.UNKNOWN: "unknown: it may cost money"}[billing]


def _end(cluster: Cluster) -> str:
    if cluster.ends_at is not None:
        return _time(cluster.ends_at)
    return "" if cluster.is_free or cluster.billing is Billing.NO else "NO END TIME"


def _time(when: datetime | None) -> str:
    return "" if when is None else f"{when:%Y-%m-%d %H:%M:%S} UTC"


def _moment(when: datetime | None, sight: Sight) -> str:
    return "" if when is None else f"{_time(when)} ({age_text((sight.now - when).total_seconds())})"


def _problem(sight: Sight) -> str:
    if sight.observed_at is None:
        return f"Could not look: {sight.problem}"
    age = age_text((sight.now - sight.observed_at).total_seconds())
    return f"Could not look; what is shown was seen {age}. {sight.problem}"


def _footer(sight: Sight) -> str:
    is_older = sight.observed_at is not None and (sight.now - sight.observed_at).total_seconds() >= 2
    seen = f"; last seen {_time(sight.observed_at)}" if is_older else ""
    if sight.is_stopped:
        state = "No longer updated; run the cell again to go on."
    else:
        state = "Kept up to date while the page is open and its kernel runs." if sight.is_live else "Final."
    return f"As of {_time(sight.now)}{seen}. {state}"
