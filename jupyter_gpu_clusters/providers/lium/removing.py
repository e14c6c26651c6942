"""Ending clusters: every member is told to go, and gone is what whole lists no longer show."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ...core.errors import AuthError, ConflictError, GpuClustersError, NotFoundError, RateLimitedError
from ...core.models import Cluster, ClusterPhase, Lookup, Order
from .client import Client
from .convert import cluster_id_of, pod_of
from .looking import Looking
from .wire import Pod

_LOOKS = 2
_LOOK_EVERY_S = 1.0


class Removing(Looking):
    """The removing part of the adapter."""

    async def delete_cluster(self, cluster: Cluster, order: Order) -> Lookup[Cluster]:
        """End every member. Gone is what two whole lists no longer show.

        A list that cannot be read after the deletes were sent leaves the wish as it is.
        """
        client = (await self._access.connect()).client
        told = await self._send_deletes(client, cluster)
        for look in range(_LOOKS):
            if look:
                await asyncio.sleep(_LOOK_EVERY_S)
            try:
                left = await self._left(client, cluster)
            except GpuClustersError as exc:
                reason = " ".join([f"Whether it is gone could not be looked up: {exc.message}", *told])
                return Lookup[Cluster](answer="cannot_tell", item=cluster, reason=reason)
            if left is None or left:
                return self._unconfirmed(cluster, left, told)
        self._members.pop(cluster.cluster_id, None)
        return Lookup[Cluster](answer="absent")

    async def _send_deletes(self, client: Client, cluster: Cluster) -> list[str]:
        """What members answered that were not removed.

        A 404 of the cluster's route may mean that there is no such route; a 409 that a member is still being created.
        """
        if pod_of(cluster.cluster_id) is not None:
            return await self._delete_pods(client, cluster)
        try:
            answer = await client.delete_cluster(cluster.cluster_id)
        except NotFoundError:
            return await self._delete_pods(client, cluster)
        except (ConflictError, RateLimitedError) as exc:
            return [f"{exc.message} It is tried again."]
        failed = [row for row in answer.pods if row.success is not True]
        told = [f"node {row.cluster_node_index}: {row.message or 'not removed'}" for row in failed]
        return told if answer.pods else ["The answer names no members."]

    async def _delete_pods(self, client: Client, cluster: Cluster) -> list[str]:
        """One by one, all of them tried.

        Raises
        ------
        AuthError : the key may end none of them.
        """
        failures: dict[str, GpuClustersError] = {}
        single = pod_of(cluster.cluster_id)
        known = [node.node_id for node in cluster.nodes] or ([single] if single else [])
        wanted = list(dict.fromkeys([*known, *self._members.get(cluster.cluster_id, ())]))
        for one in wanted:
            try:
                await client.delete_pod(one)
            except NotFoundError:
                continue
            except GpuClustersError as exc:
                failures[one] = exc
        refused = [exc for exc in failures.values() if isinstance(exc, AuthError)]
        if refused and len(refused) == len(wanted):
            raise refused[0]
        return [f"{one}: {exc.message}" for one, exc in failures.items()]

    async def _left(self, client: Client, cluster: Cluster) -> list[Pod] | None:
        """Members that are still listed; ``None`` where the list is not whole."""
        pods = await client.list_pods()
        ids = {node.node_id for node in cluster.nodes} | set(self._members.get(cluster.cluster_id, ()))
        left = [pod for pod in pods if pod.id in ids or cluster_id_of(pod) == cluster.cluster_id]
        return left if pods.is_whole or left else None

    def _unconfirmed(self, cluster: Cluster, left: Sequence[Pod] | None, told: Sequence[str]) -> Lookup[Cluster]:
        if left is None:
            reason = "The list of pods could not be read as a whole, so that it is gone is not proven."
            return Lookup[Cluster](answer="cannot_tell", item=cluster, reason=" ".join([reason, *told]))
        words = ", ".join(sorted({pod.status or "?" for pod in left}))
        reason = " ".join([f"{len(left)} nodes are still listed ({words}).", *told])
        names = {"name": cluster.name, "order_id": cluster.order_id, "created_here": cluster.created_here}
        item = self._cluster(cluster.cluster_id, left).model_copy(update={**names, "phase": ClusterPhase.DELETING})
        return Lookup[Cluster](answer="cannot_tell", item=item, reason=reason)
