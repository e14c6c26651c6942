"""Clusters out of pods: odd words, indices, prices and times; deleting; accounts."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_gpu_clusters.core.models import Billing, Cluster, ClusterPhase
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.providers.lium.provider import LiumProvider
from tests.contracts.fixtures import CheckedSandbox

from .renting import rented

pytestmark = pytest.mark.anyio


async def looked_at(service: Service, sandbox: CheckedSandbox, *ops: dict[str, Any]) -> Cluster:
    """The cluster `pair`, running, as listed with these edits."""
    await rented(service)
    sandbox.advance(600)
    if ops:
        sandbox.fault(service="lium", path="/pods", kind="mutate", ops=list(ops), times=None)
    (cluster,) = [c for c in (await service.refresh(["lium"])).clusters if c.account == "lium"]
    return cluster


def both(field: str, value: Any) -> dict[str, Any]:
    return {"op": "set", "path": f"/*/{field}", "value": value}


def first(field: str, value: Any) -> dict[str, Any]:
    return {"op": "set", "path": f"/0/{field}", "value": value}


@pytest.mark.parametrize(
    ("word", "phase", "billing"),
    [
        ("RUNNING", ClusterPhase.RUNNING, Billing.YES),
        ("BROKEN", ClusterPhase.FAILED, Billing.NO),
        (["RUNNING", "BROKEN"], ClusterPhase.UNKNOWN, Billing.UNKNOWN),
    ],
)
async def test_status_words(
    service: Service, sandbox: CheckedSandbox, word: Any, phase: ClusterPhase, billing: Billing
) -> None:
    cluster = await looked_at(service, sandbox, both("status", word))
    assert (cluster.phase, cluster.billing) == (phase, billing)


async def test_one_dead_member_degrades_the_others_and_is_named(service: Service, sandbox: CheckedSandbox) -> None:
    cluster = await looked_at(service, sandbox, first("status", "BROKEN"))
    assert cluster.phase is ClusterPhase.DEGRADED
    assert "(BROKEN" in (cluster.reason or "")
    assert "the others go on and are billed" in (cluster.reason or "")
    assert cluster.billing is Billing.YES


async def test_running_without_an_address_is_not_running(service: Service, sandbox: CheckedSandbox) -> None:
    cluster = await looked_at(service, sandbox, first("ssh_connect_cmd", None))
    assert cluster.phase is ClusterPhase.CREATING


@pytest.mark.parametrize("indices", [(0, 0), (None, None)])
async def test_without_a_rank_order_that_can_be_trusted_the_cluster_is_degraded(
    service: Service, sandbox: CheckedSandbox, indices: tuple[Any, Any]
) -> None:
    ops = [{"op": "set", "path": f"/{n}/cluster_node_index", "value": index} for n, index in enumerate(indices)]
    cluster = await looked_at(service, sandbox, *ops)
    assert (cluster.phase, len(cluster.nodes)) == (ClusterPhase.DEGRADED, 2)
    assert "no rank order can be trusted" in (cluster.reason or "")


@pytest.mark.parametrize("price", [0, "soon"])
async def test_what_is_no_price_is_unknown_and_what_was_agreed_to_is_shown(
    service: Service, sandbox: CheckedSandbox, provider: LiumProvider, price: Any
) -> None:
    cluster = await looked_at(service, sandbox, first("price", price))
    assert (str(cluster.price_per_hour), cluster.is_free) == ("33.68 USD", False)
    (listed,) = (await provider.list_clusters()).items
    assert (listed.price_per_hour, listed.is_free) == (None, False)


async def test_numbers_may_be_texts_and_fields_may_be_missing(service: Service, sandbox: CheckedSandbox) -> None:
    ops = [{"op": "text", "path": "/*/price"}, {"op": "remove", "path": "/*/executor"}, both("extra", {"a": [1]})]
    cluster = await looked_at(service, sandbox, *ops)
    assert cluster.price_per_hour is not None
    assert cluster.gpus_per_node == 8


@pytest.mark.parametrize("ends", [(None, "2026-12-01T00:00:00"), ("never", "never")])
async def test_an_end_time_counts_only_when_every_member_has_it(
    service: Service, sandbox: CheckedSandbox, ends: tuple[Any, Any]
) -> None:
    ops = [{"op": "set", "path": f"/{n}/removal_scheduled_at", "value": end} for n, end in enumerate(ends)]
    assert (await looked_at(service, sandbox, *ops)).ends_at is None


async def test_deleting_takes_every_member_and_gone_needs_proof(service: Service, sandbox: CheckedSandbox) -> None:
    cluster = await looked_at(service, sandbox)
    answer = await service.delete(cluster)
    assert not answer.is_gone
    sandbox.advance(3600)
    for _ in range(2):
        state = await service.refresh(["lium"])
    assert [c for c in state.clusters if c.account == "lium"] == []
    assert state.orders == ()
    assert (await service.delete(cluster)).is_gone


async def test_a_member_that_would_not_go_is_named_and_stays(service: Service, sandbox: CheckedSandbox) -> None:
    cluster = await looked_at(service, sandbox)
    sandbox.setup("lium", undeletable={cluster.nodes[1].node_id: 1})
    answer = await service.delete(cluster)
    assert not answer.is_gone
    assert "node 1:" in (answer.note or "")
    answer = await service.delete(cluster)
    sandbox.advance(3600)
    assert (await service.delete(cluster)).is_gone


async def test_a_cluster_that_is_still_being_made_is_deleted_later(service: Service, sandbox: CheckedSandbox) -> None:
    cluster = await rented(service)
    answer = await service.delete(cluster)
    assert not answer.is_gone
    assert "tried again" in (answer.note or "")
    sandbox.advance(600)
    await service.delete(cluster)
    sandbox.advance(3600)
    assert (await service.delete(cluster)).is_gone


async def test_where_the_route_for_clusters_is_missing_pods_are_deleted(
    service: Service, sandbox: CheckedSandbox
) -> None:
    cluster = await looked_at(service, sandbox)
    sandbox.fault(service="lium", path="/clusters/*", kind="status", status=404, shape="detail", times=None)
    await service.delete(cluster)
    deleted = [r["path"] for r in sandbox.requests() if r["method"] == "DELETE" and "/pods/" in r["path"]]
    assert len(deleted) == 2


async def test_the_account_tells_its_balance_and_how_long_it_lasts(service: Service, sandbox: CheckedSandbox) -> None:
    await rented(service)
    (status,) = await service.check_accounts(["lium"])
    assert status.balance is not None
    assert "the balance lasts 29." in status.detail


async def test_a_wrong_key_is_said_with_its_source(sandbox: CheckedSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIUM_API_KEY", "wrong")
    service = Service.open()
    (status,) = await service.check_accounts(["lium"])
    await service.aclose()
    assert not status.is_usable
    assert "$LIUM_API_KEY" in status.detail
    assert "wrong, expired" in status.detail
