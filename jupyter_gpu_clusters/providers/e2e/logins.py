"""Where the running clusters can be logged in: the listing does not tell, so a few are read in full each round."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ...core.models import Cluster, ClusterPhase

_READ_A_ROUND = 5
_FRESH_S = 300.0


class Logins:
    """Addresses by cluster id. One that is there is read again after a while, one that is missing every round."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, str | None]] = {}

    def remember(self, cluster_id: str, login: str | None) -> None:
        """What a cluster in full says."""
        self._known[cluster_id] = (time.monotonic(), login)

    def keep(self, cluster_id: str) -> None:
        """A cluster could not be read: others come first in the next round."""
        self.remember(cluster_id, self._known.get(cluster_id, (0.0, None))[1])

    def due(self, clusters: Sequence[Cluster]) -> list[str]:
        """Ids of those to be read now, the longest unread first; what is not listed is forgotten."""
        there = {cluster.cluster_id for cluster in clusters}
        self._known = {known: value for known, value in self._known.items() if known in there}
        now = time.monotonic()
        running = [one.cluster_id for one in clusters if one.phase is ClusterPhase.RUNNING]
        unread = (0.0, None)
        ages = {one: self._known.get(one, unread) for one in running}
        wanted = [one for one, (read_at, login) in ages.items() if login is None or now - read_at > _FRESH_S]
        return sorted(wanted, key=lambda one: ages[one][0])[:_READ_A_ROUND]

    def put_into(self, cluster: Cluster) -> Cluster:
        """The cluster with its address as last told."""
        _, login = self._known.get(cluster.cluster_id, (0.0, None))
        return cluster.model_copy(update={"login_address": login})
