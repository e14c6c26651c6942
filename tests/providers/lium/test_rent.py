"""Renting: one order whatever happens to the answer, and nothing adopted that is another's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.errors import GpuClustersError, OutcomeUnknownError, ProviderError, QuotaError, SpecError
from jupyter_gpu_clusters.core.models import Cluster, ClusterPhase
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from tests.contracts.fixtures import CheckedSandbox

from .renting import PAIR, RENT, made, rented, rents

pytestmark = pytest.mark.anyio


async def plan_of(service: Service, name: str = "pair", **changes: Any) -> Any:
    spec = {key: value for key, value in {**PAIR, **changes}.items() if value is not None}
    return await service.plan_create("lium", name, build_spec(service.spec_model("lium"), spec))


async def recovered(service: Service) -> list[Cluster]:
    await service.recover()
    state = await service.state()
    assert state.orders == ()
    return [cluster for cluster in state.clusters if cluster.account == "lium"]


async def test_the_bytes_and_the_headers(service: Service, sandbox: CheckedSandbox) -> None:
    await rented(service)
    (sent,) = rents(sandbox)
    body = json.loads(sent["body"])
    assert set(body) == {"pod_name", "template_id", "user_public_key", "executor_uuids"}
    assert body["pod_name"].startswith("pair-")
    headers = {name.lower(): value for name, value in sent["headers"].items()}
    assert headers["idempotency-key"]
    assert headers["x-customer-ref"] == body["pod_name"].removeprefix("pair-")


@pytest.mark.parametrize("kind", ["drop_after", "cut_body", "truncated", "empty"])
async def test_a_lost_answer_is_asked_for_again_with_the_same_key_and_bytes(
    service: Service, sandbox: CheckedSandbox, kind: str
) -> None:
    sandbox.fault(service="lium", path=RENT, kind=kind)
    if kind == "empty":
        with pytest.raises(OutcomeUnknownError):
            await rented(service)
        (cluster,) = await recovered(service)
    else:
        cluster = await rented(service)
        first, second = rents(sandbox)
        assert first["body_sha256"] == second["body_sha256"]
    assert cluster.name == "pair"
    assert len(made(sandbox)) == 2


async def test_without_the_feature_nothing_is_sent_again_and_the_order_is_found_by_looking(
    service: Service, sandbox: CheckedSandbox
) -> None:
    sandbox.choose({"lium.idempotency": "absent"})
    sandbox.fault(service="lium", path=RENT, kind="drop_after")
    with pytest.raises(OutcomeUnknownError):
        await rented(service)
    assert len(rents(sandbox)) == 1
    (cluster,) = await recovered(service)
    assert (cluster.name, cluster.created_here, len(cluster.nodes)) == ("pair", True, 2)
    assert len(made(sandbox)) == 2


async def test_a_lost_request_is_rented_by_the_second_one(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.fault(service="lium", path=RENT, kind="drop_before")
    await rented(service)
    assert len(made(sandbox)) == 2


async def test_a_stranger_of_the_same_base_name_is_not_adopted(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.choose({"lium.idempotency": "absent"})
    stranger = await rented(service, name="other")
    sandbox.fault(service="lium", path=RENT, kind="drop_before")
    with pytest.raises(OutcomeUnknownError):
        await rented(service)
    found = await service.recover()
    assert [one.order.state for one in found] == ["not_seen"]
    state = await service.refresh(["lium"])
    assert [cluster.cluster_id for cluster in state.clusters if cluster.account == "lium"] == [stranger.cluster_id]


async def test_members_that_are_listed_late_are_not_lost(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.fault(service="lium", path="/pods", kind="hide_rows", index=1, seconds=120, times=None)
    cluster = await rented(service)
    assert cluster.node_count == 2
    assert "1 of 2 nodes are not listed" in (cluster.reason or "")
    sandbox.advance(600)
    (now,) = [c for c in (await service.refresh(["lium"])).clusters if c.account == "lium"]
    assert (now.phase, now.node_count, now.reason) == (ClusterPhase.RUNNING, 2, None)


async def test_rented_but_not_listed_stays_open_and_is_found_later(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.fault(service="lium", path="/pods", kind="hide_rows", seconds=120, times=None)
    with pytest.raises(OutcomeUnknownError, match="does not list them yet; they are billed"):
        await rented(service)
    with pytest.raises(OutcomeUnknownError):
        await rented(service)
    sandbox.advance(600)
    (cluster,) = await recovered(service)
    assert (cluster.name, cluster.node_count) == ("pair", 2)
    assert len(made(sandbox)) == 2


async def test_running_it_again_attaches(service: Service, sandbox: CheckedSandbox) -> None:
    first = await rented(service)
    plan = await plan_of(service)
    again = await service.create(plan, consent=consent_to(plan))
    assert (again.attached, again.cluster.cluster_id, again.cluster.name) == (True, first.cluster_id, "pair")
    assert len(made(sandbox)) == 2


@pytest.mark.parametrize("honoured", ["honoured", "ignored"])
async def test_every_member_gets_the_end_time_that_was_asked_for(
    service: Service, sandbox: CheckedSandbox, honoured: str
) -> None:
    sandbox.choose({"lium.termination_hours": honoured})
    spec = build_spec(service.spec_model("lium"), {**PAIR, "termination_hours": 4})
    cluster = await rented(service, spec=spec)
    assert cluster.ends_at is not None
    assert "NO END TIME" not in (cluster.reason or "")


async def test_an_end_time_that_cannot_be_set_is_said(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.choose({"lium.termination_hours": "ignored"})
    path = "/pods/{pod_id}/schedule-removal"
    sandbox.fault(service="lium", path=path, kind="status", status=500, shape="envelope", times=None)
    spec = build_spec(service.spec_model("lium"), {**PAIR, "termination_hours": 4})
    cluster = await rented(service, spec=spec)
    assert cluster.ends_at is None
    assert "NO END TIME" in (cluster.reason or "")


async def test_a_refusal_in_band_closes_the_order_and_frees_the_name(service: Service, sandbox: CheckedSandbox) -> None:
    text = "A cluster rental must take whole nodes"
    sandbox.fault(service="lium", path=RENT, kind="status", status=200, shape="in_band", text=text)
    with pytest.raises(ProviderError, match="must take whole nodes"):
        await rented(service)
    assert (await service.state()).orders == ()
    await rented(service)
    assert len(made(sandbox)) == 2


async def test_too_little_money_is_said_with_its_amounts(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.setup("lium", balance=1)
    plan = await plan_of(service)
    assert any("the balance is 1" in warning for warning in plan.warnings)
    with pytest.raises(QuotaError, match=r"\$"):
        await service.create(plan, consent=consent_to(plan))
    assert made(sandbox) == []


async def test_without_a_list_of_what_there_is_nothing_is_planned(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.fault(service="lium", path="/pods", kind="status", status=500, shape="envelope", times=None)
    with pytest.raises(GpuClustersError):
        await plan_of(service)


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"gpu": "B300"}, {"nodes"}),
        ({"nodes": 9}, {"nodes"}),
        ({"fabric": "warm"}, {"fabric"}),
        ({"template": "none"}, {"template"}),
        ({"template": "PyTorch"}, {"template"}),
        ({"ssh_keys": ["none"]}, {"ssh_keys"}),
        ({"user_public_key": None}, {"ssh_keys"}),
        ({"gpu_count": 4}, {"gpu_count"}),
        ({"build_context_sha256": "0" * 64}, {"build_context_sha256"}),
        ({"user_public_key": []}, {"ssh_keys"}),
        ({"user_public_key": ["-----BEGIN OPENSSH PRIVATE KEY-----"]}, {"user_public_key"}),
        ({"restore_path": "/root/x"}, {"restore_path"}),
        ({"max_price_per_hour": 1}, {"max_price_per_hour"}),
        ({"volume": "none"}, {"volume"}),
        ({"executor_uuids": ["a", "a"], "nodes": None}, {"executor_uuids"}),
        ({"executor_uuids": ["a", "b"], "nodes": 3}, {"executor_uuids", "nodes"}),
        ({"nodes": 1, "fabric": "hot"}, {"fabric"}),
        ({"gpu": "B300", "ssh_keys": ["none"], "template": "none"}, {"nodes", "ssh_keys", "template"}),
    ],
)
async def test_every_fault_is_told_at_its_field(
    service: Service, sandbox: CheckedSandbox, changes: dict[str, Any], fields: set[str]
) -> None:
    with pytest.raises(SpecError) as caught:
        await plan_of(service, **changes)
    assert {problem.field for problem in caught.value.problems} == fields
    assert rents(sandbox) == []


@pytest.mark.parametrize("price", [0, None])
async def test_what_is_no_price_is_unknown_and_never_free(
    service: Service, sandbox: CheckedSandbox, price: Any
) -> None:
    ops = [{"op": "set", "path": "/*/nodes/*/price_per_gpu", "value": price}]
    sandbox.fault(service="lium", path="/executors/infiniband-clusters", kind="mutate", ops=ops, times=None)
    plan = await plan_of(service)
    assert (plan.price_per_hour, plan.is_free) == (None, False)
