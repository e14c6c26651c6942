"""What can be done to nodes: one request for each, all of them tried, and what failed is told by node."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.errors import (
    ConsentError,
    GpuClustersError,
    OutcomeUnknownError,
    ProviderError,
    RateLimitedError,
    SpecError,
)
from jupyter_gpu_clusters.core.models import Cluster, Plan
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from jupyter_gpu_clusters.providers.lium.actions import ACTIONS
from tests.contracts.fixtures import CheckedSandbox

from .renting import rented

pytestmark = pytest.mark.anyio

UUID = "5b8b1d50-3f0e-4f0a-9d0c-8a3f6f1c0a01"
HARMLESS = ("schedule_removal", "install_jupyter", "feedback")
AT = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
# Action, what is written, method and last part of the path, body.
REQUESTS: list[tuple[str, dict[str, Any], str, str, Any]] = [
    ("schedule_removal", {"at": AT}, "POST", "schedule-removal", {"removal_scheduled_at": AT.isoformat()}),
    ("cancel_removal", {}, "DELETE", "schedule-removal", None),
    ("reboot", {}, "POST", "reboot", {}),
    ("reset_gpu", {}, "POST", "reset-gpu", {"gpu_indices": None}),
    ("reset_gpu", {"gpu_indices": [0, 3]}, "POST", "reset-gpu", {"gpu_indices": [0, 3]}),
    ("install_jupyter", {}, "POST", "install-jupyter", {"jupyter_internal_port": 8888}),
    ("backup", {"name": "b"}, "POST", "backup", {"name": "b", "description": ""}),
    ("feedback", {"feedback_text": "ok"}, "POST", "feedback", {"feedback_text": "ok"}),
    (
        "feedback",
        {"feedback_text": "ok", "rating": 5, "reason": "fast"},
        "POST",
        "feedback",
        {"feedback_text": "ok", "rating": 5, "reason": "fast"},
    ),
]


@pytest.fixture
async def pair(service: Service, sandbox: CheckedSandbox) -> Cluster:
    """A running cluster of two."""
    await rented(service)
    sandbox.advance(600)
    (cluster,) = [one for one in (await service.refresh(["lium"])).clusters if one.account == "lium"]
    sandbox.forget_requests()
    return cluster


async def planned(service: Service, cluster: Cluster, action: str, spec: dict[str, Any]) -> Plan:
    return await service.plan_action(cluster, action, build_spec(service.action_model("lium", action), spec))


async def act(service: Service, cluster: Cluster, action: str, spec: dict[str, Any]) -> Cluster:
    plan = await planned(service, cluster, action, spec)
    return await service.act(plan, consent=consent_to(plan))


def writes(sandbox: CheckedSandbox) -> list[dict[str, Any]]:
    return [r for r in sandbox.requests() if r["method"] != "GET"]


def answers(sandbox: CheckedSandbox, path: str, **fault: Any) -> None:
    sandbox.fault(service="lium", path=path, **{"kind": "status", "shape": "envelope", "times": None, **fault})


async def test_every_node_gets_one_request(service: Service, sandbox: CheckedSandbox, pair: Cluster) -> None:
    for action, spec, method, last, body in REQUESTS:
        sandbox.forget_requests()
        now = await act(service, pair, action, spec)
        sent = writes(sandbox)
        assert [r["path"] for r in sent] == [f"/pods/{node.node_id}/{last}" for node in pair.nodes]
        assert {r["method"] for r in sent} == {method}
        assert [json.loads(r["body"]) if r["body"] else None for r in sent] == [body, body]
        assert (now.name, now.order_id, now.created_here) == (pair.name, pair.order_id, pair.created_here)
        sandbox.advance(600)


async def test_one_node_can_be_meant_alone(service: Service, sandbox: CheckedSandbox, pair: Cluster) -> None:
    await act(service, pair, "reboot", {"node": 1})
    assert [r["path"] for r in writes(sandbox)] == [f"/pods/{pair.nodes[1].node_id}/reboot"]


async def test_templates_volumes_and_backups_are_named(
    service: Service, sandbox: CheckedSandbox, pair: Cluster
) -> None:
    provider = service._accounts.provider("lium")
    client = (await provider._access.connect()).client  # type: ignore[attr-defined]
    volume = (await client.create_volume("data", "")).id
    await act(service, pair, "backup", {"name": "b", "node": 0})
    sandbox.advance(600)
    backup = (await client.list_backups())[0].id
    templates = (await service.choices("lium", "templates", {})).items
    template = next(one for one in templates if "lium-cluster" in str(one.detail["image"]))
    sandbox.forget_requests()
    await act(service, pair, "restore", {"backup_id": backup, "restore_path": "/root/back", "node": 1})
    await act(service, pair, "reboot", {"volume_id": volume, "node": 0})
    sandbox.advance(600)
    await act(service, pair, "switch_template", {"template": template.label, "node": 1})
    assert [json.loads(r["body"]) for r in writes(sandbox)] == [
        {"backup_id": backup, "restore_path": "/root/back"},
        {"volume_id": volume},
        {"template_id": template.detail["id"]},
    ]


@pytest.mark.parametrize(
    ("action", "spec", "field"),
    [
        ("reboot", {"node": 2}, "node"),
        ("schedule_removal", {}, "hours"),
        ("schedule_removal", {"hours": 1, "at": AT}, "hours"),
        ("schedule_removal", {"at": datetime(2020, 1, 1, tzinfo=UTC)}, "at"),
        ("switch_template", {}, "template"),
        ("switch_template", {"template": "none"}, "template"),
        ("switch_template", {"template": "PyTorch", "template_id": UUID}, "template"),
    ],
)
async def test_what_cannot_be_done_is_told_before_anything_is_sent(
    service: Service, sandbox: CheckedSandbox, pair: Cluster, action: str, spec: dict[str, Any], field: str
) -> None:
    with pytest.raises(SpecError) as caught:
        await planned(service, pair, action, spec)
    assert [problem.field for problem in caught.value.problems] == [field]
    assert writes(sandbox) == []


async def test_what_disturbs_or_costs_wants_a_yes(service: Service, sandbox: CheckedSandbox, pair: Cluster) -> None:
    specs: dict[str, dict[str, Any]] = {
        "backup": {"name": "b"},
        "restore": {"backup_id": UUID, "restore_path": "/root/x"},
        "switch_template": {"template_id": UUID},
    }
    for action in (name for name in ACTIONS if name not in HARMLESS):
        plan = await planned(service, pair, action, specs.get(action, {}))
        assert plan.confirm, action
        with pytest.raises(ConsentError):
            await service.act(plan)
    assert writes(sandbox) == []


# Failures


@pytest.mark.parametrize(("action", "spec", "method", "last", "body"), REQUESTS[1:3])
async def test_one_node_that_refuses_hinders_no_other_and_is_told(
    service: Service,
    sandbox: CheckedSandbox,
    pair: Cluster,
    action: str,
    spec: dict[str, Any],
    method: str,
    last: str,
    body: Any,
) -> None:
    path = f"/pods/{pair.nodes[0].node_id}/{last}"
    answers(sandbox, path, status=400, text="Pod is broken; only its deletion works", code="pod_broken")
    with pytest.raises(ProviderError) as caught:
        await act(service, pair, action, spec)
    assert len(writes(sandbox)) == 2
    assert f"{action} was accepted by 1 of 2 nodes: node 0:" in caught.value.message
    assert "only its deletion works" in caught.value.message
    assert ("`node`" in (caught.value.hint or "")) == (action in ("reboot", "reset_gpu"))
    assert (await service.state()).orders == ()


async def test_when_no_node_does_it_all_reasons_are_told(
    service: Service, sandbox: CheckedSandbox, pair: Cluster
) -> None:
    for node, text in zip(pair.nodes, ("first reason", "second reason"), strict=True):
        answers(sandbox, f"/pods/{node.node_id}/reboot", status=400, text=text)
    with pytest.raises(ProviderError, match=r"0 of 2 nodes: node 0: .*first reason.*; node 1: .*second reason"):
        await act(service, pair, "reboot", {})


async def test_a_single_nodes_own_error_is_raised_as_it_is(
    service: Service, sandbox: CheckedSandbox, pair: Cluster
) -> None:
    sandbox.fault(service="lium", path="/pods/*/reset-gpu", kind="retry_after", seconds=60)
    with pytest.raises(RateLimitedError):
        await act(service, pair, "reset_gpu", {"node": 0})
    assert len(writes(sandbox)) == 1


@pytest.mark.parametrize("kind", ["drop_before", "drop_after"])
async def test_a_lost_answer_is_not_sent_again_and_stays_open(
    service: Service, sandbox: CheckedSandbox, pair: Cluster, kind: str
) -> None:
    sandbox.fault(service="lium", path="/pods/*/reboot", kind=kind)
    with pytest.raises(OutcomeUnknownError):
        await act(service, pair, "reboot", {"node": 0})
    assert len(writes(sandbox)) == 1
    (order,) = (await service.state()).orders
    assert order.action == "reboot"
    (found,) = await service.recover()
    assert "tells whether reboot was done" in (found.order.note or "")


async def test_what_may_be_repeated_is(service: Service, sandbox: CheckedSandbox, pair: Cluster) -> None:
    sandbox.fault(service="lium", path="/pods/*/schedule-removal", kind="drop_after")
    now = await act(service, pair, "schedule_removal", {"hours": 5})
    assert len(writes(sandbox)) == 3
    assert now.ends_at is not None
    assert abs(now.ends_at - datetime.now(UTC) - timedelta(hours=5)) < timedelta(minutes=1)


async def test_a_look_that_fails_afterwards_does_not_undo_it(
    service: Service, sandbox: CheckedSandbox, pair: Cluster
) -> None:
    plan = await planned(service, pair, "reboot", {"node": 0})
    answers(sandbox, "/pods", status=404)
    now = await service.act(plan, consent=consent_to(plan))
    assert (now.cluster_id, now.name) == (pair.cluster_id, pair.name)
    assert (await service.state()).orders == ()


async def test_a_missing_scope_is_named(service: Service, sandbox: CheckedSandbox, pair: Cluster) -> None:
    text = "API key 'notebook' does not have the 'manage' scope"
    answers(sandbox, "/pods/*/reboot", status=403, shape="detail", text=text)
    with pytest.raises(GpuClustersError, match="scope 'manage'"):
        await act(service, pair, "reboot", {"node": 0})
