"""Ending clusters: every member is told to go, and gone is what nothing shows any more."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from ...core.errors import AuthError, ConflictError, GpuClustersError, NotFoundError, RateLimitedError
from ...core.models import Cluster, ClusterPhase, Lookup, Order
from .client import Client
from .convert import cluster_id_of, pod_of
from .looking import Looking
from .wire import Pod

_LOOKS = 2
_LOOK_EVERY_S = 1.0


class Removing(Looking):
    """The removing part of the adapter. Who has to go is what the order's answer named, and what the lists show."""

    async def delete_cluster(self, cluster: Cluster, order: Order) -> Lookup[Cluster]:
        """End every member. Gone is what took no exception, what two whole lists lack, and no member's own route shows.

        A list that cannot be read after the deletes were sent leaves the wish as it is.
        """
        client = (await self._access.connect()).client
        ids = self._ids(cluster.cluster_id, [*cluster.member_ids, *(node.node_id for node in cluster.nodes)])
        told = await self._send_deletes(client, cluster.cluster_id, ids)
        try:
            left = await self._left(client, cluster.cluster_id, ids)
        except GpuClustersError as exc:
            reason = f"Whether it is gone could not be looked up: {exc.message}"
            return Lookup[Cluster](answer="cannot_tell", item=cluster, reason=" ".join([reason, *told]))
        if left is None:
            reason = "The list of pods could not be read as a whole, so that it is gone is not proven."
            return Lookup[Cluster](answer="cannot_tell", item=cluster, reason=" ".join([reason, *told]))
        if not left and told:
            reason = "No list shows it, but not every node was told to go:"
            return Lookup[Cluster](answer="cannot_tell", item=cluster, reason=" ".join([reason, *told]))
        return self._going(cluster, left, told) if left else Lookup[Cluster](answer="absent")

    async def _send_deletes(self, client: Client, cluster_id: str, ids: Sequence[str]) -> list[str]:
        """What was answered for members that are not being removed.

        A 404 of the cluster's route may mean that there is no such route; a 409 that a member is still being created,
        and then none is removed. Members that its answer does not name are deleted one by one.

        Raises
        ------
        AuthError : the key may end none of them.
        """
        if pod_of(cluster_id) is not None:
            return await self._delete_pods(client, ids)
        try:
            answer = await client.delete_cluster(cluster_id)
        except NotFoundError:
            return await self._delete_pods(client, ids)
        except (ConflictError, RateLimitedError) as exc:
            return [f"{exc.message} It is tried again."]
        failed = [row for row in answer.pods if row.success is not True]
        told = [f"node {row.cluster_node_index}: {row.message or 'not removed'}" for row in failed]
        told += [] if answer.pods else ["The answer names no members."]
        named = {row.pod_id for row in answer.pods}
        return told + _words(await self._each(client, [one for one in ids if one not in named]))

    async def _delete_pods(self, client: Client, ids: Sequence[str]) -> list[str]:
        failures = await self._each(client, ids)
        refused = [exc for exc in failures.values() if isinstance(exc, AuthError)]
        if refused and len(refused) == len(ids):
            raise refused[0]
        return _words(failures)

    async def _each(self, client: Client, ids: Sequence[str]) -> dict[str, GpuClustersError]:
        """Delete these one by one, all of them tried; what failed. What is not there is no failure, and no proof."""
        failures: dict[str, GpuClustersError] = {}
        for one in ids:
            try:
                await client.delete_pod(one)
            except NotFoundError:
                continue
            except GpuClustersError as exc:
                failures[one] = exc
        return failures

    async def _left(self, client: Client, cluster_id: str, ids: Sequence[str]) -> list[Pod] | None:
        """Members that still show, in one of two lists or by their own routes; ``None`` where a list is not whole."""
        for look in range(_LOOKS):
            if look:
                await asyncio.sleep(_LOOK_EVERY_S)
            pods = await client.list_pods()
            left = [pod for pod in pods if pod.id in ids or cluster_id_of(pod) == cluster_id]
            if left or not pods.is_whole:
                return left or None
        return await self._shown_alone(client, ids)

    def _going(self, cluster: Cluster, left: Sequence[Pod], told: Sequence[str]) -> Lookup[Cluster]:
        words = ", ".join(sorted({pod.status or "?" for pod in left}))
        reason = " ".join([f"{len(left)} nodes are still there ({words}).", *told])
        names = {"name": cluster.name, "order_id": cluster.order_id, "created_here": cluster.created_here}
        item = self._cluster(cluster.cluster_id, left, cluster.member_ids)
        item = item.model_copy(update={**names, "phase": ClusterPhase.DELETING})
        return Lookup[Cluster](answer="cannot_tell", item=item, reason=reason)


def _words(failures: Mapping[str, GpuClustersError]) -> list[str]:
    return [f"{one}: {exc.message}" for one, exc in failures.items()]
