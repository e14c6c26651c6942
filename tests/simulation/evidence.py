"""What each journal's processes were told, so that a lie of the far side is not held against them.

To be gone is to be lacking in complete listings for long enough while its own route knows nothing of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

GRACE_S = 5.0
"""Between two complete listings that together prove that something which was to be deleted is gone."""

DAY_S = 86_400.0
"""For so long complete listings must lack what nobody wished away."""

_TOLERANCE_S = 0.001


@dataclass
class _Absence:
    """The unbroken run of complete listings without a cluster: when the first and the last of them were asked for."""

    first: float
    last: float


@dataclass
class Evidence:
    """Journal and cluster id -> how long complete listings have lacked it, in true time."""

    known: dict[str, set[str]] = field(default_factory=dict)
    _not_found: set[tuple[str, str]] = field(default_factory=set)
    _runs: dict[tuple[str, str], _Absence] = field(default_factory=dict)
    _longest: dict[tuple[str, str], float] = field(default_factory=dict)

    def listed(self, journal: str, began: float, ids: set[str], is_complete: bool) -> None:
        """A listing that was asked for at `began` was delivered."""
        for cluster_id in ids:
            self.shown(journal, cluster_id)
        if not is_complete:
            return
        for cluster_id in self.known.get(journal, set()) - ids:
            run = self._runs.setdefault((journal, cluster_id), _Absence(began, began))
            run.first, run.last = min(run.first, began), max(run.last, began)
            key = (journal, cluster_id)
            if key in self._not_found:
                self._longest[key] = max(self._longest.get(key, 0.0), run.last - run.first)

    def shown(self, journal: str, cluster_id: str) -> None:
        """An answer showed it."""
        self.known.setdefault(journal, set()).add(cluster_id)
        self._runs.pop((journal, cluster_id), None)
        self._not_found.discard((journal, cluster_id))

    def not_found(self, journal: str, cluster_id: str) -> None:
        """Its own route answered that there is no such cluster."""
        self._not_found.add((journal, cluster_id))

    def is_told_gone(self, journal: str, cluster_id: str, *, is_wished: bool) -> bool:
        """Whether answers ever lacked it for long enough to call it gone."""
        needed = GRACE_S if is_wished else DAY_S
        return self._longest.get((journal, cluster_id), 0.0) >= needed - _TOLERANCE_S
