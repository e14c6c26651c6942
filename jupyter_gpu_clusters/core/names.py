"""Full names of things: ``account/cluster/workload``; any unambiguous tail will do, and ids too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

from .errors import NameTakenError, NotFoundError, Problem
from .models import Cluster, State, Workload
from .nearest import did_you_mean

C = TypeVar("C", Cluster, Workload)

MARK_LENGTH = 10
"""Characters of a mark: 4 of the journal, 6 of the order; lower-case letters and digits."""

_MARK = re.compile(r"[0-9a-f]{4}[a-z2-7]{6}")


def mark_of(journal_id: str, order_id: str) -> str:
    """What tells one order of one journal from all others, short enough to be part of a name."""
    return f"{journal_id[:4]}{order_id[:6]}"


def marked_name(name: str, mark: str) -> str:
    """The name with its mark, as the far side is told: ``demo-1f0ak3j2hq``."""
    return f"{name}-{mark}"


def windows(name: str) -> list[str]:
    """Everything in a name that is as long as a mark: a service may have put more before or behind it."""
    return [name[at : at + MARK_LENGTH].lower() for at in range(len(name) - MARK_LENGTH + 1)]


def base_name(name: str) -> str:
    """The name as somebody asked for it, if it looks like a marked one; else the name itself."""
    base, dash, mark = name.rpartition("-")
    is_marked = bool(base and dash) and len(mark) == MARK_LENGTH and _MARK.fullmatch(mark) is not None
    return base if is_marked else name


def name_problems(name: str) -> list[Problem]:
    """What would break the full names of things, whatever a provider allows."""
    if "/" not in name and name.isprintable() and name == name.strip():
        return []
    return [Problem("name", f"{name!r} must be without '/', line breaks, and blanks at its ends.")]


def longest_name(limit: int) -> int:
    """How many characters a name may have where the marked one may have `limit`."""
    return limit - MARK_LENGTH - 1


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
