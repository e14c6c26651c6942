"""Offers of whole fabrics, and the removal of a cluster with one row for every member."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..service import Answer, Call, Refused, Route
from .inventory import Fabric
from .keys import Key
from .pod import STARTING, Pod
from .state import State


class Clusters:
    """The routes that know clusters as such."""

    def __init__(self, state: State) -> None:
        self.state = state

    def routes(self) -> Sequence[Route]:
        """Offers and deletion; there is no listing of clusters, pods are grouped by their cluster id."""
        return [
            Route("GET", "/executors/infiniband-clusters", self.offers),
            Route("DELETE", "/clusters/{cluster_id}", self.delete, "delete"),
        ]

    def offers(self, call: Call) -> Answer:
        """GET /executors/infiniband-clusters."""
        return Answer.json([self._offer(fabric) for fabric in self.state.inventory.fabrics])

    def _offer(self, fabric: Fabric) -> dict[str, Any]:
        free = [node for node in fabric.members if self.state.free_gpus(node) == node.gpu_count]
        row: dict[str, Any] = {
            "fabric_id": fabric.id,
            "node_count": len(fabric.members),
            "link_rate": fabric.link_rate,
            "nodes": [node.json(node.gpu_count) for node in free],
        }
        if fabric.type is not None:
            row["fabric_type"] = fabric.type
        if fabric.measured is not None:
            row["fabric_measured"] = fabric.measured
        return row

    def delete(self, call: Call) -> Answer:
        """DELETE /clusters/{cluster_id}: everybody is checked before the first member is touched."""
        cluster_id, key, now = call.params["cluster_id"], self.state.known_key(call), self.state.now()
        members = [pod for pod in self.state.pods.values() if pod.cluster_id == cluster_id and pod.is_listed(now)]
        if not members:
            raise Refused(404, "Cluster not found", code="not_found")
        _check_rights(members, key)
        pending = [pod.id for pod in members if pod.state(now) in STARTING]
        if pending:
            raise Refused(
                409,
                "A member is still being created; try later",
                code="conflict",
                details={"cluster_id": cluster_id, "pending_pods": pending},
            )
        self.state.note(call, "delete_cluster", cluster_id)
        rows = [self._remove(call, pod, now) for pod in sorted(members, key=lambda pod: pod.index or 0)]
        failed = sum(not row["success"] for row in rows)
        text = (
            f"{failed} of {len(rows)} members could not be removed" if failed else "Deletion of all members has begun"
        )
        return Answer.json({"cluster_id": cluster_id, "success": not failed, "message": text, "pods": rows})

    def _remove(self, call: Call, pod: Pod, now: float) -> dict[str, Any]:
        row = {"pod_id": pod.id, "pod_name": pod.name, "cluster_node_index": pod.index}
        if self.state.undeletable.get(pod.id, 0) > 0:
            self.state.undeletable[pod.id] -= 1
            return {**row, "success": False, "message": "could not be removed; try again"}
        if pod.state(now) == "DELETING":
            return {**row, "success": True, "message": "deletion is running"}
        pod.remove(now, "user_initiated")
        self.state.event(pod, "pod-delete", "requested")
        call.ended.append(pod.id)
        return {**row, "success": True, "message": "deletion has begun"}


def _check_rights(members: Sequence[Pod], key: Key) -> None:
    if any(pod.key.account is not key.account for pod in members):
        raise Refused(403, "A member belongs to another account", code="foreign_member")
    if any(pod.key is not key for pod in members) or "rent" not in key.scopes:
        key.need("manage")
