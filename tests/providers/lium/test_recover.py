"""Rents whose answer or whose members do not show: sent at most twice, found by proof alone, and told not to repeat."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.errors import ConflictError, GpuClustersError, OutcomeUnknownError, ProviderError
from jupyter_gpu_clusters.core.models import Cluster, Order, OrderState
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from jupyter_gpu_clusters.providers.lium.provider import LiumProvider
from tests.contracts.fixtures import CheckedSandbox
from tests.core import make

from .renting import PAIR, PUBLIC_KEY, RENT, made, rented, rents

pytestmark = pytest.mark.anyio

ONE: dict[str, Any] = {"nodes": 1, "gpu": "A6000", "user_public_key": [PUBLIC_KEY]}
SINGLE = "/executors/{executor_uuid}/rent"


def header(request: dict[str, Any], name: str) -> str | None:
    return {key.lower(): value for key, value in request["headers"].items()}.get(name)


async def order_of(service: Service, name: str = "pair", **spec: Any) -> Cluster:
    return await rented(service, spec=build_spec(service.spec_model("lium"), spec or PAIR), name=name)


async def lost(service: Service, name: str = "pair", **spec: Any) -> Order:
    """Order something whose answer does not come; the open order."""
    with pytest.raises(OutcomeUnknownError) as caught:
        await order_of(service, name, **spec)
    assert "%cluster_recover" in str(caught.value)
    (order,) = (await service.state()).orders
    return order


async def clusters(service: Service) -> list[Cluster]:
    return [one for one in (await service.refresh(["lium"])).clusters if one.account == "lium"]


# Single nodes: the same rules on the other route


@pytest.mark.parametrize("style", ["pod_id", "pod"])
async def test_a_single_rent_in_bytes_and_headers(service: Service, sandbox: CheckedSandbox, style: str) -> None:
    sandbox.choose({"lium.single_answer": style})
    single = await order_of(service, "one", **ONE)
    (sent,) = rents(sandbox)
    body = json.loads(sent["body"])
    assert set(body) == {"pod_name", "user_public_key"}
    assert header(sent, "x-customer-ref") == body["pod_name"].removeprefix("one-")
    assert header(sent, "idempotency-key")
    assert [node.node_id for node in single.nodes] == made(sandbox)
    assert (single.name, single.created_here, single.node_count) == ("one", True, 1)


@pytest.mark.parametrize("kind", ["drop_before", "drop_after", "cut_body"])
async def test_a_single_rent_is_sent_again_with_the_same_key(
    service: Service, sandbox: CheckedSandbox, kind: str
) -> None:
    sandbox.fault(service="lium", path=SINGLE, kind=kind)
    await order_of(service, "one", **ONE)
    first, second = rents(sandbox)
    assert header(first, "idempotency-key") == header(second, "idempotency-key")
    assert first["body_sha256"] == second["body_sha256"]
    assert len(made(sandbox)) == 1


async def test_a_single_node_is_found_by_its_mark(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.choose({"lium.idempotency": "absent"})
    sandbox.fault(service="lium", path=SINGLE, kind="drop_after")
    await lost(service, "one", **ONE)
    await service.recover()
    (found,) = await clusters(service)
    assert (found.name, found.created_here, [node.node_id for node in found.nodes]) == ("one", True, made(sandbox))
    assert len(rents(sandbox)) == 1


async def test_the_users_own_reference_is_sent(service: Service, sandbox: CheckedSandbox) -> None:
    await order_of(service, **PAIR, customer_ref="team 7")
    assert header(rents(sandbox)[0], "x-customer-ref") == "team 7"
    assert "customer_ref" not in json.loads(rents(sandbox)[0]["body"])


# What is sent again, and what is not


@pytest.mark.parametrize("status", [500, 504])
@pytest.mark.parametrize("kind", ["status", "status_after"])
async def test_a_gateways_error_is_asked_again_once(
    service: Service, sandbox: CheckedSandbox, status: int, kind: str
) -> None:
    sandbox.fault(service="lium", path=RENT, kind=kind, status=status, shape="html")
    if kind == "status":
        await order_of(service)
    else:
        # The first answer was not kept, so the second call is told that its outcome is not known.
        await lost(service)
        await service.recover()
        assert [one.name for one in await clusters(service)] == ["pair"]
    assert len(rents(sandbox)) == 2
    assert len(made(sandbox)) == 2


async def test_twice_lost_is_left_open_and_not_tried_a_third_time(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.fault(service="lium", path=RENT, kind="drop_after", times=None)
    order = await lost(service)
    assert order.state is not OrderState.DONE
    assert len(rents(sandbox)) == 2
    assert len(made(sandbox)) == 2


@pytest.mark.parametrize("fault", [{"kind": "html"}, {"kind": "drop_before"}, {"kind": "status", "status": 404}])
async def test_a_server_that_does_not_say_that_it_is_safe_is_asked_once(
    service: Service, sandbox: CheckedSandbox, fault: dict[str, Any]
) -> None:
    sandbox.fault(service="lium", path="/version", times=None, **fault)
    sandbox.fault(service="lium", path=RENT, kind="drop_after")
    await lost(service)
    assert len(rents(sandbox)) == 1


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 422, 429])
async def test_a_certain_refusal_is_sent_once_and_closes_the_order(
    service: Service, sandbox: CheckedSandbox, status: int
) -> None:
    sandbox.fault(service="lium", path=RENT, kind="status", status=status, shape="envelope", text="no such thing")
    with pytest.raises(ProviderError, match="no such thing"):
        await order_of(service)
    assert len(rents(sandbox)) == 1
    assert (await service.state()).orders == ()


@pytest.mark.parametrize("code", ["idempotency_in_progress", "idempotency_outcome_unknown", "rentals_paused", None])
async def test_a_409_is_never_certain(service: Service, sandbox: CheckedSandbox, code: str | None) -> None:
    sandbox.fault(service="lium", path=RENT, kind="status", status=409, shape="envelope", code=code)
    with pytest.raises((ConflictError, OutcomeUnknownError)):
        await order_of(service)
    assert len(rents(sandbox)) == 1
    (order,) = (await service.state()).orders
    assert order.state is not OrderState.DONE
    with pytest.raises(GpuClustersError):
        await order_of(service)
    assert len(rents(sandbox)) == 1


async def test_a_refusal_that_was_kept_is_replayed_and_certain(service: Service, sandbox: CheckedSandbox) -> None:
    plan = await service.plan_create("lium", "pair", build_spec(service.spec_model("lium"), PAIR))
    sandbox.setup("lium", take=plan.shown["executor_uuids"][:1])
    sandbox.fault(service="lium", path=RENT, kind="drop_after")
    with pytest.raises(ProviderError, match="not available"):
        await service.create(plan, consent=consent_to(plan))
    assert len(rents(sandbox)) == 2
    assert (await service.state()).orders == ()
    assert made(sandbox) == []


async def test_work_that_is_done_late_is_one_rent_and_is_found(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.fault(service="lium", path=RENT, kind="commit_late", seconds=30)
    await lost(service)
    (early,) = await service.recover()
    assert early.order.state is OrderState.NOT_SEEN
    sandbox.advance(60)
    await service.recover()
    assert [one.name for one in await clusters(service)] == ["pair"]
    assert len(made(sandbox)) == 2


# Finding


async def test_under_an_exact_name_nothing_is_adopted(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.choose({"lium.idempotency": "absent"})
    sandbox.fault(service="lium", path=RENT, kind="drop_after")
    await lost(service, **PAIR, exact_name=True)
    assert json.loads(rents(sandbox)[0]["body"])["pod_name"] == "pair"
    (found,) = await service.recover()
    assert "exact name" in (found.order.note or "")
    assert [one.created_here for one in await clusters(service)] == [False]


async def test_the_same_mark_on_other_hosts_is_not_ours(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.choose({"lium.idempotency": "absent"})
    sandbox.fault(service="lium", path=RENT, kind="drop_after")
    await lost(service)
    ops = [{"op": "set", "path": "/0/executor_id", "value": "another"}]
    sandbox.fault(service="lium", path="/pods", kind="mutate", ops=ops, times=None)
    (found,) = await service.recover()
    assert found.order.state is OrderState.NOT_SEEN


async def test_the_host_may_be_told_in_the_nested_object_alone(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.choose({"lium.idempotency": "absent"})
    sandbox.fault(service="lium", path=RENT, kind="drop_after")
    await lost(service)
    ops = [{"op": "remove", "path": "/*/executor_id"}]
    sandbox.fault(service="lium", path="/pods", kind="mutate", ops=ops, times=None)
    await service.recover()
    assert [one.name for one in await clusters(service)] == ["pair"]


@pytest.mark.parametrize("fault", [{"kind": "status", "status": 500}, {"kind": "html"}, {"kind": "truncated"}])
async def test_a_list_that_cannot_be_read_settles_nothing(
    service: Service, sandbox: CheckedSandbox, fault: dict[str, Any]
) -> None:
    sandbox.fault(service="lium", path=RENT, kind="drop_after", times=None)
    await lost(service)
    broken = sandbox.fault(service="lium", path="/pods", times=None, **fault)
    await service.recover()
    assert len((await service.state()).orders) == 1
    sandbox.clear_faults(broken)
    await service.recover()
    assert (await service.state()).orders == ()


async def test_a_list_that_is_not_whole_proves_no_absence(provider: LiumProvider, sandbox: CheckedSandbox) -> None:
    ops = [{"op": "set", "path": "", "value": [7]}]
    sandbox.fault(service="lium", path="/pods", kind="mutate", ops=ops, times=None)
    order = make.order(mark="m234567890", remote_name="pair-m234567890", shown={"executor_uuids": ["a", "b"]})
    search = await provider.find_created(order)
    assert (search.found, search.never_happened) == ((), False)
    assert "as a whole" in (search.reason or "")


async def test_an_empty_list_never_says_that_nothing_happened(provider: LiumProvider, sandbox: CheckedSandbox) -> None:
    order = make.order(mark="m234567890", remote_name="pair-m234567890", shown={"executor_uuids": ["a", "b"]})
    search = await provider.find_created(order)
    assert (search.found, search.never_happened) == ((), False)


# Rented, and the list does not say so


async def test_lists_that_fail_after_the_rent_leave_an_order_with_its_ids(
    service: Service, sandbox: CheckedSandbox
) -> None:
    plan = await service.plan_create("lium", "pair", build_spec(service.spec_model("lium"), PAIR))
    broken = sandbox.fault(service="lium", path="/pods", kind="html", status=502, times=None)
    with pytest.raises(OutcomeUnknownError, match="they are billed"):
        await service.create(plan, consent=consent_to(plan))
    (order,) = (await service.state()).orders
    assert list(order.remote_ids) == made(sandbox)
    sandbox.clear_faults(broken)
    await service.recover()
    assert [(one.name, one.node_count) for one in await clusters(service)] == [("pair", 2)]


async def test_a_member_that_shows_at_the_second_look_is_waited_for(service: Service, sandbox: CheckedSandbox) -> None:
    # The looks before the rent see nothing yet; the first look after it misses a member.
    sandbox.fault(service="lium", path="/pods", kind="hide_rows", index=1, skip=2, times=1)
    cluster = await order_of(service)
    assert (cluster.node_count, cluster.reason) == (2, None)
    looks = [r for r in sandbox.requests() if r["method"] == "GET" and r["path"] == "/pods"]
    assert len(looks) == 4


@pytest.mark.parametrize("op", [{"op": "text", "path": "/success"}, {"op": "remove", "path": "/success"}])
async def test_what_names_its_pods_is_a_rent_whatever_else_it_says(
    service: Service, sandbox: CheckedSandbox, op: dict[str, Any]
) -> None:
    sandbox.fault(service="lium", path=RENT, kind="mutate", ops=[op])
    assert (await order_of(service)).node_count == 2


@pytest.mark.parametrize("body", [{}, {"success": True}, {"success": True, "pod_ids": []}, [], None, "ok"])
async def test_an_accepted_rent_that_names_no_pod_is_open_and_found(
    service: Service, sandbox: CheckedSandbox, body: Any
) -> None:
    ops = [{"op": "set", "path": "", "value": body}]
    sandbox.fault(service="lium", path=RENT, kind="mutate", ops=ops, times=None)
    await lost(service)
    await service.recover()
    assert [(one.name, one.node_count) for one in await clusters(service)] == [("pair", 2)]
    assert len(made(sandbox)) == 2


async def test_a_no_that_names_pods_is_looked_into(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.fault(
        service="lium", path=RENT, kind="mutate", ops=[{"op": "set", "path": "/success", "value": False}], times=None
    )
    with pytest.raises(GpuClustersError):
        await order_of(service)
    (order,) = (await service.state()).orders
    assert list(order.remote_ids) == made(sandbox)
    await service.recover()
    assert [one.name for one in await clusters(service)] == ["pair"]
