"""What E2E shows: the account, offers, clusters."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from ...core.errors import GpuClustersError, NotFoundError
from ...core.models import AccountStatus, Cluster, Listing, Lookup, Offer, utc_now
from ...core.provider import ListsOffers, RemoteIdentity
from ...core.settings import Account
from . import wire
from .access import Access, Connection
from .convert import cluster_of, offers_of, split_id
from .logins import Logins
from .options import LOCATIONS


class Looking(ListsOffers):
    """The reading half of the adapter."""

    def __init__(self, account: Account) -> None:
        super().__init__(account)
        self._access = Access(account)
        self._logins = Logins()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._access.aclose()

    # The account

    async def identity(self) -> RemoteIdentity:
        """Origin, project and credential."""
        return await self._access.identity()

    async def check_account(self) -> AccountStatus:
        """Whether clusters of the account's own location can be listed with both halves of the credential."""
        try:
            connection = await self._access.connect()
            clusters = await connection.client.list_clusters(connection.options.location)
        except GpuClustersError as exc:
            return self._status(False, " ".join(exc.lines()))
        where = f"project {connection.client.project_id}, {len(clusters)} clusters in {connection.options.location}"
        return self._status(True, where)

    def _status(self, is_usable: bool, detail: str) -> AccountStatus:
        return AccountStatus(
            account=self.account.name,
            provider=self.name,
            is_usable=is_usable,
            detail=detail,
            credential=self.account.credential,
        )

    # Looking

    async def list_offers(self) -> Listing[Offer]:
        """Every price of every node type in all locations."""
        began = utc_now()
        connection = await self._access.connect()
        client, variant = connection.client, connection.options.variant
        places = connection.options.locations
        pages, failed = await _each(places, lambda place: client.list_plans(place, variant))
        offers = [one for place, page in pages.items() for one in offers_of(page, place, self.account.name)]
        is_whole = not failed and all(page.is_whole for page in pages.values())
        return Listing[Offer](items=tuple(offers), observed_at=began, is_complete=is_whole, not_seen=failed)

    async def list_clusters(self) -> Listing[Cluster]:
        """The project's clusters in all of the account's locations, whoever created them.

        What cannot be read, and a location that the account does not list, makes the listing incomplete.
        """
        began = utc_now()
        connection = await self._access.connect()
        places = connection.options.locations
        pages, failed = await _each(places, connection.client.list_clusters)
        left_out = tuple(f"location {place}" for place in LOCATIONS if place not in places)
        clusters = [self._cluster(row, place, connection) for place, page in pages.items() for row in page]
        is_whole = not failed and not left_out and all(page.is_whole for page in pages.values())
        for cluster_id in self._logins.due(clusters):
            await self._read_login(connection, cluster_id)
        return Listing[Cluster](
            items=tuple(self._logins.put_into(cluster) for cluster in clusters),
            observed_at=began,
            is_complete=is_whole,
            not_seen=(*failed, *left_out),
        )

    async def _read_login(self, connection: Connection, cluster_id: str) -> None:
        location, number = split_id(cluster_id)
        try:
            row = await connection.client.get_cluster(location, number)
        except GpuClustersError:
            self._logins.keep(cluster_id)
        else:
            self._shown(row, location, connection)

    async def get_cluster(self, cluster_id: str) -> Lookup[Cluster]:
        """One cluster in full; absent only where its own route and a whole listing both lack it."""
        began = utc_now()
        location, number = split_id(cluster_id)
        if location not in LOCATIONS:
            return Lookup[Cluster](answer="absent", observed_at=began)
        connection = await self._access.connect()
        try:
            row = await connection.client.get_cluster(location, number)
        except NotFoundError as exc:
            is_listed = await self._is_listed(connection, location, number)
            if is_listed is False:
                return Lookup[Cluster](answer="absent", observed_at=began)
            return Lookup[Cluster](answer="cannot_tell", reason=exc.message, observed_at=began)
        if row.id != int(number):
            reason = f"E2E answered with {'no cluster' if row.id is None else f'cluster {row.id}'}."
            return Lookup[Cluster](answer="cannot_tell", reason=reason, observed_at=began)
        found = self._shown(row, location, connection)
        return Lookup[Cluster](answer="found", item=found, observed_at=began)

    async def _is_listed(self, connection: Connection, location: str, number: str) -> bool | None:
        """Whether a whole listing has it; ``None`` where the listing is not whole."""
        page = await connection.client.list_clusters(location)
        if any(str(row.id) == number for row in page):
            return True
        return False if page.is_whole else None

    def _shown(self, row: wire.Cluster, location: str, connection: Connection) -> Cluster:
        """A cluster in full, whose address is remembered for the listings."""
        cluster = self._cluster(row, location, connection)
        self._logins.remember(cluster.cluster_id, cluster.login_address)
        return cluster

    def _cluster(self, row: wire.Cluster, location: str, connection: Connection) -> Cluster:
        return cluster_of(row, location, self.account.name, connection.options)


async def _each(places: Sequence[str], read: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What each place answers, and the places that could not be read; raises where none could."""
    answers = await asyncio.gather(*(read(place) for place in places), return_exceptions=True)
    found = {place: one for place, one in zip(places, answers, strict=True) if not isinstance(one, BaseException)}
    errors = [one for one in answers if isinstance(one, BaseException)]
    unexpected = next((one for one in errors if not isinstance(one, GpuClustersError)), None)
    if unexpected is not None:
        raise unexpected
    if errors and not found:
        raise errors[0]
    return found, tuple(f"location {place}" for place in places if place not in found)
