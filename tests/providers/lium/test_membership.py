"""Who belongs to a cluster is what the order's answer named: kept in the journal, whatever a list shows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.errors import OutcomeUnknownError
from jupyter_gpu_clusters.core.models import Cluster, ClusterPhase, OrderState, Plan, Verb
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from jupyter_gpu_clusters.providers.lium.provider import LiumProvider
from tests.contracts.fixtures import CheckedSandbox
from tests.sandbox.lium.renter import Renter

from .renting import PAIR, RENT, deletes, left, listed, made, rented, running

pytestmark = pytest.mark.anyio


@pytest.fixture
async def pair(service: Service, sandbox: CheckedSandbox) -> Cluster:
    """A running cluster of two."""
    return await running(service, sandbox)


@pytest.fixture
async def successor(service: Service) -> AsyncIterator[Service]:
    """The service of a process that starts later: it knows what the journal knows."""
    later = Service.open()
    yield later
    await later.aclose()


def hide(sandbox: CheckedSandbox, *pods: str) -> None:
    """No list ever shows these."""
    sandbox.fault(service="lium", path="/pods", kind="hide_rows", ids=list(pods), times=None)


def put(sandbox: CheckedSandbox, path: str, pointer: str, value: Any, **more: Any) -> None:
    ops = [{"op": "set", "path": pointer, "value": value}]
    sandbox.fault(service="lium", path=path, kind="mutate", ops=ops, **more)


async def test_created_looked_up_and_listed_clusters_name_their_members(
    service: Service, sandbox: CheckedSandbox, provider: LiumProvider
) -> None:
    made_now = await rented(service)
    (shown,) = await listed(service)
    fresh = (await provider.get_cluster(made_now.cluster_id)).item
    assert fresh is not None
    assert [made_now.member_ids, shown.member_ids, fresh.member_ids] == [tuple(made(sandbox))] * 3


async def test_what_others_rented_names_none(service: Service, sandbox: CheckedSandbox) -> None:
    Renter(sandbox, sandbox.variables()["LIUM_API_KEY"]).rent(2, pod_name="elsewhere")
    (foreign,) = await listed(service)
    assert (foreign.member_ids, foreign.created_here, foreign.node_count) == ((), False, 2)


async def test_a_later_process_misses_the_member_that_no_list_shows(
    successor: Service, sandbox: CheckedSandbox, pair: Cluster
) -> None:
    unseen = pair.nodes[1].node_id
    hide(sandbox, unseen)
    (cluster,) = await listed(successor)
    assert (cluster.phase, cluster.node_count) == (ClusterPhase.DEGRADED, 2)
    assert f"1 of 2 nodes are not listed (yet): {unseen}" in (cluster.reason or "")


@pytest.mark.parametrize("has_route", [True, False])
async def test_a_later_process_deletes_the_member_that_no_list_shows(
    successor: Service, sandbox: CheckedSandbox, pair: Cluster, has_route: bool
) -> None:
    unseen = pair.nodes[1].node_id
    hide(sandbox, unseen)
    if not has_route:
        sandbox.fault(service="lium", path="/clusters/*", kind="status", status=404, shape="detail", times=None)
    (cluster,) = await listed(successor)
    assert not (await successor.delete(cluster)).is_gone
    assert left(sandbox) == []
    assert (f"/pods/{unseen}" in deletes(sandbox)) is not has_route


async def test_members_that_the_answer_to_a_delete_does_not_name_are_deleted_one_by_one(
    successor: Service, sandbox: CheckedSandbox, pair: Cluster
) -> None:
    unseen = pair.nodes[1].node_id
    hide(sandbox, unseen)
    sandbox.setup("lium", undeletable={unseen: 1})
    ops = [{"op": "remove", "path": "/pods/1"}, {"op": "set", "path": "/success", "value": True}]
    sandbox.fault(service="lium", path="/clusters/*", kind="mutate", ops=ops)
    await successor.delete((await listed(successor))[0])
    assert deletes(sandbox) == [f"/clusters/{pair.cluster_id}", f"/pods/{unseen}"]
    assert left(sandbox) == []


async def test_a_cluster_that_no_list_shows_is_there_while_a_members_own_route_says_so(
    provider: LiumProvider, sandbox: CheckedSandbox, pair: Cluster
) -> None:
    hide(sandbox, *pair.member_ids)
    answer = await provider.get_cluster(pair.cluster_id)
    assert answer.answer == "found"
    assert answer.item is not None
    assert {node.node_id for node in answer.item.nodes} == set(made(sandbox))


async def test_a_delete_is_not_over_while_a_members_own_route_shows_it(
    successor: Service, sandbox: CheckedSandbox, pair: Cluster
) -> None:
    hide(sandbox, *pair.member_ids)
    unwilling = pair.nodes[1].node_id
    sandbox.setup("lium", undeletable={unwilling: 1})
    put(sandbox, "/clusters/*", "/pods/1/success", True)
    answer = await successor.delete(pair)
    assert left(sandbox) == [unwilling]
    assert not answer.is_gone
    assert "2 nodes are still there (DELETING, RUNNING)" in (answer.note or "")
    await successor.delete(pair)
    sandbox.advance(3600)
    assert (await successor.delete(pair)).is_gone
    assert left(sandbox) == []


async def test_lists_that_show_nothing_prove_nothing_while_the_service_refuses_the_delete(
    service: Service, sandbox: CheckedSandbox
) -> None:
    young = await rented(service)
    hide(sandbox, *young.member_ids)
    sandbox.fault(service="lium", method="GET", path="/pods/{pod_id}", kind="status", status=404, times=None)
    answer = await service.delete(young)
    assert not answer.is_gone
    assert "not every node was told to go" in (answer.note or "")
    assert len(left(sandbox)) == 2
    assert [order.verb for order in (await service.state()).orders] == [Verb.DELETE]


@pytest.mark.parametrize("status", [403, 500])
async def test_a_members_own_route_that_cannot_be_read_leaves_the_wish(
    service: Service, sandbox: CheckedSandbox, pair: Cluster, status: int
) -> None:
    await service.delete(pair)
    sandbox.advance(3600)
    shape = {"kind": "status", "status": status, "shape": "envelope"}
    fault = sandbox.fault(service="lium", method="GET", path="/pods/{pod_id}", times=None, **shape)
    answer = await service.delete(pair)
    assert not answer.is_gone
    assert "could not be looked up" in (answer.note or "")
    sandbox.clear_faults(fault)
    assert (await service.delete(pair)).is_gone


async def test_a_member_that_is_listed_outside_its_cluster_belongs_to_it(
    successor: Service, sandbox: CheckedSandbox, pair: Cluster
) -> None:
    put(sandbox, "/pods", "/1/cluster_id", None, times=None)
    (cluster,) = await listed(successor)
    assert (cluster.cluster_id, cluster.node_count, cluster.phase) == (pair.cluster_id, 2, ClusterPhase.DEGRADED)
    assert f"Listed outside the cluster, but rented with it: {pair.nodes[1].node_id}." in (cluster.reason or "")


async def test_nodes_that_all_lose_their_cluster_are_still_it(
    provider: LiumProvider, sandbox: CheckedSandbox, pair: Cluster
) -> None:
    put(sandbox, "/pods", "/*/cluster_id", None, times=None)
    answer = await provider.get_cluster(pair.cluster_id)
    assert answer.item is not None
    assert [node.node_id for node in answer.item.nodes] == list(pair.member_ids)


async def test_a_straggler_is_deleted_again(service: Service, sandbox: CheckedSandbox, pair: Cluster) -> None:
    straggler = pair.nodes[1].node_id
    hide(sandbox, straggler)
    own = f"/pods/{straggler}"
    sandbox.fault(service="lium", method="GET", path=own, kind="status", status=404, shape="envelope", times=None)
    sandbox.setup("lium", undeletable={straggler: 1})
    put(sandbox, "/clusters/*", "/pods/1/success", True)
    await service.delete(pair)
    sandbox.advance(60)
    sandbox.fault(service="lium", path="/clusters/*", kind="status", status=404, shape="detail")
    sandbox.fault(service="lium", method="DELETE", path=own, kind="status", status=404, shape="envelope")
    assert (await service.delete(pair)).is_gone
    assert left(sandbox) == [straggler]
    sandbox.clear_faults()
    (late,) = await listed(service)
    assert (late.cluster_id, late.node_count) == (pair.cluster_id, 2)
    await service.recover()
    assert left(sandbox) == []


async def test_an_answer_that_names_what_was_there_before_touches_nothing_of_it(
    service: Service, sandbox: CheckedSandbox
) -> None:
    Renter(sandbox, sandbox.variables()["LIUM_API_KEY"]).rent(2, pod_name="elsewhere")
    before = made(sandbox)
    put(sandbox, RENT, "/pod_ids", before)
    with pytest.raises(OutcomeUnknownError, match="names no new pod"):
        await rented(service)
    await service.recover()
    clusters = {cluster.name: cluster for cluster in await listed(service)}
    assert set(clusters) == {"pair", "elsewhere"}
    assert not clusters["elsewhere"].created_here
    assert set(clusters["pair"].member_ids) == set(made(sandbox)) - set(before)


async def test_an_answer_that_names_the_cluster_alone_is_enough(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.choose({"lium.cluster_answer": "with_cluster_id"})
    ops = [{"op": "remove", "path": "/pod_ids"}]
    sandbox.fault(service="lium", path=RENT, kind="mutate", ops=ops)
    spec = build_spec(service.spec_model("lium"), {**PAIR, "exact_name": True})
    with pytest.raises(OutcomeUnknownError):
        await rented(service, spec=spec)
    await service.recover()
    (cluster,) = await listed(service)
    assert (cluster.created_here, set(cluster.member_ids)) == (True, set(made(sandbox)))


async def an_end(service: Service, cluster: Cluster) -> Plan:
    spec = build_spec(service.action_model("lium", "schedule_removal"), {"hours": 5})
    return await service.plan_action(cluster, "schedule_removal", spec)


async def test_an_action_reaches_the_member_that_no_list_shows_and_keeps_it(
    successor: Service, sandbox: CheckedSandbox, pair: Cluster
) -> None:
    unseen = pair.nodes[1].node_id
    hide(sandbox, unseen)
    plan = await an_end(successor, (await listed(successor))[0])
    now = await successor.act(plan, consent=consent_to(plan))
    assert [node.node_id for node in now.nodes] == list(pair.member_ids)
    asked = [r["path"] for r in sandbox.requests() if r["path"].endswith("/schedule-removal")]
    assert asked == [f"/pods/{one}/schedule-removal" for one in pair.member_ids]
    assert now.ends_at is None


async def test_an_end_time_is_settled_only_when_every_member_shows_it(
    service: Service, sandbox: CheckedSandbox, pair: Cluster
) -> None:
    plan = await an_end(service, pair)
    hide(sandbox, pair.nodes[1].node_id)
    sandbox.fault(service="lium", path="/pods/*/schedule-removal", kind="drop_after", times=None)
    with pytest.raises(OutcomeUnknownError):
        await service.act(plan, consent=consent_to(plan))
    (found,) = await service.recover()
    assert found.order.state is OrderState.NOT_SEEN
    sandbox.clear_faults()
    (found,) = await service.recover()
    assert found.order.state is OrderState.DONE
