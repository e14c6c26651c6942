"""Full names of things: ``account/cluster/workload``; any unambiguous tail will do, and ids too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from .errors import NameTakenError, NotFoundError
from .models import Cluster, State, Workload
from .nearest import did_you_mean

C = TypeVar("C", Cluster, Workload)


def match_clusters(state: State, ref: str) -> list[Cluster]:
    """All clusters that `ref` may mean."""
    return [c for c in state.clusters if ref == c.cluster_id or _is_tail(ref, (c.account, c.name))]


def match_workloads(state: State, ref: str) -> list[Workload]:
    """All workloads that `ref` may mean; of several runs of one name, a live one, else the newest."""
    found = [w for w in state.workloads if ref == w.workload_id or _is_tail(ref, (w.account, w.cluster_name, w.name))]
    runs: dict[tuple[str, str, str], Workload] = {}
    for workload in found:
        key = (workload.account, workload.cluster_id, workload.name)
        known = runs.get(key)
        if known is None or (known.phase.is_final and not workload.phase.is_final):
            runs[key] = workload
    return list(runs.values())


def only_one(found: Sequence[C], ref: str, kind: str, known: Iterable[str]) -> C:
    """The single match.

    Raises
    ------
    NotFoundError : there is none; the nearest name is offered.
    NameTakenError : there are several; their full names are given.
    """
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(sorted({item.full_name for item in found}))
        raise NameTakenError(f"{ref!r} may mean several {kind}s: {names}.", hint="Write the longer name.")
    tails = {tail for name in known for tail in (name, name.rpartition("/")[2])}
    raise NotFoundError(
        f"There is no {kind} {ref!r}.{did_you_mean(ref, tails)}", hint=f"%{kind}_list shows what there is."
    )


def _is_tail(ref: str, parts: tuple[str, ...]) -> bool:
    wanted = tuple(ref.split("/"))
    return wanted == parts[-len(wanted) :]
