"""What the nodes of a workload say, and what that means for the whole: pure functions, no I/O.

Answers come from a program on another machine, of this or an older release: read leniently. What cannot be read,
and a node that cannot be asked, make the workload "unknown" with the node named; nothing is filled in by guessing.
The one shortcut is no guess: node 0 collects every exit code, so its final word is the workload's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..core.models import RankState, Workload, WorkloadPhase
from .supervisor.verdict import how_it_ended


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class RankReport(_Wire):
    """One rank in a node's state file."""

    rank: int
    pid: int | None = None
    exit_code: int | None = None
    was_ended: bool = False
    lost_bytes: int = 0


class About(_Wire):
    """What a workload is; the same on all of its nodes."""

    name: str
    command: tuple[str, ...] = ()
    nodes: int = Field(ge=1)
    procs_per_node: int | None = Field(None, ge=1)
    submitted_at: datetime | None = None


class NodeState(_Wire):
    """A node's state file."""

    about: About
    node_index: int
    phase: str
    reason: str | None = None
    first_failed_rank: int | None = None
    exit_code: int | None = None
    never_started: bool = False
    started_at: datetime | None = None
    finished_at: datetime | None = None
    ranks: tuple[RankReport, ...] = ()
    exit_codes: tuple[int | None, ...] | None = None
    left_over: tuple[str, ...] = ()

    @property
    def known_phase(self) -> WorkloadPhase:
        """Its phase in our words; a word of a newer release is "unknown"."""
        try:
            return WorkloadPhase(self.phase)
        except ValueError:
            return WorkloadPhase.UNKNOWN


class Entry(_Wire):
    """One workload on one node, as the supervisor's "status" shows it."""

    id: str
    state: NodeState | None = None
    problem: str | None = None
    is_alive: bool = False
    left_over: tuple[str, ...] = ()
    log_bytes: int = 0

    @property
    def is_final(self) -> bool:
        """Whether its supervisor has said its last word."""
        return self.state is not None and self.state.known_phase.is_final

    @property
    def is_gone(self) -> bool:
        """Whether its supervisor, or its start before that wrote any state, ended without a last word."""
        return not self.problem and not self.is_final and not self.is_alive


def parse_entry(raw: Mapping[str, Any]) -> Entry:
    """An entry of an answer; one that has another shape becomes an entry with a problem."""
    try:
        return Entry.model_validate(raw)
    except ValidationError as exc:
        fault = exc.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        return Entry(id=str(raw.get("id")), problem=f"its state is malformed ({where}: {fault['msg']})")


@dataclass(frozen=True, slots=True)
class NodeLook:
    """What a look at one node showed of one workload: an entry, nothing (no entry, no problem), or why not."""

    entry: Entry | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Whose workload it is; copied into every `Workload`."""

    provider: str
    account: str
    cluster_id: str
    cluster_name: str


@dataclass(frozen=True, slots=True)
class _Verdict:
    phase: WorkloadPhase
    reason: str | None = None
    word: str | None = None


def merge_workload(place: Place, workload_id: str, looks: Mapping[int, NodeLook]) -> Workload:
    """One workload out of what every node of its cluster says about it.

    Parameters
    ----------
    looks : node index -> what was seen there; at least one has an entry.
    """
    states = {i: look.entry.state for i, look in looks.items() if look.entry and look.entry.state}
    about = next((states[i].about for i in sorted(states)), None)
    hub = states.get(0)
    verdict = _judge(about.nodes if about else _nodes_that_know(looks), looks)
    has_ended = verdict.phase.is_final
    started = [state.started_at for state in states.values() if state.started_at]
    return Workload(
        provider=place.provider,
        account=place.account,
        cluster_id=place.cluster_id,
        cluster_name=place.cluster_name,
        workload_id=workload_id,
        name=about.name if about else workload_id,
        phase=verdict.phase,
        provider_state=verdict.word,
        command=about.command if about else (),
        nodes=about.nodes if about else 1,
        procs_per_node=about.procs_per_node if about else None,
        ranks=() if about is None or _was_refused(states) else _merge_ranks(about, looks, hub),
        submitted_at=about.submitted_at if about else None,
        started_at=min(started, default=None),
        finished_at=_finished_at(hub, states) if has_ended else None,
        exit_code=hub.exit_code if has_ended and hub else None,
        first_failed_rank=hub.first_failed_rank if hub else None,
        reason=verdict.reason,
        log_bytes=sum(look.entry.log_bytes for look in looks.values() if look.entry),
    )


def _nodes_that_know(looks: Mapping[int, NodeLook]) -> int:
    """How many nodes it may have, as long as no node says so."""
    return max((index + 1 for index, look in looks.items() if look.entry or look.problem), default=1)


def _finished_at(hub: NodeState | None, states: Mapping[int, NodeState]) -> datetime | None:
    """Node 0's last word ends a workload; without it, the last word of any node."""
    if hub and hub.finished_at:
        return hub.finished_at
    return max((state.finished_at for state in states.values() if state.finished_at), default=None)


def refused_workload(
    place: Place, workload_id: str, about: About, phase: WorkloadPhase, reason: str | None
) -> Workload:
    """A start that left no state on any node, for example since no disk had room for one."""
    return Workload(
        provider=place.provider,
        account=place.account,
        cluster_id=place.cluster_id,
        cluster_name=place.cluster_name,
        workload_id=workload_id,
        name=about.name,
        phase=phase,
        command=about.command,
        nodes=about.nodes,
        procs_per_node=about.procs_per_node,
        submitted_at=about.submitted_at,
        reason=reason,
    )


def _was_refused(states: Mapping[int, NodeState]) -> bool:
    return any(state.never_started and state.known_phase.is_final for state in states.values())


def _judge(nodes: int, looks: Mapping[int, NodeLook]) -> _Verdict:
    """Phase and reason of the whole."""
    entries = {i: look.entry for i, look in looks.items() if look.entry and i < nodes}
    states = {i: entry.state for i, entry in entries.items() if entry.state}
    still_there = _left_over(entries)
    if 0 in entries and entries[0].is_final:
        return _Verdict(states[0].known_phase, _joined(states[0].reason, still_there))
    for state in states.values():
        if state.never_started and state.known_phase.is_final:
            return _Verdict(state.known_phase, state.reason)
    if unseen := _unseen(nodes, looks):
        is_beginning = _is_beginning(nodes, looks)
        return _Verdict(WorkloadPhase.PENDING if is_beginning else WorkloadPhase.UNKNOWN, "; ".join(unseen))
    if strange := [state.phase for state in states.values() if state.known_phase is WorkloadPhase.UNKNOWN]:
        return _Verdict(WorkloadPhase.UNKNOWN, f"a node reports the unknown phase {strange[0]!r}", strange[0])
    gone = [i for i, entry in sorted(entries.items()) if entry.is_gone]
    if gone:
        where = "node " + ", ".join(map(str, gone))
        reason = f"the supervisor on {where} is gone (killed or machine restarted)"
        is_over = not any(entry.is_alive and not entry.is_final for entry in entries.values())
        return _Verdict(
            WorkloadPhase.FAILED if is_over else WorkloadPhase.STOPPING,
            _joined(reason, still_there),
        )
    return _judge_living(states)


def _is_beginning(nodes: int, looks: Mapping[int, NodeLook]) -> bool:
    """Whether node 0 waits for the others, and those that are not there yet have at least been looked for."""
    hub = looks[0].entry if 0 in looks else None
    if hub is None or hub.state is None or not hub.is_alive or hub.state.known_phase is not WorkloadPhase.PENDING:
        return False
    return all(i in looks and not looks[i].problem for i in range(nodes)) and not any(
        look.entry and look.entry.problem for look in looks.values()
    )


def _judge_living(states: Mapping[int, NodeState]) -> _Verdict:
    """All nodes were seen, none is gone, node 0 has not ended."""
    phases = {state.known_phase for state in states.values()}
    reason = next((state.reason for state in states.values() if state.reason), None)
    if WorkloadPhase.STOPPING in phases or any(phase.is_final for phase in phases):
        return _Verdict(WorkloadPhase.STOPPING, reason)
    if WorkloadPhase.PENDING in phases:
        return _Verdict(WorkloadPhase.PENDING)
    return _Verdict(WorkloadPhase.RUNNING)


def _unseen(nodes: int, looks: Mapping[int, NodeLook]) -> list[str]:
    """A sentence for every node whose state is not known."""
    sentences = []
    for index in range(nodes):
        look = looks.get(index)
        if look is None:
            sentences.append(f"node {index} is not in the cluster any more")
        elif look.problem:
            sentences.append(f"node {index} could not be asked: {look.problem}")
        elif look.entry is None:
            sentences.append(f"node {index} knows nothing of this workload")
        elif look.entry.problem:
            sentences.append(f"node {index}: {look.entry.problem}")
        elif look.entry.state is None and look.entry.is_alive:
            sentences.append(f"node {index} has claimed it and written no state yet")
    return sentences


def _left_over(entries: Mapping[int, Entry]) -> list[str]:
    found: list[str] = []
    for entry in entries.values():
        found += entry.left_over or (entry.state.left_over if entry.state else ())
    return found


def _joined(reason: str | None, still_there: list[str]) -> str | None:
    if not still_there:
        return reason
    text = f"still running: {', '.join(still_there)} (cancel the workload to end them)"
    return f"{reason}; {text}" if reason else text


def _merge_ranks(about: About, looks: Mapping[int, NodeLook], hub: NodeState | None) -> tuple[RankState, ...]:
    """All ranks of the workload in order: from their own node, else what node 0 was told, else unknown."""
    procs = about.procs_per_node or 1
    codes = hub.exit_codes if hub and hub.exit_codes else ()
    merged = []
    for rank in range(about.nodes * procs):
        look = looks.get(rank // procs)
        entry = look.entry if look else None
        reports = {report.rank: report for report in entry.state.ranks} if entry and entry.state else {}
        report = reports.get(rank) or RankReport(rank=rank)
        if report.exit_code is None and rank < len(codes) and codes[rank] is not None:
            report = report.model_copy(update={"exit_code": codes[rank]})
        merged.append(_rank_state(report, rank // procs, entry))
    return tuple(merged)


def _rank_state(report: RankReport, node_index: int, entry: Entry | None) -> RankState:
    phase, reason = _rank_phase(report, entry)
    if report.lost_bytes:
        lost = f"{report.lost_bytes} bytes of its output were lost (disk full)"
        reason = f"{reason}; {lost}" if reason else lost
    return RankState(
        rank=report.rank,
        node_index=node_index,
        phase=phase,
        pid=report.pid,
        exit_code=report.exit_code,
        reason=reason,
    )


def _rank_phase(report: RankReport, entry: Entry | None) -> tuple[WorkloadPhase, str | None]:
    code = report.exit_code
    if code == 0:
        return WorkloadPhase.SUCCEEDED, None
    if code is not None and report.was_ended:
        return WorkloadPhase.CANCELLED, f"{how_it_ended(code)} when the workload was ended"
    if code is not None:
        return WorkloadPhase.FAILED, how_it_ended(code)
    if entry is None or entry.state is None:
        return WorkloadPhase.UNKNOWN, "its node's state is not known"
    if entry.is_gone:
        return WorkloadPhase.FAILED, "its supervisor is gone, its exit code is not known"
    if report.pid is None:
        return WorkloadPhase.PENDING, None
    return (WorkloadPhase.UNKNOWN, "it would not end") if entry.is_final else (WorkloadPhase.RUNNING, None)
