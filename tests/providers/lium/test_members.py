"""Members: none is lost, none is counted twice, and end times are believed only where every member shows them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.errors import GpuClustersError, OutcomeUnknownError
from jupyter_gpu_clusters.core.models import Cluster, ClusterPhase, OrderState
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from jupyter_gpu_clusters.providers.lium.provider import LiumProvider
from tests.contracts.fixtures import CheckedSandbox

from .renting import PAIR, RENT, listed, rented, running

pytestmark = pytest.mark.anyio

END = "/pods/{pod_id}/schedule-removal"


def mutate(sandbox: CheckedSandbox, path: str, *ops: dict[str, Any], times: int | None = None) -> None:
    sandbox.fault(service="lium", path=path, kind="mutate", ops=list(ops), times=times)


def put(path: str, value: Any) -> dict[str, Any]:
    return {"op": "set", "path": path, "value": value}


async def ordered(service: Service) -> None:
    with pytest.raises(OutcomeUnknownError):
        await rented(service)


async def act(service: Service, cluster: Cluster, action: str, spec: dict[str, Any]) -> Cluster:
    plan = await service.plan_action(cluster, action, build_spec(service.action_model("lium", action), spec))
    return await service.act(plan, consent=consent_to(plan))


# Renting


async def test_members_that_the_answer_left_out_belong_to_the_cluster(
    service: Service, sandbox: CheckedSandbox
) -> None:
    mutate(sandbox, RENT, {"op": "remove", "path": "/pod_ids/1"})
    cluster = await rented(service)
    assert (cluster.node_count, cluster.reason) == (2, None)


async def test_fewer_nodes_than_ordered_are_said(service: Service, sandbox: CheckedSandbox) -> None:
    mutate(sandbox, RENT, {"op": "remove", "path": "/pod_ids/1"})
    sandbox.fault(service="lium", path="/pods", kind="hide_rows", index=1, seconds=120, times=None)
    cluster = await rented(service)
    assert "It has 1 nodes; 2 were ordered." in (cluster.reason or "")


async def test_nodes_that_show_no_cluster_yet_are_not_adopted_one_by_one(
    service: Service, sandbox: CheckedSandbox
) -> None:
    fault = {"service": "lium", "path": "/pods", "kind": "mutate", "ops": [put("/*/cluster_id", None)]}
    # After the looks of the plan and before the rent: three looks after it, and the first look of the recovery.
    sandbox.fault(**fault, skip=2, times=4)
    await ordered(service)
    (open_order,) = [found.order for found in await service.recover()]
    assert open_order.state is OrderState.NOT_SEEN
    assert "not yet as one cluster" in (open_order.note or "")
    await service.recover()
    (cluster,) = await listed(service)
    assert (cluster.name, cluster.node_count, cluster.created_here) == ("pair", 2, True)


@pytest.mark.parametrize("style", ["lower", "suffixed"])
async def test_a_lost_rent_is_found_though_the_service_changed_its_name(
    service: Service, sandbox: CheckedSandbox, style: str
) -> None:
    sandbox.choose({"lium.idempotency": "absent", "lium.pod_name": style})
    sandbox.fault(service="lium", path=RENT, kind="drop_after")
    with pytest.raises(OutcomeUnknownError):
        await rented(service, name="Pair")
    await service.recover()
    assert [(cluster.name, cluster.created_here) for cluster in await listed(service)] == [("Pair", True)]
    assert (await service.state()).orders == ()


@pytest.mark.parametrize("skip", [0, 1])
async def test_that_a_key_was_seen_before_never_closes_an_order(
    service: Service, sandbox: CheckedSandbox, skip: int
) -> None:
    code = "idempotency_key_reused"
    if skip:
        sandbox.fault(service="lium", path=RENT, kind="drop_after")
    kind = "status" if skip else "status_after"
    sandbox.fault(service="lium", path=RENT, kind=kind, status=422, shape="envelope", code=code, skip=skip)
    await ordered(service)
    await service.recover()
    assert [cluster.name for cluster in await listed(service)] == ["pair"]


async def test_pods_that_a_second_answer_names_are_kept(service: Service, sandbox: CheckedSandbox) -> None:
    named = "5b8b1d50-3f0e-4f0a-9d0c-8a3f6f1c0a01"
    sandbox.fault(service="lium", path=RENT, kind="drop_after")
    sandbox.fault(service="lium", path=RENT, kind="status", status=502, body={"pod_ids": [named]}, skip=1)
    await ordered(service)
    (order,) = (await service.state()).orders
    assert order.remote_ids == (named,)


async def test_a_price_that_rose_after_the_plan_is_said(service: Service, sandbox: CheckedSandbox) -> None:
    mutate(sandbox, "/pods", put("/*/price", "20.5"))
    cluster = await rented(service)
    assert "It costs 41.00 USD per hour; 33.68 USD was planned." in (cluster.reason or "")


async def test_an_adopted_cluster_keeps_members_that_its_answer_named(
    service: Service, sandbox: CheckedSandbox
) -> None:
    sandbox.fault(service="lium", path="/pods", kind="hide_rows", seconds=60, times=None)
    await ordered(service)
    sandbox.fault(service="lium", path="/pods", kind="hide_rows", index=1, seconds=900, times=None)
    sandbox.advance(100)
    await service.recover()
    (cluster,) = await listed(service)
    assert (cluster.node_count, cluster.phase) == (2, ClusterPhase.DEGRADED)
    assert "1 of 2 nodes are not listed" in (cluster.reason or "")


# Listing


async def test_rows_without_an_id_make_nothing_vanish(service: Service, sandbox: CheckedSandbox) -> None:
    before = await running(service, sandbox)
    mutate(sandbox, "/pods", {"op": "remove", "path": "/*/id"})
    for _ in range(4):
        assert [cluster.cluster_id for cluster in await listed(service)] == [before.cluster_id]
    with pytest.raises(GpuClustersError, match="could not be read as a whole"):
        await service.plan_create("lium", "next", build_spec(service.spec_model("lium"), PAIR))


async def test_a_row_that_comes_twice_counts_once(service: Service, sandbox: CheckedSandbox) -> None:
    before = await running(service, sandbox)
    provider = service._accounts.provider("lium")
    assert isinstance(provider, LiumProvider)
    client = (await provider._access.connect()).client
    rows = await client.list_pods()
    assert [pod.id for pod in rows] == [node.node_id for node in before.nodes]
    mutate(sandbox, "/pods", put("/1", {"id": before.nodes[0].node_id, "cluster_id": before.cluster_id}))
    assert len(await client.list_pods()) == 1


@pytest.mark.parametrize(
    ("indices", "said"),
    [((0, 0), " says 0"), ((0, None), " says none"), ((1, -1), " says none"), ((0, 2), "node 1")],
)
async def test_odd_indices_are_named(
    service: Service, sandbox: CheckedSandbox, indices: tuple[Any, Any], said: str
) -> None:
    before = await running(service, sandbox)
    mutate(sandbox, "/pods", *(put(f"/{n}/cluster_node_index", index) for n, index in enumerate(indices)))
    (cluster,) = await listed(service)
    assert cluster.phase is ClusterPhase.DEGRADED
    assert said in (cluster.reason or "")
    assert {node.node_id for node in cluster.nodes} == {node.node_id for node in before.nodes}


async def test_a_cluster_without_a_living_node_has_failed(service: Service, sandbox: CheckedSandbox) -> None:
    await running(service, sandbox)
    mutate(sandbox, "/pods", put("/0/status", "BROKEN"), put("/1/status", "STOPPED"))
    (cluster,) = await listed(service)
    assert cluster.phase is ClusterPhase.FAILED
    assert "only deleting works" in (cluster.reason or "")
    assert "others go on" not in (cluster.reason or "")


async def test_while_members_go_one_by_one_it_is_being_deleted(service: Service, sandbox: CheckedSandbox) -> None:
    cluster = await running(service, sandbox)
    sandbox.fault(service="lium", path="/pods", kind="hide_rows", ids=[cluster.nodes[0].node_id], times=None)
    mutate(sandbox, "/pods", put("/*/status", "DELETING"))
    (now,) = await listed(service)
    assert now.phase is ClusterPhase.DELETING


# End times


async def test_the_first_end_is_shown_and_that_others_end_later(service: Service, sandbox: CheckedSandbox) -> None:
    await running(service, sandbox)
    ends = ("2026-12-24T18:00:00", "2026-12-24T22:00:00+02:00")
    mutate(sandbox, "/pods", *(put(f"/{n}/removal_scheduled_at", end) for n, end in enumerate(ends)))
    (cluster,) = await listed(service)
    assert cluster.ends_at is not None
    assert cluster.ends_at.isoformat() == "2026-12-24T18:00:00+00:00"
    assert "Not all end together: node 0 at 2026-12-24 18:00, node 1 at 2026-12-24 20:00" in (cluster.reason or "")


async def test_a_node_without_an_end_is_named(service: Service, sandbox: CheckedSandbox) -> None:
    await running(service, sandbox)
    mutate(sandbox, "/pods", put("/0/removal_scheduled_at", "2026-12-24T18:00:00"))
    (cluster,) = await listed(service)
    assert cluster.ends_at is None
    assert "NO END TIME on node 1" in (cluster.reason or "")


@pytest.mark.parametrize("wrong", ["ignored", "later"])
@pytest.mark.parametrize("skew_s", [0.0, -86_400.0 * 3])
async def test_ends_are_checked_and_set_by_the_services_own_clock(
    service: Service, sandbox: CheckedSandbox, wrong: str, skew_s: float
) -> None:
    sandbox.set_clock(skew_s=skew_s)
    if wrong == "ignored":
        sandbox.choose({"lium.termination_hours": "ignored"})
    else:
        # The first look after the rent, the third in all, shows an end that nobody asked for; the next ones are true.
        ops = [put("/*/removal_scheduled_at", "2027-06-01T00:00:00")]
        sandbox.fault(service="lium", path="/pods", kind="mutate", ops=ops, skip=2)
    spec = build_spec(service.spec_model("lium"), {**PAIR, "termination_hours": 4})
    cluster = await rented(service, spec=spec)
    assert cluster.ends_at is not None
    assert cluster.created_at is not None
    assert cluster.ends_at - cluster.created_at == timedelta(hours=4)
    set_one_by_one = [r for r in sandbox.requests() if r["path"].endswith("/schedule-removal")]
    assert len(set_one_by_one) == 2
    assert cluster.reason is None


async def test_an_end_that_was_accepted_but_does_not_show_is_no_end(service: Service, sandbox: CheckedSandbox) -> None:
    mutate(sandbox, "/pods", put("/*/removal_scheduled_at", None))
    spec = build_spec(service.spec_model("lium"), {**PAIR, "termination_hours": 4})
    cluster = await rented(service, spec=spec)
    assert cluster.ends_at is None
    assert "NO END TIME as asked" in (cluster.reason or "")


async def test_an_old_end_time_does_not_prove_a_new_one(service: Service, sandbox: CheckedSandbox) -> None:
    cluster = await act(service, await running(service, sandbox), "schedule_removal", {"hours": 5})
    sandbox.fault(service="lium", path=END, kind="drop_before", times=None)
    with pytest.raises(OutcomeUnknownError):
        await act(service, cluster, "schedule_removal", {"hours": 50})
    (found,) = await service.recover()
    assert found.order.state is OrderState.NOT_SEEN


async def test_a_lost_answer_to_an_end_time_is_settled_by_reading_it_back(
    service: Service, sandbox: CheckedSandbox
) -> None:
    cluster = await act(service, await running(service, sandbox), "schedule_removal", {"hours": 5})
    sandbox.fault(service="lium", path=END, kind="drop_after", times=None)
    with pytest.raises(OutcomeUnknownError):
        await act(service, cluster, "cancel_removal", {})
    (found,) = await service.recover()
    assert found.order.state is OrderState.DONE
