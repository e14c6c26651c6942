"""Ending clusters: every member is told to go, and gone is what whole lists no longer show."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ...core.errors import ConflictError, NotFoundError, ProviderError
from ...core.models import Cluster, ClusterPhase, Lookup, Order
from .client import Client
from .convert import cluster_id_of, pod_of
from .looking import Looking
from .wire import Pod

_SECOND_LOOK_S = 1.0


class Removing(Looking):
    """The removing part of the adapter."""

    async def delete_cluster(self, cluster: Cluster, order: Order) -> Lookup[Cluster]:
        """End every member. Gone is what two whole lists no longer show."""
        client = (await self._access.connect()).client
        told = await self._send_deletes(client, cluster)
        for _ in range(2):
            left = await self._left(client, cluster)
            if left is None or left:
                return self._unconfirmed(cluster, left, told)
            await asyncio.sleep(_SECOND_LOOK_S)
        self._members.pop(cluster.cluster_id, None)
        return Lookup[Cluster](answer="absent")

    async def _send_deletes(self, client: Client, cluster: Cluster) -> list[str]:
        """What members answered that were not removed.

        A 404 of the cluster's route may mean that there is no such route; a 409 that a member is still being created.
        """
        pod_id = pod_of(cluster.cluster_id)
        if pod_id is None:
            try:
                answer = await client.delete_cluster(cluster.cluster_id)
            except NotFoundError:
                pass
            except ConflictError as exc:
                return [f"{exc.message} It is tried again."]
            else:
                failed = [row for row in answer.pods if row.success is False]
                told = [f"node {row.cluster_node_index}: {row.message or 'not removed'}" for row in failed]
                return told if answer.pods else ["The answer names no members."]
        failures = []
        known = [node.node_id for node in cluster.nodes] or ([pod_id] if pod_id else [])
        for one in dict.fromkeys([*known, *self._members.get(cluster.cluster_id, ())]):
            try:
                await client.delete_pod(one)
            except NotFoundError:
                continue
            except ProviderError as exc:
                failures.append(f"{one}: {exc.message}")
        return failures

    async def _left(self, client: Client, cluster: Cluster) -> list[Pod] | None:
        """Members that are still listed; ``None`` where the list is not whole."""
        pods = await client.list_pods()
        ids = {node.node_id for node in cluster.nodes} | set(self._members.get(cluster.cluster_id, ()))
        left = [pod for pod in pods if pod.id in ids or cluster_id_of(pod) == cluster.cluster_id]
        return left if pods.is_whole or left else None

    def _unconfirmed(self, cluster: Cluster, left: Sequence[Pod] | None, told: Sequence[str]) -> Lookup[Cluster]:
        if left is None:
            reason = "The list of pods could not be read as a whole, so that it is gone is not proven."
            return Lookup[Cluster](answer="cannot_tell", item=cluster, reason=reason)
        words = ", ".join(sorted({pod.status or "?" for pod in left}))
        reason = " ".join([f"{len(left)} nodes are still listed ({words}).", *told])
        names = {"name": cluster.name, "order_id": cluster.order_id, "created_here": cluster.created_here}
        item = self._cluster(cluster.cluster_id, left).model_copy(update={**names, "phase": ClusterPhase.DELETING})
        return Lookup[Cluster](answer="cannot_tell", item=item, reason=reason)
