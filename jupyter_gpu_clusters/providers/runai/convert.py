"""From answers of Run:ai to the words of the product. Pure. Source: contract, sections 4 and 5."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from ...core.models import (
    Billing,
    Cluster,
    ClusterPhase,
    RankState,
    Workload,
    WorkloadPhase,
    utc_now,
)
from .spec import Framework
from .wire import Distributed, Pod, WorkloadRow
from .wire_org import ClusterRow, Node
from .words import shown_words

YOUNG = timedelta(minutes=5)
_MAX_RANKS = 256
_PHASES = {
    "creating": WorkloadPhase.PENDING,
    "pending": WorkloadPhase.PENDING,
    "initializing": WorkloadPhase.PENDING,
    "resuming": WorkloadPhase.PENDING,
    "running": WorkloadPhase.RUNNING,
    "degraded": WorkloadPhase.RUNNING,
    "updating": WorkloadPhase.RUNNING,
    "stopping": WorkloadPhase.STOPPING,
    "deleting": WorkloadPhase.STOPPING,
    "terminating": WorkloadPhase.STOPPING,
    "stopped": WorkloadPhase.STOPPED,
    "failed": WorkloadPhase.FAILED,
    "completed": WorkloadPhase.SUCCEEDED,
}
_CLUSTER_PHASES = {
    "connected": ClusterPhase.RUNNING,
    "waitingtoconnect": ClusterPhase.CREATING,
    "disconnected": ClusterPhase.DEGRADED,
    "missingprerequisites": ClusterPhase.DEGRADED,
    "serviceissues": ClusterPhase.DEGRADED,
}
_FRAMEWORKS: Mapping[str, Framework] = {
    "mpi": "MPI",
    "pytorch": "PyTorch",
    "tf": "TF",
    "tensorflow": "TF",
    "xgboost": "XGBoost",
    "jax": "JAX",
}
_MIN_VERSION = (2, 18)


def framework_of(word: object) -> Framework | None:
    """The word of the create call for a framework; lists write it in other ways (contract, gotcha 18)."""
    return _FRAMEWORKS.get(word.strip().lower()) if isinstance(word, str) else None


def phase_of(word: str | None, *, is_young: bool = False) -> WorkloadPhase:
    """Our word for a phase. One that is not known is no end; just after the making, no word means waiting."""
    known = _PHASES.get((word or "").strip().lower())
    if known is not None:
        return known
    is_silent = (word or "Unknown").strip().lower() == "unknown"
    return WorkloadPhase.PENDING if is_silent and is_young else WorkloadPhase.UNKNOWN


def is_recent(at: datetime | None) -> bool:
    """Whether something was made a short while ago, by two clocks that may differ."""
    return at is not None and utc_now() - at < YOUNG


def cluster_of(row: ClusterRow, nodes: Sequence[Node] | None, account: str) -> Cluster:
    """A cluster with what its nodes have; ``nodes`` is ``None`` where they may not be read."""
    counts = Counter(node.gpuInfo.gpuCount or 0 for node in nodes or ())
    kinds = dict.fromkeys(node.gpuInfo.gpuType for node in nodes or () if node.gpuInfo.gpuType)
    state = row.status.state or row.state
    return Cluster(
        provider="runai",
        account=account,
        cluster_id=row.uuid or row.id or "",
        name=row.name or row.uuid or "",
        phase=_cluster_phase(row, state),
        provider_state=state,
        node_count=len(nodes or ()),
        gpu_type=", ".join(kinds) or None,
        gpus_per_node=next(iter(counts)) if len(counts) == 1 else 0,
        is_free=True,
        billing=Billing.NO,
        region=row.domain,
        created_at=row.createdAt,
        created_here=False,
        reason=_trouble_of(row, state),
    )


def _cluster_phase(row: ClusterRow, state: str | None) -> ClusterPhase:
    if row.deletedAt is not None:
        return ClusterPhase.DELETED
    if row.deleteRequestedAt is not None:
        return ClusterPhase.DELETING
    return _CLUSTER_PHASES.get((state or "").strip().lower(), ClusterPhase.UNKNOWN)


def _trouble_of(row: ClusterRow, state: str | None) -> str | None:
    """Why distributed work may not run there, as far as the cluster tells."""
    reasons = []
    version = re.match(r"v?(\d+)\.(\d+)", row.version or "")
    if version and (int(version[1]), int(version[2])) < _MIN_VERSION:
        reasons.append(f"Version {row.version} is too old for distributed workloads; 2.18 is needed.")
    if (state or "").lower() == "disconnected":
        since = f" since {row.lastLiveness:%Y-%m-%d %H:%M} UTC" if row.lastLiveness else ""
        reasons.append(f"Run:ai has no contact with it{since}.")
    reasons += [f"{name}: {text}." for name, text in _missing_parts(row.status.dependencies)]
    return " ".join(reasons) or None


def _missing_parts(dependencies: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    groups = [group for group in dependencies.values() if isinstance(group, Mapping)]
    for name, part in ((name, part) for group in groups for name, part in group.items()):
        if isinstance(part, Mapping) and part.get("available") is False:
            yield str(name), str(part.get("reason") or "is not available").rstrip(".")


def workload_of(row: WorkloadRow, cluster: Cluster, *, is_young: bool = False) -> Workload:
    """A row of the list of workloads."""
    phase = phase_of(row.phase, is_young=is_young or is_recent(row.createdAt))
    if row.deletedAt is not None and not phase.is_final:
        phase = WorkloadPhase.CANCELLED
    pods = row.requestedPods.number
    return Workload(
        provider="runai",
        account=cluster.account,
        cluster_id=cluster.cluster_id,
        cluster_name=cluster.name,
        workload_id=row.id or "",
        name=row.name or row.id or "",
        phase=phase,
        provider_state=row.phase,
        command=shown_words(row.command, row.arguments),
        nodes=pods if pods is not None and pods > 0 else 1,
        ranks=_ranks(pods, phase),
        submitted_at=row.createdAt,
        finished_at=row.completedAt or row.deletedAt,
        exit_code=0 if phase is WorkloadPhase.SUCCEEDED else None,
        reason=reason_in(row),
        created_here=False,
    )


def reason_in(row: WorkloadRow) -> str | None:
    """Why it is as it is, in the service's words."""
    told = [m.userMessage or m.reason for m in row.pendingSchedulingMessages] or [row.phaseMessage]
    words = [row.phaseReason, *told] if row.phaseReason and row.phaseReason not in str(told) else told
    return " ".join(word for word in words if word) or _warning(row.phase)


def _warning(word: str | None) -> str | None:
    """Degraded is no end: it may run again as it should."""
    return "Some of its pods are not as they should be." if (word or "").lower() == "degraded" else None


def typed_workload_of(
    told: Distributed, cluster: Cluster, *, name: str | None = None, is_young: bool = False
) -> Workload:
    """A workload as the typed calls tell it."""
    word = told.actualPhase or told.phase
    phase = phase_of(word, is_young=is_young or is_recent(told.createdAt))
    if told.deletedAt is not None and not phase.is_final:
        phase = WorkloadPhase.CANCELLED
    pods = pods_in(told)
    return Workload(
        provider="runai",
        account=cluster.account,
        cluster_id=cluster.cluster_id,
        cluster_name=cluster.name,
        workload_id=told.workload_id or "",
        name=name or told.name or told.requestedName or "",
        phase=phase,
        provider_state=word,
        command=shown_words(_text(told.spec, "command"), _text(told.spec, "args")),
        nodes=pods or 1,
        ranks=_ranks(pods, phase),
        submitted_at=told.createdAt,
        finished_at=told.deletedAt,
        exit_code=0 if phase is WorkloadPhase.SUCCEEDED else None,
        reason=_warning(word),
        created_here=False,
    )


def pods_in(told: Distributed) -> int | None:
    """Pods in all: the workers, and a master where there is one (contract, gotcha 2)."""
    workers = told.spec.get("numWorkers")
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        return None
    return workers + bool(told.masterSpecSameAsWorker or told.masterSpec)


def _text(spec: Mapping[str, Any], name: str) -> str | None:
    value = spec.get(name)
    return value if isinstance(value, str) else None


def _ranks(pods: int | None, phase: WorkloadPhase) -> tuple[RankState, ...]:
    """One rank a pod. How a single pod is, the lists do not tell."""
    if pods is None or not 0 < pods <= _MAX_RANKS:
        return ()
    return tuple(RankState(rank=rank, node_index=rank, phase=phase) for rank in range(pods))


def ranks_of(pods: Iterable[Pod], *, has_master: bool) -> dict[int, Pod]:
    """Rank -> pod: the master is 0, a worker comes by the number at the end of its name; the newest of two wins.

    A pod without a number is left out unless it is the master: a rank is never guessed.
    Source: names as operators give them (``NAME-master-0``, ``NAME-launcher``, ``NAME-worker-3``); inferred.
    """
    ordered = sorted((pod for pod in pods if pod.name), key=lambda pod: str(pod.createdAt or ""))
    found = {rank: pod for pod in ordered if (rank := _rank(pod.name or "", has_master=has_master)) is not None}
    return dict(sorted(found.items()))


def _rank(name: str, *, has_master: bool) -> int | None:
    if re.search(r"-(master|launcher|chief)(-0)?(-[a-z0-9]{5})?$", name):
        return 0
    number = re.search(r"-(\d{1,6})$", name)
    return int(number[1]) + has_master if number else None
