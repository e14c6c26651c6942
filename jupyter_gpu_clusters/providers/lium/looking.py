"""What Lium shows: the account, offers, clusters out of pods."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from ...core.errors import GpuClustersError, NotFoundError
from ...core.models import AccountStatus, Cluster, ClusterPhase, Listing, Lookup, Money, Offer, utc_now
from ...core.provider import ListsOffers, NamesMembers, RemoteIdentity
from ...core.settings import Account
from .access import Access
from .client import Client
from .clusters import cluster_of
from .convert import CURRENCY, cheapest_first, fabric_offer, groups_of, host_offer, phase_of, pod_of, spend_of
from .wire import Pod

_MOST_HOSTS = 200


class Looking(ListsOffers, NamesMembers):
    """The reading half of the adapter."""

    def __init__(self, account: Account) -> None:
        super().__init__(account)
        self._access = Access(account)
        self._members: Mapping[str, tuple[str, ...]] = {}
        self._homes: Mapping[str, str] = {}

    def know_members(self, members: Mapping[str, Sequence[str]]) -> None:
        """Who is in which cluster, as answers to orders named them: a list may lack them, or show them elsewhere."""
        self._members = {cluster_id: tuple(ids) for cluster_id, ids in members.items()}
        self._homes = {pod_id: cluster_id for cluster_id, ids in self._members.items() for pod_id in ids}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._access.aclose()

    # The account

    async def identity(self) -> RemoteIdentity:
        """Origin and key."""
        return await self._access.identity()

    async def check_account(self) -> AccountStatus:
        """Whether pods can be listed; the balance, and for how long it lasts, where the key may read it."""
        try:
            client = (await self._access.connect()).client
            pods = await client.list_pods()
        except GpuClustersError as exc:
            return self._status(False, " ".join(exc.lines()), None)
        balance: Money | None = None
        told = f"{len(groups_of(pods))} clusters"
        try:
            amount = (await client.me()).balance
        except GpuClustersError as exc:
            return self._status(True, f"{told}; the balance could not be read: {' '.join(exc.lines())}", None)
        balance = None if amount is None else Money(amount=amount, currency=CURRENCY)
        spend = Money(amount=spend_of(pods), currency=CURRENCY)
        if balance is not None and spend.amount > 0:
            told += f", {spend} per hour: the balance lasts {max(balance.amount, Decimal(0)) / spend.amount:.1f} h"
        return self._status(True, told, balance)

    def _status(self, is_usable: bool, detail: str, balance: Money | None) -> AccountStatus:
        return AccountStatus(
            account=self.account.name,
            provider=self.name,
            is_usable=is_usable,
            detail=detail,
            credential=self.account.credential,
            balance=balance,
        )

    # Looking

    async def list_offers(self) -> Listing[Offer]:
        """Fabrics with free nodes, then the cheapest single hosts."""
        began = utc_now()
        client = (await self._access.connect()).client
        fabrics, hosts = await asyncio.gather(client.list_fabrics(), client.list_executors())
        name = self.account.name
        singles = [offer for one in cheapest_first(hosts) if (offer := host_offer(one, name)) is not None]
        several = [offer for one in fabrics if (offer := fabric_offer(one, name)) is not None]
        more = len(singles) - _MOST_HOSTS
        return Listing[Offer](
            items=(*several, *singles[:_MOST_HOSTS]),
            observed_at=began,
            is_complete=fabrics.is_whole and hosts.is_whole and more <= 0,
            not_seen=(f"{more} dearer single nodes",) if more > 0 else (),
        )

    async def list_clusters(self) -> Listing[Cluster]:
        """Everything the key sees, grouped by cluster; one list call."""
        began = utc_now()
        client = (await self._access.connect()).client
        pods = await client.list_pods()
        clusters = [self._cluster(cluster_id, members) for cluster_id, members in self._groups(pods).items()]
        return Listing[Cluster](items=tuple(clusters), observed_at=began, is_complete=pods.is_whole)

    async def get_cluster(self, cluster_id: str) -> Lookup[Cluster]:
        """One cluster, fresh; absent where neither a whole list nor any known member's own route shows it."""
        return await self._look_up(cluster_id, ())

    async def _look_up(self, cluster_id: str, named: Sequence[str]) -> Lookup[Cluster]:
        began = utc_now()
        client = (await self._access.connect()).client
        pods = await client.list_pods()
        ids = self._ids(cluster_id, named)
        members = self._groups(pods).get(cluster_id) or await self._shown_alone(client, ids)
        if members:
            return Lookup[Cluster](answer="found", item=self._cluster(cluster_id, members, named), observed_at=began)
        if not pods.is_whole:
            reason = "The list of pods could not be read as a whole."
            return Lookup[Cluster](answer="cannot_tell", reason=reason, observed_at=began)
        return Lookup[Cluster](answer="absent", observed_at=began)

    async def _shown_alone(self, client: Client, ids: Iterable[str]) -> list[Pod]:
        """Those of these pods that their own routes show, though no list does."""
        shown = []
        for one in ids:
            try:
                pod = await client.get_pod(one)
            except NotFoundError:
                continue
            if phase_of(pod) is not ClusterPhase.DELETED:
                shown.append(pod.model_copy(update={"id": one}))
        return shown

    def _ids(self, cluster_id: str, more: Iterable[str] = ()) -> tuple[str, ...]:
        """Ids of all members that are known."""
        single = pod_of(cluster_id)
        return tuple(dict.fromkeys([*self._members.get(cluster_id, ()), *([single] if single else []), *more]))

    def _groups(self, pods: Sequence[Pod]) -> dict[str, list[Pod]]:
        return groups_of(pods, self._homes)

    def _cluster(self, cluster_id: str, pods: Sequence[Pod], named: Sequence[str] = ()) -> Cluster:
        expected = tuple(dict.fromkeys([*self._members.get(cluster_id, ()), *named]))
        return cluster_of(cluster_id, pods, self.account.name, expected)
