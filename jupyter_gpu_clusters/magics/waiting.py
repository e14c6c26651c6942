"""Waits that can be interrupted, and that say what goes on when they end early."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ..core import bridge
from ..core.errors import (
    ConflictError,
    GpuClustersError,
    ProvisioningFailedError,
    WaitInterruptedError,
    WaitTimeoutError,
    WorkloadFailedError,
)
from ..core.format import clean, cost_text, duration_text, exit_text, phase_shape, phase_text
from ..core.models import Cluster, ClusterPhase, Workload, WorkloadPhase
from .progress import progress_for
from .ticking import following

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

T = TypeVar("T", Cluster, Workload)

_TICK_S = 1.0
_TAIL_LINES = 20
_TAIL_CHARACTERS = 65_536
_TAIL_WITHIN_S = 10.0
_STATE_WITHIN_S = 0.5
_NEVER_READY = (ClusterPhase.STOPPING, ClusterPhase.STOPPED, ClusterPhase.DELETING, ClusterPhase.DELETED)


def wait_for_cluster(shell: InteractiveShell, cluster: Cluster, *, timeout_s: float | None = None) -> Cluster:
    """Wait until the cluster is running.

    Raises
    ------
    WaitInterruptedError, WaitTimeoutError : the cluster goes on; the message says at what cost.
    ProvisioningFailedError, ConflictError : it will not come to run.
    """
    watch = partial(bridge.service().watch_cluster, cluster)
    last = _follow(shell, cluster, watch, _is_settled, timeout_s)
    if last.phase is ClusterPhase.FAILED:
        raise ProvisioningFailedError(
            f"Cluster {last.name!r} failed{_because(last.reason)}.", hint=_ways_out(last), provider=last.provider
        )
    if last.phase in _NEVER_READY:
        raise ConflictError(f"Cluster {last.name!r} is {last.phase}; it will not come to run.", provider=last.provider)
    return last


def wait_until_gone(shell: InteractiveShell, cluster: Cluster, *, timeout_s: float) -> Cluster:
    """Wait until a cluster that is being deleted is proven gone.

    Raises
    ------
    WaitInterruptedError, WaitTimeoutError : the wish stays; the message says at what cost.
    """
    watch = partial(bridge.service().watch_cluster, cluster)
    return _follow(shell, cluster, watch, lambda seen: seen.phase is ClusterPhase.DELETED, timeout_s)


def wait_for_workload(shell: InteractiveShell, workload: Workload, *, timeout_s: float | None = None) -> Workload:
    """Wait until the workload has ended.

    Raises
    ------
    WaitInterruptedError, WaitTimeoutError : the workload goes on.
    WorkloadFailedError : it failed, was cancelled, or went with its cluster; the message has the first failing
        rank and its last lines.
    """
    watch = partial(bridge.service().watch_workload, workload)
    last = _follow(shell, workload, watch, lambda seen: seen.phase.is_final, timeout_s)
    if not last.phase.is_final:
        ref = f"{clean(last.cluster_name)}/{clean(last.name)}"
        raise WorkloadFailedError(
            f"What became of workload {ref} is not known{_because(last.reason)}.",
            hint="`%workload_list` shows what there is; submit it again if you need its result.",
        )
    require_success(last)
    return last


def require_success(workload: Workload) -> None:
    """Do nothing unless the workload has ended badly.

    Raises
    ------
    WorkloadFailedError : it failed or was cancelled.
    """
    ref = clean(f"{workload.cluster_name}/{workload.name}")
    if workload.phase is WorkloadPhase.CANCELLED:
        raise WorkloadFailedError(f"Workload {ref} was cancelled{_because(workload.reason)}.")
    if workload.phase is not WorkloadPhase.FAILED:
        return
    rank = workload.first_failed_rank
    if rank is None:
        raise WorkloadFailedError(
            f"Workload {ref} failed{_because(workload.reason)}.", hint=f"`%workload_status {ref}` shows what is known."
        )
    state = next((state for state in workload.ranks if state.rank == rank), None)
    where = "" if state is None else f" (node {state.node_index})"
    how = exit_text(workload.exit_code) if state is None or not state.reason else clean(state.reason)
    raise WorkloadFailedError(
        f"Workload {ref} failed, first on rank {rank}{where}: {how}.{_last_lines(workload, rank)}",
        hint=f"`%workload_logs {ref} --rank {rank}` shows all of its output.",
    )


@contextmanager
def sending(what: str) -> Iterator[None]:
    """While a write is under way: an interrupt ends the wait for the answer, not the write.

    Parameters
    ----------
    what : the write in words, for example ``create 'demo'``.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise WaitInterruptedError(
            f"The wait for the answer to {what} was interrupted. "
            "What was sent goes on, and its answer is still recorded.",
            hint="`%cluster_list` and `%workload_list` show what came of it, `%cluster_recover` what is still open.",
        ) from None


def _is_settled(cluster: Cluster) -> bool:
    return cluster.phase in (ClusterPhase.RUNNING, ClusterPhase.FAILED, *_NEVER_READY)


def _follow(
    shell: InteractiveShell,
    first: T,
    watch: Callable[[], AsyncIterator[T]],
    is_over: Callable[[T], bool],
    timeout_s: float | None,
) -> T:
    """Watch until `is_over`; the last state seen. `first` is fresh, so what is over needs no watching."""
    if is_over(first):
        return first
    began, last, shown = time.monotonic(), first, None
    deadline = None if timeout_s is None else began + timeout_s
    progress = progress_for(shell)

    def gap_s() -> float:
        return _TICK_S if deadline is None else min(_TICK_S, max(0.0, deadline - time.monotonic()))

    try:
        with following(watch, gap_s) as states:
            for seen in states:
                last = seen or last
                phase = phase_text(last.phase, last.provider_state)
                time_text = duration_text(time.monotonic() - began)
                progress.show(
                    f"{phase_shape(last.phase)} {clean(last.name)}: {phase}, {time_text}", is_news=phase != shown
                )
                shown = phase
                if is_over(last):
                    return last
                if deadline is not None and time.monotonic() >= deadline:
                    raise WaitTimeoutError(_goes_on(last, f"was not over after {timeout_s:g} s"), hint=_ways_out(last))
    except KeyboardInterrupt:
        raise WaitInterruptedError(_goes_on(last, "was interrupted"), hint=_ways_out(last)) from None
    finally:
        progress.close()
    return last


def _goes_on(item: Cluster | Workload, how_it_ended: str) -> str:
    phase = phase_text(item.phase, item.provider_state)
    if isinstance(item, Cluster):
        return f"The wait for cluster {item.name!r} {how_it_ended}. It is {phase} and goes on; it {cost_text(item)}."
    cluster = _cluster_of(item)
    cost = "" if cluster is None else f"; cluster {cluster.name!r} {cost_text(cluster)}"
    return f"The wait for workload {item.name!r} {how_it_ended}. It is {phase} and goes on{cost}."


def _cluster_of(workload: Workload) -> Cluster | None:
    """The cluster as last known, from the journal only; nothing when that cannot be had at once."""
    try:
        state = bridge.start(bridge.service().state).result(_STATE_WITHIN_S)
    except (GpuClustersError, TimeoutError):
        return None
    return next((cluster for cluster in state.clusters if cluster.cluster_id == workload.cluster_id), None)


def _ways_out(item: Cluster | Workload) -> str:
    if isinstance(item, Cluster) and item.phase is ClusterPhase.DELETING:
        return "Until it is proven gone it may bill; `%cluster_recover` asks again, `%cluster_list` shows it."
    if isinstance(item, Cluster):
        name = clean(item.name)
        return f"`%cluster_wait {name}` waits again, `%cluster_delete {name}` ends it and its cost."
    ref = clean(f"{item.cluster_name}/{item.name}")
    return f"`%workload_wait {ref}` waits again, `%workload_cancel {ref}` ends it."


def _because(reason: str | None) -> str:
    return f" ({clean(reason).rstrip('.')})" if reason else ""


def _last_lines(workload: Workload, rank: int) -> str:
    """The end of a rank's log under a heading; says so when it cannot be had."""
    try:
        text = bridge.call(_tail, workload, rank)
    except (GpuClustersError, TimeoutError) as exc:
        return f"\nIts output cannot be had now: {exc}"
    lines = [clean(line) for line in text.splitlines()[-_TAIL_LINES:]]
    return "".join([f"\nLast lines of rank {rank}:", *(f"\n  {line}" for line in lines)]) if lines else ""


async def _tail(workload: Workload, rank: int) -> str:
    text = ""
    async with asyncio.timeout(_TAIL_WITHIN_S):
        async for chunk in bridge.service().stream_logs(workload, ranks=[rank], tail_lines=_TAIL_LINES):
            text = (text + chunk.text)[-_TAIL_CHARACTERS:]
    return text
