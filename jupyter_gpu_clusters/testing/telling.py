"""What a provider can tell: offers, choices, tables, public keys."""

from __future__ import annotations

import os
from typing import Any

from jupyter_gpu_clusters.core.errors import GpuClustersError, SettingsError
from jupyter_gpu_clusters.core.models import Details
from jupyter_gpu_clusters.core.provider import (
    CreatesClusters,
    KeepsSshKeys,
    ListsOffers,
    LooksUp,
    RunsWorkloads,
    ShowsDetails,
)
from jupyter_gpu_clusters.core.specs import build_spec

from .base import ContractBase
from .world import World

_MOST_ROWS = 1000
_PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBqR8Xn0Qq3u6v9m3p1kZ5c7y2w4t6r8e0u2i4o6p8a0 contract@suite"
_NONSENSE: tuple[Any, ...] = (None, 7, "no such", [None], {"x": [1]})


class TellingContract(ContractBase):
    """`ListsOffers`, `LooksUp`, `ShowsDetails`, `KeepsSshKeys`."""

    async def test_offers_have_a_price_or_say_that_it_is_unknown(self, world: World) -> None:
        listing = await world.able(ListsOffers, "offers").list_offers()
        assert listing.items
        assert len({offer.offer_id for offer in listing.items}) == len(listing.items)
        for offer in listing.items:
            assert (offer.account, offer.provider) == (world.account, world.far_side.provider)
            price = offer.price_per_node_hour
            assert price is None or offer.is_free or price.amount > 0, offer
            assert offer.term_price is None or offer.commitment_days, offer

    async def test_what_an_offer_fills_in_fits_the_spec(self, world: World) -> None:
        listing = await world.able(ListsOffers, "offers").list_offers()
        provider = world.able(CreatesClusters, "create")
        known = set(provider.spec_model.model_fields)
        for offer in listing.items:
            assert set(offer.spec) <= known, offer.offer_id
            data = {**world.far_side.spec(), **offer.spec} if offer.spec else world.far_side.spec()
            build_spec(provider.spec_model, data)

    async def test_every_look_up_answers_once_what_it_needs_is_filled_in(self, world: World) -> None:
        provider = world.able(LooksUp, "choices")
        assert provider.look_ups
        for name, look_up in provider.look_ups.items():
            assert look_up.title
            listing = await provider.list_choices(name, world.far_side.choices_given())
            assert len(listing.items) <= _MOST_ROWS, name
            assert all(choice.label for choice in listing.items), name
            assert len({choice.value for choice in listing.items}) == len(listing.items), name

    async def test_a_look_up_says_what_it_needs(self, world: World) -> None:
        provider = world.able(LooksUp, "choices")
        for name, look_up in provider.look_ups.items():
            if not look_up.needs:
                listing = await provider.list_choices(name, {})
                assert listing.is_complete or listing.not_seen, name
                continue
            failure = await world.fails(SettingsError, provider.list_choices(name, {}))
            assert any(path.rpartition(".")[2] in str(failure) for path in look_up.needs), f"{name}: {failure}"

    async def test_nonsense_in_the_form_breaks_no_look_up(self, world: World) -> None:
        provider = world.able(LooksUp, "choices")
        fields = {path for look_up in provider.look_ups.values() for path in (*look_up.depends_on, *look_up.needs)}
        for name in provider.look_ups:
            for value in _NONSENSE:
                try:
                    await provider.list_choices(name, {path.partition(".")[0]: value for path in fields})
                except GpuClustersError as exc:
                    world.failures.append(exc)
        assert list(world.far_side.received()) == []

    async def test_every_table_about_a_cluster_answers(self, world: World) -> None:
        provider = world.able(ShowsDetails, "details")
        service = world.kernel()
        cluster = await world.a_cluster(service)
        for kind, title in provider.cluster_details.items():
            assert title
            _assert_table(world, kind, await service.details(cluster, kind))

    async def test_every_table_about_a_workload_answers(self, world: World) -> None:
        provider = world.able(ShowsDetails, "details")
        world.able(RunsWorkloads, "workloads")
        service = world.kernel()
        workload = await world.submit(service, await world.a_cluster(service), world.far_side.long_workload())
        world.far_side.settle()
        for kind in provider.workload_details:
            _assert_table(world, kind, await service.details(workload, kind))

    async def test_a_public_key_is_added_once(self, world: World) -> None:
        provider = world.able(KeepsSshKeys, "ssh_keys")
        service = world.kernel()
        before = {choice.value for choice in (await provider.list_ssh_keys()).items}
        added, is_new = await service.add_ssh_key(world.account, f"suite-{os.urandom(3).hex()}", _PUBLIC_KEY)
        assert is_new
        assert added.value not in before
        again, is_new = await service.add_ssh_key(world.account, "another label", _PUBLIC_KEY)
        assert (again.value, is_new) == (added.value, False)
        assert {choice.value for choice in (await provider.list_ssh_keys()).items} == before | {added.value}


def _assert_table(world: World, kind: str, table: Details) -> None:
    assert table.title, kind
    assert table.columns or table.note, kind
    assert len(table.rows) <= _MOST_ROWS, kind
    assert all(set(row) <= set(table.columns) for row in table.rows), kind
    assert not any(secret in repr(table) for secret in world.secrets), kind
