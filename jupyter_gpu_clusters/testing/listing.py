"""What is seen, what is not seen, and what that may mean."""

from __future__ import annotations

from jupyter_gpu_clusters.core.errors import GpuClustersError
from jupyter_gpu_clusters.core.models import Cluster, ClusterPhase, State, utc_now
from jupyter_gpu_clusters.core.service import Service

from .base import ContractBase
from .world import World

_ENDED = (ClusterPhase.DELETED, ClusterPhase.FAILED)
_WORD = "Frobnicating"


class ListingContract(ContractBase):
    """`list_clusters` and `get_cluster`."""

    async def test_a_listing_says_when_and_how_completely_it_looked(self, world: World) -> None:
        await world.a_cluster(world.kernel())
        started = utc_now()
        listing = await world.provider().list_clusters()
        assert started <= listing.observed_at <= utc_now()
        assert listing.is_complete or listing.not_seen
        assert {cluster.cluster_id for cluster in listing.items} == set(world.far_side.clusters())
        assert {(c.provider, c.account) for c in listing.items} == {(world.far_side.provider, world.account)}

    async def test_looking_writes_nothing(self, world: World) -> None:
        service = world.kernel()
        cluster = await world.a_cluster(service)
        writes = len(world.far_side.received())
        provider = world.provider()
        await provider.list_clusters()
        await provider.get_cluster(cluster.cluster_id)
        await provider.check_account()
        await service.refresh()
        assert len(world.far_side.received()) == writes

    async def test_one_cluster_is_found_as_it_is_listed(self, world: World) -> None:
        cluster = await world.a_cluster(world.kernel())
        answer = await world.provider().get_cluster(cluster.cluster_id)
        assert answer.answer == "found"
        assert answer.item is not None
        assert (answer.item.cluster_id, answer.item.phase) == (cluster.cluster_id, cluster.phase)
        assert answer.item.node_count == cluster.node_count

    async def test_what_never_was_is_not_found_and_no_error(self, world: World) -> None:
        """The core asks for the empty id where an order has named none."""
        provider = world.provider()
        for cluster_id in ("", world.far_side.unknown_id):
            answer = await provider.get_cluster(cluster_id)
            assert answer.answer in ("absent", "cannot_tell")
            assert answer.item is None
            assert answer.reason or answer.answer == "absent"

    async def test_nodes_are_numbered_from_zero(self, world: World) -> None:
        cluster = await world.a_cluster(world.kernel())
        assert sorted(node.index for node in cluster.nodes) == list(range(len(cluster.nodes)))
        assert cluster.node_count >= len(cluster.nodes)

    async def test_a_listing_that_fails_makes_nothing_disappear(self, world: World) -> None:
        service = world.kernel()
        cluster = await world.a_cluster(service)
        with world.far_side.failing_listings():
            await world.fails(GpuClustersError, world.provider().list_clusters())
            state = await service.refresh()
        _assert_alive(state, cluster)
        assert state.accounts[0].error is not None
        assert (await service.refresh()).accounts[0].error is None

    async def test_a_refused_credential_is_said_with_its_source_and_nothing_disappears(self, world: World) -> None:
        service = world.kernel()
        cluster = await world.a_cluster(service)
        with world.far_side.refusing_credential():
            state = await service.refresh()
        error = state.accounts[0].error
        assert error is not None
        assert error.code == "auth"
        assert world.settings().credential in f"{error.message} {error.hint}"
        _assert_alive(state, cluster)

    async def test_an_empty_listing_that_is_incomplete_makes_nothing_disappear(self, world: World) -> None:
        service = world.kernel()
        cluster = await world.a_cluster(service)
        with world.far_side.listing_incompletely():
            listing = await world.provider().list_clusters()
            assert not listing.is_complete
            assert listing.not_seen
            for _ in range(3):
                state = await service.refresh()
        _assert_alive(state, cluster)
        assert state.accounts[0].not_seen

    async def test_one_listing_without_a_cluster_does_not_end_it(self, world: World) -> None:
        service = world.kernel()
        cluster = await world.a_cluster(service)
        with world.far_side.hiding(cluster.cluster_id):
            state = await service.refresh()
        _assert_alive(state, cluster)
        _assert_alive(await service.refresh(), cluster)

    async def test_a_node_that_is_not_listed_does_not_shrink_the_cluster(self, world: World) -> None:
        service = world.kernel()
        cluster = await world.a_cluster(service)
        with world.far_side.hiding_member(cluster.cluster_id):
            for _ in range(3):
                state = await service.refresh()
        _assert_alive(state, cluster)
        seen = await _seen(service, cluster)
        assert seen.node_count == cluster.node_count

    async def test_a_word_that_nobody_knows_is_shown_and_no_end(self, world: World) -> None:
        service = world.kernel()
        cluster = await world.a_cluster(service)
        with world.far_side.using_unknown_words(_WORD):
            state = await service.refresh()
            answer = await world.provider().get_cluster(cluster.cluster_id)
        _assert_alive(state, cluster)
        known = next(c for c in state.clusters if c.cluster_id == cluster.cluster_id)
        for seen in (known, answer.item):
            assert seen is not None
            assert seen.phase is ClusterPhase.UNKNOWN
            assert _WORD.lower() in (seen.provider_state or "").lower()


def _assert_alive(state: State, cluster: Cluster) -> None:
    phases = {known.cluster_id: known.phase for known in state.clusters}
    assert cluster.cluster_id in phases
    assert phases[cluster.cluster_id] not in _ENDED


async def _seen(service: Service, cluster: Cluster) -> Cluster:
    return next(c for c in (await service.state()).clusters if c.cluster_id == cluster.cluster_id)
