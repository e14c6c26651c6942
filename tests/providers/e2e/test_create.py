"""Ordering: one cluster whatever becomes of the answer, and nothing adopted that is another's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.errors import (
    AuthError,
    GpuClustersError,
    InvalidRequestError,
    NoCapacityError,
    OutcomeUnknownError,
    QuotaError,
)
from jupyter_gpu_clusters.core.models import ClusterPhase, OrderState
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.sandbox.e2e import E2E
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox

from .ordering import CLUSTERS, alive, bodies, ordered, planned

pytestmark = pytest.mark.anyio


async def test_what_is_sent_and_what_comes_of_it(service: Service, sandbox: CheckedSandbox) -> None:
    made = await ordered(service)
    (body,) = bodies(sandbox, "POST")
    assert body["name"].startswith("lab-")
    assert {name: value for name, value in body.items() if name != "name"} == {
        "image_version_id": 58,
        "ssh_key_ids": [7302],
        "security_group_id": 5501,
        "sku_id": 412,
        "no_of_nodes": 2,
        "sku_item_price_id": 8721,
    }
    assert (made.name, made.node_count, made.created_here, made.phase) == ("lab", 2, True, ClusterPhase.CREATING)
    assert str(made.price_per_hour) == "3,984.00 INR"
    sandbox.advance(600)
    (listed,) = [one for one in (await service.refresh(["e2e"])).clusters if one.account == "e2e"]
    assert (listed.name, listed.phase, listed.created_here) == ("lab", ClusterPhase.RUNNING, True)
    assert listed.login_address is not None


LOST: list[dict[str, Any]] = [
    {"kind": "drop_after"},
    {"kind": "cut_body"},
    {"kind": "truncated"},
    {"kind": "empty"},
    {"kind": "html", "status": 200},
    {"kind": "status_after", "status": 500, "shape": "html"},
    {"kind": "status_after", "status": 504, "shape": "detail"},
    {"kind": "mutate", "ops": [{"op": "remove", "path": "/data/id"}]},
    {"kind": "mutate", "ops": [{"op": "set", "path": "/data", "value": "Cluster created"}]},
    {"kind": "mutate", "ops": [{"op": "set", "path": "/data", "value": None}]},
    {"kind": "mutate", "ops": [{"op": "set", "path": "/errors", "value": {"mount": ["late"]}}]},
]


@pytest.mark.parametrize("fault", LOST, ids=str)
async def test_a_lost_answer_is_made_good_by_reading(
    service: Service, sandbox: CheckedSandbox, fault: dict[str, Any]
) -> None:
    sandbox.setup("e2e", stock={"sku_id": 412, "nodes": 100})
    sandbox.fault(service="e2e", action="create", **fault)
    with pytest.raises(OutcomeUnknownError):
        await ordered(service)
    sandbox.clear_faults()
    (found,) = await service.recover()
    assert (found.order.state, found.order.remote_ids) == (OrderState.DONE, tuple(alive(sandbox)))
    assert (await ordered(service)).cluster_id in alive(sandbox)
    assert len(bodies(sandbox, "POST")) == 1


async def test_a_cluster_that_is_not_listed_at_first_is_found_later(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.fault(service="e2e", action="create", kind="drop_after")
    with pytest.raises(OutcomeUnknownError):
        await ordered(service)
    sandbox.fault(service="e2e", action="list", kind="hide_rows", seconds=300, times=None)
    (first,) = await service.recover()
    assert first.order.state.is_open
    sandbox.advance(301)
    (second,) = await service.recover()
    assert (second.order.state, second.order.remote_ids) == (OrderState.DONE, tuple(alive(sandbox)))
    assert len(bodies(sandbox, "POST")) == 1


@pytest.mark.parametrize(
    ("kept", "name", "is_found"),
    [("suffixed", "lab", True), ("cut", "lab", True), ("cut", "a-name-of-seventeen", False)],
)
async def test_a_name_that_the_service_changes(
    make_sandbox: MakeSandbox, monkeypatch: pytest.MonkeyPatch, kept: str, name: str, is_found: bool
) -> None:
    """Found by its mark; a name whose mark was cut off proves nothing and is only told."""
    sandbox = make_sandbox(services=[E2E], choices={"e2e.name_kept": kept})
    for variable, value in sandbox.variables().items():
        monkeypatch.setenv(variable, value)
    service = Service.open()
    sandbox.fault(service="e2e", action="create", kind="drop_after")
    with pytest.raises(OutcomeUnknownError):
        await ordered(service, name)
    (found,) = await service.recover()
    await service.aclose()
    assert (found.order.state is OrderState.DONE) is is_found
    if not is_found:
        (cluster_id,) = alive(sandbox)
        assert cluster_id.partition("/")[2] in found.note


async def test_without_a_mark_nothing_is_adopted(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.fault(service="e2e", action="create", kind="drop_after")
    with pytest.raises(OutcomeUnknownError):
        await ordered(service, exact_name=True)
    assert bodies(sandbox, "POST")[0]["name"] == "lab"
    (found,) = await service.recover()
    assert found.order.state.is_open
    assert [(one.name, one.created_here) for one in found.candidates] == [("lab", False)]
    assert found.candidates[0].cluster_id in found.note
    (adopted,) = [await service.adopt(found.order.order_id, found.candidates[0].cluster_id)]
    assert adopted.created_here
    assert (await service.state()).orders == ()


async def test_lost_in_chennai_is_looked_for_in_chennai(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.setup("e2e", security_group={"project_id": 31007, "location": "Chennai", "id": 5900})
    sandbox.fault(service="e2e", action="create", kind="drop_after")
    place: dict[str, Any] = {"location": "Chennai", "security_group": None, "security_group_id": 5900}
    with pytest.raises(OutcomeUnknownError):
        await ordered(service, **place, ssh_keys=None, ssh_key_ids=[7304])
    (found,) = await service.recover()
    assert found.order.remote_ids == tuple(alive(sandbox))
    assert found.order.remote_ids[0].startswith("Chennai/")


@pytest.mark.parametrize(
    ("setup", "kind", "said"),
    [
        ({"credit": 100.0}, QuotaError, "credit"),
        ({"stock": {"sku_id": 412, "nodes": 1}}, NoCapacityError, "Only 1 nodes"),
        ({"price": {"sku_item_price_id": 8721, "is_active": False}}, InvalidRequestError, "not active"),
        ({"revoke": "e2e-key"}, AuthError, "365 days"),
    ],
    ids=["credit", "stock", "price", "key"],
)
async def test_refusals_close_the_order(
    service: Service, sandbox: CheckedSandbox, setup: Mapping[str, Any], kind: type[GpuClustersError], said: str
) -> None:
    plan = await planned(service)
    sandbox.setup("e2e", **setup)
    with pytest.raises(GpuClustersError) as caught:
        await service.create(plan, consent=consent_to(plan))
    assert caught.value.is_definite
    assert said in str(caught.value)
    assert isinstance(caught.value, kind)
    assert (await service.state()).orders == ()
    assert alive(sandbox) == {}


@pytest.mark.parametrize(
    ("ops", "said"),
    [
        ({"/data/sku_details/plan/unit_price": 2500}, "It costs 5,000.00 INR per hour; 3,984.00 INR was planned."),
        ({"/data/sku_details/plan/committed_days": 30}, "a committed term of 30 days, which was not planned"),
        ({"/data/no_of_nodes": 5}, "E2E made 5 nodes; 2 were ordered"),
        ({"/data/sku_details/plan/unit_price": "1992.00"}, None),
        ({"/data/sku_details": None}, None),
        ({"/data/status": ["Creating"]}, None),
    ],
)
async def test_an_answer_that_differs_from_the_plan_is_said(
    service: Service, sandbox: CheckedSandbox, ops: dict[str, Any], said: str | None
) -> None:
    changes = [{"op": "set", "path": path, "value": value} for path, value in ops.items()]
    sandbox.fault(service="e2e", path=CLUSTERS, action="create", kind="mutate", ops=changes)
    made = await ordered(service)
    assert made.cluster_id in alive(sandbox)
    assert said is None or said in (made.reason or "")
    assert said is not None or "planned" not in (made.reason or "")


async def test_a_committed_term_is_bought_as_planned(service: Service, sandbox: CheckedSandbox) -> None:
    made = await ordered(service, plan="30d")
    assert bodies(sandbox, "POST")[0]["sku_item_price_id"] == 8722
    assert (made.price_per_hour, made.reason) == (None, None)
    (row,) = alive(sandbox).values()
    assert row["nodes"] == 2
