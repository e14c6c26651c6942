"""Deletes whose answers, or whose proof, do not come; and what an account may not read."""

from __future__ import annotations

import pytest

from jupyter_gpu_clusters.core.errors import GpuClustersError
from jupyter_gpu_clusters.core.models import Cluster, ClusterPhase, Verb
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from tests.contracts.fixtures import CheckedSandbox

from .renting import PAIR, rented

pytestmark = pytest.mark.anyio


async def running(service: Service, sandbox: CheckedSandbox) -> Cluster:
    await rented(service)
    sandbox.advance(600)
    (cluster,) = [one for one in (await service.refresh(["lium"])).clusters if one.account == "lium"]
    assert cluster.phase is ClusterPhase.RUNNING
    return cluster


@pytest.mark.parametrize("status", [401, 404, 429, 500])
async def test_a_list_that_fails_after_a_delete_does_not_lose_the_wish(
    service: Service, sandbox: CheckedSandbox, status: int
) -> None:
    cluster = await running(service, sandbox)
    fault = sandbox.fault(service="lium", path="/pods", kind="status", status=status, shape="bare", times=None)
    answer = await service.delete(cluster)
    assert not answer.is_gone
    assert "could not be looked up" in (answer.note or "")
    assert [order.verb for order in (await service.state()).orders] == [Verb.DELETE]
    sandbox.clear_faults(fault)
    sandbox.advance(3600)
    assert (await service.delete(cluster)).is_gone


async def test_a_delete_that_comes_too_often_is_wished_on(service: Service, sandbox: CheckedSandbox) -> None:
    cluster = await running(service, sandbox)
    sandbox.fault(service="lium", path="/clusters/*", kind="retry_after", seconds=30)
    answer = await service.delete(cluster)
    assert not answer.is_gone
    assert "tried again" in (answer.note or "")
    assert [order.verb for order in (await service.state()).orders] == [Verb.DELETE]


async def test_one_pod_whose_delete_is_lost_hinders_no_other(service: Service, sandbox: CheckedSandbox) -> None:
    cluster = await running(service, sandbox)
    sandbox.fault(service="lium", path="/clusters/*", kind="status", status=404, shape="detail", times=None)
    sandbox.fault(service="lium", path=f"/pods/{cluster.nodes[0].node_id}", kind="drop_before", method="DELETE")
    answer = await service.delete(cluster)
    assert cluster.nodes[0].node_id in (answer.note or "")
    ended = [entry["id"] for entry in sandbox.books()["services"]["lium"]["alive"] if entry["state"] == "DELETING"]
    assert ended == [cluster.nodes[1].node_id]


async def test_a_key_that_may_not_delete_is_told_so(service: Service, sandbox: CheckedSandbox) -> None:
    spec = build_spec(service.spec_model("lium"), {"nodes": 1, "user_public_key": PAIR["user_public_key"]})
    single = await rented(service, spec=spec, name="one")
    text = "API key 'notebook' does not have the 'manage' scope"
    sandbox.fault(service="lium", path="/pods/*", method="DELETE", kind="status", status=403, shape="detail", text=text)
    with pytest.raises(GpuClustersError, match="scope 'manage'"):
        await service.delete(single)
    assert (await service.state()).orders == ()


async def test_a_key_that_may_not_read_the_balance_names_the_scope(service: Service, sandbox: CheckedSandbox) -> None:
    text = "API key 'notebook' does not have the 'read' scope"
    sandbox.fault(service="lium", path="/users/me", kind="status", status=403, shape="detail", text=text, times=None)
    (status,) = await service.check_accounts(["lium"])
    assert status.is_usable
    assert "Make a key with the scope 'read'" in status.detail


async def test_what_is_broken_costs_no_hour_of_the_balance(service: Service, sandbox: CheckedSandbox) -> None:
    await running(service, sandbox)
    ops = [{"op": "set", "path": "/0/status", "value": "BROKEN"}]
    sandbox.fault(service="lium", path="/pods", kind="mutate", ops=ops, times=None)
    (status,) = await service.check_accounts(["lium"])
    assert "16.88 USD per hour" in status.detail
