"""Deleting: whatever the service answers, the wish stays until whole lists show that nothing is left."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_gpu_clusters.core.errors import AuthError, GpuClustersError, OutcomeUnknownError
from jupyter_gpu_clusters.core.models import Cluster, ClusterPhase, Verb
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from tests.contracts.fixtures import CheckedSandbox

from .renting import PAIR, PUBLIC_KEY, deletes, left, rented, running

pytestmark = pytest.mark.anyio

ROUTE = "/clusters/{cluster_id}"


@pytest.fixture
async def pair(service: Service, sandbox: CheckedSandbox) -> Cluster:
    """A running cluster of two."""
    cluster = await running(service, sandbox)
    sandbox.forget_requests()
    return cluster


async def wishes(service: Service) -> list[Verb]:
    return [order.verb for order in (await service.state()).orders]


async def test_one_request_ends_all_members(service: Service, sandbox: CheckedSandbox, pair: Cluster) -> None:
    answer = await service.delete(pair)
    assert deletes(sandbox) == [f"/clusters/{pair.cluster_id}"]
    assert (answer.is_gone, answer.cluster.phase, answer.cluster.name) == (False, ClusterPhase.DELETING, "pair")
    assert left(sandbox) == []


async def test_deleting_again_is_calm_before_and_after_it_is_gone(
    service: Service, sandbox: CheckedSandbox, pair: Cluster
) -> None:
    assert [(await service.delete(pair)).is_gone for _ in range(2)] == [False, False]
    sandbox.advance(3600)
    assert [(await service.delete(pair)).is_gone for _ in range(2)] == [True, True]
    assert await wishes(service) == []
    ended = [pod for entry in sandbox.books()["services"]["lium"]["entries"] for pod in entry["ended"]]
    assert sorted(ended) == sorted(node.node_id for node in pair.nodes)


async def test_a_list_that_misses_everything_once_is_no_proof(
    service: Service, sandbox: CheckedSandbox, pair: Cluster
) -> None:
    sandbox.setup("lium", undeletable={node.node_id: 9 for node in pair.nodes})
    sandbox.fault(service="lium", path="/pods", kind="empty_list", times=1)
    answer = await service.delete(pair)
    assert not answer.is_gone
    assert await wishes(service) == [Verb.DELETE]


async def test_a_list_that_is_not_whole_is_no_proof(service: Service, sandbox: CheckedSandbox, pair: Cluster) -> None:
    bodies: list[Any] = [{"x": 1}, None, [7], [{"status": "DELETING"}]]
    for body in bodies:
        ops = [{"op": "set", "path": "", "value": body}]
        fault = sandbox.fault(service="lium", path="/pods", kind="mutate", ops=ops, times=None)
        answer = await service.delete(pair)
        sandbox.clear_faults(fault)
        assert not answer.is_gone, body
        assert "not proven" in (answer.note or ""), body


async def test_only_a_row_that_says_so_is_a_member_that_goes(
    service: Service, sandbox: CheckedSandbox, pair: Cluster
) -> None:
    answers: list[tuple[Any, str]] = [
        ([], "names no members"),
        (None, "names no members"),
        ([{"success": None, "cluster_node_index": 1}], "node 1: not removed"),
        ([{"success": False, "cluster_node_index": 0, "message": "host is offline"}], "node 0: host is offline"),
        ([{"success": "true", "cluster_node_index": "1"}], "node 1: not removed"),
    ]
    for pods, said in answers:
        ops = [{"op": "set", "path": "/pods", "value": pods}]
        sandbox.fault(service="lium", path=ROUTE, kind="mutate", ops=ops)
        answer = await service.delete(pair)
        assert not answer.is_gone, pods
        assert said in (answer.note or ""), pods


async def test_every_member_that_failed_is_named_and_tried_again(
    service: Service, sandbox: CheckedSandbox, pair: Cluster
) -> None:
    sandbox.setup("lium", undeletable={node.node_id: 1 for node in pair.nodes})
    answer = await service.delete(pair)
    assert "node 0: could not be removed" in (answer.note or "")
    assert "node 1: could not be removed" in (answer.note or "")
    assert len(left(sandbox)) == 2
    await service.delete(pair)
    assert left(sandbox) == []


async def test_where_the_route_is_missing_every_pod_is_deleted_and_one_that_is_gone_is_calm(
    service: Service, sandbox: CheckedSandbox, pair: Cluster
) -> None:
    sandbox.fault(service="lium", path=ROUTE, kind="status", status=404, shape="detail", times=None)
    gone = f"/pods/{pair.nodes[0].node_id}"
    sandbox.fault(service="lium", path=gone, method="DELETE", kind="status", status=404, code="pod_not_found")
    answer = await service.delete(pair)
    assert deletes(sandbox) == [f"/clusters/{pair.cluster_id}", *(f"/pods/{node.node_id}" for node in pair.nodes)]
    assert "pod_not_found" not in (answer.note or "")


async def test_a_member_that_is_being_made_is_waited_for(service: Service, sandbox: CheckedSandbox) -> None:
    young = await rented(service)
    answer = await service.delete(young)
    assert not answer.is_gone
    assert "It is tried again." in (answer.note or "")
    assert await wishes(service) == [Verb.DELETE]
    assert len(left(sandbox)) == 2
    sandbox.advance(600)
    await service.recover()
    assert left(sandbox) == []


@pytest.mark.parametrize("kind", ["drop_before", "drop_after", "html", "cut_body"])
async def test_a_lost_answer_keeps_the_wish(
    service: Service, sandbox: CheckedSandbox, pair: Cluster, kind: str
) -> None:
    sandbox.fault(service="lium", path=ROUTE, kind=kind, **({"status": 502} if kind == "html" else {}))
    with pytest.raises(OutcomeUnknownError):
        await service.delete(pair)
    assert await wishes(service) == [Verb.DELETE]
    await service.delete(pair)
    assert left(sandbox) == []
    sandbox.advance(3600)
    for _ in range(2):
        await service.recover()
    assert await wishes(service) == []


async def test_a_foreign_member_is_told_and_nothing_is_deleted(
    service: Service, sandbox: CheckedSandbox, pair: Cluster
) -> None:
    fault = {
        "status": 403,
        "shape": "envelope",
        "code": "foreign_member",
        "text": "A member belongs to another account",
    }
    sandbox.fault(service="lium", path=ROUTE, kind="status", times=None, **fault)
    with pytest.raises(AuthError, match="belongs to another account"):
        await service.delete(pair)
    assert len(left(sandbox)) == 2
    assert await wishes(service) == []


async def test_what_others_deleted_is_gone(service: Service, sandbox: CheckedSandbox, pair: Cluster) -> None:
    provider = service._accounts.provider("lium")
    client = (await provider._access.connect()).client  # type: ignore[attr-defined]
    await client.delete_cluster(pair.cluster_id)
    sandbox.advance(3600)
    assert (await service.delete(pair)).is_gone


async def test_a_single_node_is_ended_by_its_own_route(service: Service, sandbox: CheckedSandbox) -> None:
    spec = {"nodes": 1, "gpu": "A6000", "user_public_key": [PUBLIC_KEY]}
    single = await rented(service, spec=build_spec(service.spec_model("lium"), spec))
    sandbox.forget_requests()
    assert not (await service.delete(single)).is_gone
    assert deletes(sandbox) == [f"/pods/{single.nodes[0].node_id}"]
    sandbox.advance(3600)
    assert (await service.delete(single)).is_gone


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
