"""One look at a provider: open orders resolved, everything listed, all of it recorded."""

from __future__ import annotations

import contextlib
import logging
from functools import partial

from anyio import to_thread

from . import wishes
from .errors import GpuClustersError, ProviderError
from .journal import Journal
from .models import Cluster, ClusterPhase, Failure, Listing, Lookup, Order, Verb, Workload
from .orders import Orders
from .provider import CreatesClusters, NamesMembers, Provider, RunsWorkloads

_log = logging.getLogger(__name__)


def failure_of(exc: GpuClustersError) -> Failure:
    """An error as data."""
    return Failure(message=exc.message, hint=exc.hint, code=exc.code)


async def look(
    provider: Provider, journal: Journal, orders: Orders, *, epoch: int | None = None, fulfils: bool = False
) -> None:
    """Read everything one identity has and record it.

    Parameters
    ----------
    epoch : the result is recorded only while that lease is held; wishes to delete are then sent again.
    fulfils : wishes to delete are sent again also without a lease.

    Raises
    ------
    GpuClustersError : the provider could not be read; nothing that was known is dropped.
    LeaseLostError : another process polls this identity now.
    """
    identity = (await provider.identity()).key
    await to_thread.run_sync(journal.restore_orders)
    await acquaint(provider, journal)
    await _see_to_orders(provider, journal, orders, identity)
    since = await to_thread.run_sync(journal.tick)
    clusters, workloads = await _list_all(provider)
    record = partial(journal.record_look, identity, clusters, workloads, since=since, epoch=epoch)
    for cluster in await to_thread.run_sync(record):
        await _see_to_vanished(provider, journal, orders, identity, cluster)
    await wishes.see_to_moved(journal, orders, identity, clusters, workloads)
    await wishes.see_to_late(journal, orders, identity, clusters, workloads)
    await wishes.see_to_stragglers(journal, orders, identity, clusters)
    await wishes.see_to_ends(journal, orders, identity)
    if epoch is not None or fulfils:
        await _fulfil(provider, journal, orders, identity)


async def acquaint(provider: Provider, journal: Journal) -> None:
    """Tell the provider which nodes the answers to our orders named."""
    if isinstance(provider, NamesMembers):
        identity = (await provider.identity()).key
        provider.know_members(await to_thread.run_sync(journal.members, identity))


async def _see_to_orders(provider: Provider, journal: Journal, orders: Orders, identity: str) -> None:
    for order in await to_thread.run_sync(partial(_to_look_for, journal, provider.name, identity)):
        await orders.resolve(provider, order)


def _to_look_for(journal: Journal, provider: str, identity: str) -> list[Order]:
    """Open orders of this identity, and of others about things that this one shows."""
    found = []
    for order in journal.open_orders():
        if order.verb is Verb.DELETE or order.provider != provider:
            continue
        target = order.target_id if order.verb not in (Verb.CREATE, Verb.SUBMIT) else None
        shows = target is not None and (journal.cluster(identity, target) or journal.workload(identity, target))
        if order.identity_key == identity or shows:
            found.append(order)
    return found


async def _see_to_vanished(
    provider: Provider, journal: Journal, orders: Orders, identity: str, cluster: Cluster
) -> None:
    """Two complete listings lack it; what costs is gone only if its own route says so as well."""
    if cluster.is_free:
        await orders.fulfil_deletes(identity, cluster.cluster_id)
        await forget(journal, orders, identity, cluster, "It is no longer there.")
        return
    answer = await _own_answer(provider, cluster)
    if answer.item is not None:
        await to_thread.run_sync(journal.put_cluster, identity, answer.item)
    elif answer.answer == "absent" and await orders.fulfil_deletes(identity, cluster.cluster_id):
        await forget(journal, orders, identity, cluster, "Deleted.")
    elif await to_thread.run_sync(journal.mark_vanished, identity, cluster) and answer.answer == "absent":
        await forget(journal, orders, identity, cluster, "It vanished a day ago without a delete from here.")


async def _own_answer(provider: Provider, cluster: Cluster) -> Lookup[Cluster]:
    try:
        return await provider.get_cluster(cluster.cluster_id)
    except GpuClustersError as exc:
        return Lookup[Cluster](answer="cannot_tell", reason=exc.message)


async def _fulfil(provider: Provider, journal: Journal, orders: Orders, identity: str) -> None:
    for order in await to_thread.run_sync(journal.open_orders, identity):
        if order.verb is Verb.DELETE and orders.is_retry_due(order):
            await resume_delete(provider, journal, orders, order)


async def resume_delete(provider: Provider, journal: Journal, orders: Orders, order: Order) -> None:
    """Send a wish to delete again (deletes are repeatable) until the provider proves that nothing is left."""
    if not isinstance(provider, CreatesClusters) or order.target_id is None:
        return
    cluster = await to_thread.run_sync(journal.cluster, order.identity_key, order.target_id)
    if cluster is None:
        return
    with contextlib.suppress(GpuClustersError):
        await orders.send(order, partial(send_delete, provider, journal, orders, cluster, order))


async def send_delete(
    provider: CreatesClusters, journal: Journal, orders: Orders, cluster: Cluster, order: Order
) -> Lookup[Cluster]:
    """Send a delete and record what it showed, as one piece that no interrupt can part."""
    await acquaint(provider, journal)
    answer = await provider.delete_cluster(cluster, order)
    if answer.answer == "absent":
        await forget(journal, orders, order.identity_key, cluster, "Deleted.")
        return answer
    changes = {"phase": ClusterPhase.DELETING, "reason": answer.reason}
    names = {"name": cluster.name, "order_id": cluster.order_id, "created_here": cluster.created_here}
    deleting = (answer.item or cluster).model_copy(update={**changes, **names})
    await to_thread.run_sync(journal.put_cluster, order.identity_key, deleting)
    return answer.model_copy(update={"item": deleting})


async def forget(journal: Journal, orders: Orders, identity: str, cluster: Cluster, detail: str) -> None:
    """A cluster is proven gone: record it and free its name."""
    await to_thread.run_sync(journal.drop_cluster, identity, cluster, detail)
    order = await to_thread.run_sync(journal.order, cluster.order_id or "")
    if order is not None:
        await orders.free(order)


async def _list_all(provider: Provider) -> tuple[Listing[Cluster], Listing[Workload]]:
    """Both listings; a fault of the adapter itself is this account's failure and hides no other account."""
    try:
        clusters = await provider.list_clusters()
        return clusters, await _list_workloads(provider, clusters)
    except GpuClustersError:
        raise
    except Exception as exc:
        _log.exception("the provider %s failed to list", provider.name)
        raise ProviderError(
            f"The adapter of {provider.title} failed ({type(exc).__name__}).",
            hint="This is a fault of the adapter, not yours; the log has its stack.",
            provider=provider.name,
        ) from exc


async def _list_workloads(provider: Provider, clusters: Listing[Cluster]) -> Listing[Workload]:
    usable = [c for c in clusters.items if c.phase not in (ClusterPhase.DELETING, ClusterPhase.DELETED)]
    if not isinstance(provider, RunsWorkloads):
        return Listing[Workload](items=())
    return await provider.list_workloads(usable)
