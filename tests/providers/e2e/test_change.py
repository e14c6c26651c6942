"""Scaling, actions and deleting: one request each, and what reading shows of them afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_gpu_clusters.core.consent import Ask, consent_to, what_to_ask
from jupyter_gpu_clusters.core.errors import ConflictError, GpuClustersError, OutcomeUnknownError, SpecError
from jupyter_gpu_clusters.core.models import Cluster, ClusterPhase, OrderState
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from jupyter_gpu_clusters.providers.e2e import provider as module
from tests.contracts.fixtures import CheckedSandbox

from .ordering import ONE, acted, alive, bodies, ordered

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the wait between two looks."""
    monkeypatch.setattr(module, "_SECOND_LOOK_S", 0.01)


@pytest.fixture
async def lab(service: Service, sandbox: CheckedSandbox) -> Cluster:
    """A running cluster of two nodes."""
    await ordered(service)
    sandbox.advance(3600)
    await service.refresh(["e2e"])
    return await service.find_cluster("lab")


# More nodes


async def test_the_wanted_total_goes_as_a_difference(service: Service, sandbox: CheckedSandbox, lab: Cluster) -> None:
    plan = await service.plan_scale(lab, 5)
    assert (plan.nodes, plan.gpus, str(plan.price_per_hour)) == (3, 24, "5,976.00 INR")
    made = await service.scale(plan, consent=consent_to(plan))
    assert (made.node_count, made.name) == (5, "lab")
    assert bodies(sandbox, "PUT") == [{"action": "scale_cluster", "additional_nodes": 3}]


@pytest.mark.parametrize("nodes", [0, 1, 2])
async def test_fewer_or_as_many_are_refused(
    service: Service, sandbox: CheckedSandbox, lab: Cluster, nodes: int
) -> None:
    with pytest.raises(SpecError, match="only add some"):
        await service.plan_scale(lab, nodes)


async def test_nodes_of_a_committed_cluster_cost_by_the_hour(service: Service, sandbox: CheckedSandbox) -> None:
    made = await ordered(service, plan="30d")
    sandbox.advance(3600)
    plan = await service.plan_scale(made, 3)
    assert (str(plan.price_per_hour), plan.commitment) == ("1,992.00 INR", None)
    assert any("hourly, as far as is known" in warning for warning in plan.warnings)


async def test_a_plan_for_another_size_sends_nothing(service: Service, sandbox: CheckedSandbox, lab: Cluster) -> None:
    first, second = await service.plan_scale(lab, 3), await service.plan_scale(lab, 4)
    await service.scale(first, consent=consent_to(first))
    sandbox.advance(3600)
    with pytest.raises(ConflictError, match="3 nodes now, not 2"):
        await service.scale(second, consent=consent_to(second))
    assert len(bodies(sandbox, "PUT")) == 1
    assert (await service.state()).orders == ()


@pytest.mark.parametrize("value", [None, "many", [2]])
async def test_an_unknown_size_is_not_scaled(
    service: Service, sandbox: CheckedSandbox, lab: Cluster, value: Any
) -> None:
    ops = [{"op": "set", "path": "/data/no_of_nodes", "value": value}]
    sandbox.fault(service="e2e", method="GET", path=ONE, kind="mutate", ops=ops, times=None)
    with pytest.raises(GpuClustersError, match="how many nodes"):
        await service.plan_scale(lab, 5)


@pytest.mark.parametrize(("kind", "state"), [("drop_after", OrderState.DONE), ("drop_before", OrderState.NOT_SEEN)])
async def test_a_lost_answer_of_a_scale_is_read_from_the_size(
    service: Service, sandbox: CheckedSandbox, lab: Cluster, kind: str, state: OrderState
) -> None:
    plan = await service.plan_scale(lab, 5)
    sandbox.fault(service="e2e", method="PUT", kind=kind)
    with pytest.raises(OutcomeUnknownError):
        await service.scale(plan, consent=consent_to(plan))
    sandbox.advance(3600)
    (found,) = await service.recover()
    assert found.order.state is state
    assert len(bodies(sandbox, "PUT")) == 1


# Actions


async def test_keys_are_added_to_those_that_are_there(service: Service, sandbox: CheckedSandbox, lab: Cluster) -> None:
    spec = build_spec(service.action_model("e2e", "update_ssh_keys"), {"ssh_keys": ["lab-desktop"]})
    plan = await service.plan_action(lab, "update_ssh_keys", spec)
    assert plan.shown["ssh_keys_now"] == ["spare"]
    assert plan.shown["ssh_key_ids"] == [7302, 7301]
    assert what_to_ask(plan) is Ask.NOTHING


@pytest.mark.parametrize(
    "keys",
    [None, "spare", {}, [7302], [{"label": "spare"}], [{"pk": 7302}, {"pk": "x"}]],
    ids=str,
)
async def test_keys_that_cannot_be_read_are_not_dropped_unasked(
    service: Service, sandbox: CheckedSandbox, lab: Cluster, keys: Any
) -> None:
    ops = [{"op": "set", "path": "/data/ssh_keys", "value": keys}]
    sandbox.fault(service="e2e", method="GET", path=ONE, kind="mutate", ops=ops, times=None)
    with pytest.raises(SpecError) as caught:
        await acted(service, lab, "update_ssh_keys", ssh_keys=["lab-desktop"])
    assert [problem.field for problem in caught.value.problems] == ["replace"]
    await acted(service, lab, "update_ssh_keys", ssh_keys=["lab-desktop"], replace=True)
    assert bodies(sandbox, "PUT") == [{"action": "update_ssh_keys", "ssh_key_ids": [7301]}]


@pytest.mark.parametrize(
    ("action", "spec", "fields"),
    [
        ("update_ssh_keys", {}, {"ssh_keys"}),
        ("update_ssh_keys", {"ssh_keys": ["nobody"]}, {"ssh_keys"}),
        ("update_image", {}, {"image"}),
        ("update_image", {"image": "windows"}, {"image"}),
        ("attach_ip", {}, {"ip"}),
        ("attach_ip", {"ip": "198.51.100.99"}, {"ip"}),
        ("add_security_group", {}, {"security_groups"}),
        ("add_security_group", {"security_groups": ["open", "none"]}, {"security_groups"}),
        ("remove_security_group", {}, {"security_group"}),
        ("remove_security_group", {"security_group": "ssh-only", "security_group_id": 1}, {"security_group"}),
    ],
)
async def test_what_an_action_lacks_is_told_and_nothing_sent(
    service: Service, sandbox: CheckedSandbox, lab: Cluster, action: str, spec: dict[str, Any], fields: set[str]
) -> None:
    with pytest.raises(SpecError) as caught:
        await acted(service, lab, action, **spec)
    assert {problem.field for problem in caught.value.problems} == fields
    assert bodies(sandbox, "PUT") == []


@pytest.mark.parametrize("action", ["restart_cluster", "restart_workers"])
async def test_a_restart_must_be_agreed_to(
    service: Service, sandbox: CheckedSandbox, lab: Cluster, action: str
) -> None:
    plan = await service.plan_action(lab, action, build_spec(service.action_model("e2e", action), {}))
    assert what_to_ask(plan) is Ask.CONFIRM
    with pytest.raises(GpuClustersError):
        await service.act(plan)
    assert bodies(sandbox, "PUT") == []


@pytest.mark.parametrize("answer", ["412", "400", "200"])
async def test_an_action_on_what_does_not_run_is_warned_of_and_refused(
    service: Service, sandbox: CheckedSandbox, lab: Cluster, answer: str
) -> None:
    sandbox.choose({"e2e.not_running": answer})
    await acted(service, lab, "restart_workers")
    plan = await service.plan_action(
        lab, "restart_cluster", build_spec(service.action_model("e2e", "restart_cluster"), {})
    )
    assert any("this one is Restarting" in warning for warning in plan.warnings)
    with pytest.raises(GpuClustersError, match="needs a running one"):
        await service.act(plan, consent=consent_to(plan))
    assert (await service.state()).orders == ()


@pytest.mark.parametrize(
    ("action", "spec", "is_told"),
    [
        ("update_ssh_keys", {"ssh_keys": ["lab-desktop"]}, True),
        ("update_image", {"image": "NeMo"}, True),
        ("restart_cluster", {}, False),
        ("add_security_group", {"security_groups": ["closed"]}, False),
    ],
)
async def test_a_lost_answer_of_an_action_is_believed_only_where_it_shows(
    service: Service, sandbox: CheckedSandbox, lab: Cluster, action: str, spec: dict[str, Any], is_told: bool
) -> None:
    sandbox.fault(service="e2e", method="PUT", kind="truncated")
    with pytest.raises(OutcomeUnknownError):
        await acted(service, lab, action, **spec)
    sandbox.advance(3600)
    (found,) = await service.recover()
    assert (found.order.state is OrderState.DONE) is is_told
    assert len(bodies(sandbox, "PUT")) == 1


async def test_a_new_address_shows_in_the_next_listing(service: Service, sandbox: CheckedSandbox, lab: Cluster) -> None:
    assert lab.login_address is not None
    (number, *_) = [row for row in sandbox.books()["services"]["e2e"]["alive"] if row.get("kind") == "reserved_ip"]
    made = await acted(service, lab, "attach_ip", reserved_ip_id=int(number["id"]))
    await service.refresh(["e2e"])
    assert (await service.find_cluster("lab")).login_address == made.login_address


# Deleting


async def test_gone_only_when_nothing_shows_it(service: Service, sandbox: CheckedSandbox, lab: Cluster) -> None:
    first = await service.delete(lab)
    assert not first.is_gone
    assert "Deleting" in (first.note or "")
    sandbox.advance(3600)
    assert (await service.delete(lab)).is_gone
    assert alive(sandbox) == {}
    assert (await service.delete(lab)).is_gone


@pytest.mark.parametrize("again", ["200", "404", "412"])
async def test_deleting_what_is_being_deleted_is_calm(
    service: Service, sandbox: CheckedSandbox, lab: Cluster, again: str
) -> None:
    sandbox.choose({"e2e.delete_again": again})
    for _ in range(2):
        assert not (await service.delete(lab)).is_gone
    sandbox.advance(3600)
    assert (await service.delete(lab)).is_gone


@pytest.mark.parametrize(
    "fault",
    [
        {"path": ONE, "kind": "status", "status": 404},
        {"action": "list", "kind": "empty_list"},
        {"action": "list", "kind": "hide_rows"},
        {"path": ONE, "kind": "mutate", "ops": [{"op": "set", "path": "/data", "value": {}}]},
        {"path": ONE, "kind": "mutate", "ops": [{"op": "set", "path": "/data/id", "value": 1}]},
        {"path": ONE, "kind": "status", "status": 502, "shape": "html"},
        {"method": "GET", "kind": "status", "status": 404, "shape": "html"},
        {"method": "GET", "kind": "status", "status": 401},
    ],
    ids=lambda fault: f"{fault.get('path', fault.get('action', 'all'))}-{fault['kind']}-{fault.get('status', '')}",
)
async def test_one_witness_is_no_proof(
    service: Service, sandbox: CheckedSandbox, lab: Cluster, fault: dict[str, Any]
) -> None:
    """The deletion was sent and says so, but the cluster is there until both ways of looking lack it."""
    sandbox.fault(service="e2e", **{"method": "GET", "times": None, **fault})
    deleted = await service.delete(lab)
    assert not deleted.is_gone
    assert deleted.note
    assert deleted.cluster.phase is ClusterPhase.DELETING
    sandbox.clear_faults()
    sandbox.advance(3600)
    assert (await service.delete(lab)).is_gone


async def test_a_refused_delete_is_said(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.choose({"e2e.delete_while_creating": "412"})
    made = await ordered(service)
    with pytest.raises(ConflictError, match="still being created"):
        await service.delete(made)
    assert list(alive(sandbox)) == [made.cluster_id]
