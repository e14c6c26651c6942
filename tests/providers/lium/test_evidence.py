"""What may be taken for the work of an order whose answer was lost, and what is only shown to the user."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jupyter_gpu_clusters.core.errors import ConflictError, OutcomeUnknownError
from jupyter_gpu_clusters.core.models import Order, OrderState, utc_now
from jupyter_gpu_clusters.core.reports import Recovered
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from jupyter_gpu_clusters.providers.lium.convert import groups_of
from jupyter_gpu_clusters.providers.lium.finding import find
from jupyter_gpu_clusters.providers.lium.wire import Pod
from tests.contracts.fixtures import CheckedSandbox
from tests.core import make
from tests.sandbox.lium.renter import Renter

from .renting import PAIR, RENT, listed, made, rented, rents

MARK = "0a1bab2cd3"
NOW = utc_now()


def order(**changes: Any) -> Order:
    told: dict[str, Any] = {"mark": MARK, "remote_name": f"pair-{MARK}", "shown": {"executor_uuids": ["h1", "h2"]}}
    return make.order(**told | {"created_at": NOW} | changes)


def pods(cluster_id: str | None, hosts: str, *, name: str = "x", ids: str = "pq", hours: float = 9) -> list[Pod]:
    at = (NOW + timedelta(hours=hours)).isoformat()
    return [
        Pod.model_validate(
            {"id": one, "executor_id": host, "cluster_id": cluster_id, "pod_name": name, "created_at": at}
        )
        for one, host in zip(ids, hosts.split(), strict=True)
    ]


MINE = f"pair-{MARK}"


@pytest.mark.parametrize(
    ("shown", "changes"),
    [
        (pods("c", "h1 h2", name=MINE), {}),
        (pods("c", "h2 h1", name=MINE.upper()), {}),
        (pods("c", "h1 h2", name=f"{MINE}-0"), {}),
        (pods("c", "h8 h9"), {"remote_ids": ("p",)}),
        (pods("c", "h8 h9"), {"remote_ids": ("c",), "remote_name": "pair"}),
    ],
)
def test_found(shown: list[Pod], changes: dict[str, Any]) -> None:
    assert find(order(**changes), groups_of(shown), ()).cluster_id == "c"


@pytest.mark.parametrize(
    ("shown", "changes"),
    [
        (pods("c", "h1", name=MINE, ids="p"), {}),
        (pods("c", "h1 h9", name=MINE), {}),
        (pods("c", "h1 h2 h3", name=MINE, ids="pqr"), {}),
        (pods("c", "h8 h9", name=MINE), {}),
        (pods("c", "h1 h2"), {}),
        (pods("c", "h1 h9"), {}),
        (pods("c", "h1 h2", name="pair"), {"remote_name": "pair"}),
        (pods("c", "h8 h9", hours=0.9), {}),
        (pods("c", "h8 h9", hours=-0.9), {}),
    ],
)
def test_only_a_candidate(shown: list[Pod], changes: dict[str, Any]) -> None:
    seen = find(order(**changes), groups_of(shown), ())
    assert (seen.cluster_id, list(seen.candidates)) == (None, ["c"])
    assert seen.reason


@pytest.mark.parametrize(
    ("shown", "changes"),
    [
        (pods("c", "h8 h9", hours=1.1), {}),
        (pods("c", "h7 h8 h9", hours=0, ids="pqr"), {}),
        (pods("c", "h8 h9", name="theirs-0a1bzzzzzz", hours=0), {}),
        (pods("c", "h1 h2", name=MINE), {"baseline": ("c",)}),
        (pods("c", "h1 h2", name=MINE), {"baseline": ("p", "q")}),
        (pods("c", "h1 h2"), {"baseline": ("p", "q"), "remote_ids": ("p",)}),
    ],
)
def test_not_even_a_candidate(shown: list[Pod], changes: dict[str, Any]) -> None:
    seen = find(order(**changes), groups_of(shown), ())
    assert (seen.cluster_id, dict(seen.candidates)) == (None, {})


def test_two_clusters_with_one_mark_are_both_candidates() -> None:
    twice = [*pods("c", "h1 h2", name=MINE), *pods("d", "h1 h2", name=MINE, ids="rs")]
    seen = find(order(), groups_of(twice), ())
    assert (seen.cluster_id, list(seen.candidates)) == (None, ["c", "d"])


def test_what_an_answer_to_another_order_named_is_none() -> None:
    seen = find(order(), groups_of(pods("c", "h1 h2", hours=0)), {"c"})
    assert (seen.cluster_id, dict(seen.candidates)) == (None, {})


def test_named_pods_in_two_clusters_are_not_taken() -> None:
    apart = [*pods("c", "h1", ids="p"), *pods("d", "h2", ids="q")]
    seen = find(order(remote_ids=("p", "q")), groups_of(apart), ())
    assert (seen.cluster_id, seen.reason is not None) == (None, True)


# Over HTTP, and by the books


async def lost(service: Service, sandbox: CheckedSandbox, **spec: Any) -> Order:
    """An order that was carried out, whose answer never came."""
    sandbox.choose({"lium.idempotency": "absent"})
    sandbox.fault(service="lium", path=RENT, kind="drop_after")
    with pytest.raises(OutcomeUnknownError):
        await rented(service, spec=build_spec(service.spec_model("lium"), {**PAIR, **spec}))
    (order,) = (await service.state()).orders
    return order


async def looked_for(service: Service, order: Order) -> Recovered:
    (found,) = [one for one in await service.recover() if one.order.order_id == order.order_id]
    return found


@pytest.mark.anyio
async def test_without_a_mark_it_is_adopted_when_the_user_says_so(service: Service, sandbox: CheckedSandbox) -> None:
    open_order = await lost(service, sandbox, exact_name=True)
    found = await looked_for(service, open_order)
    (candidate,) = found.candidates
    assert found.order.state is OrderState.NOT_SEEN
    assert candidate.reason == "It is on 2 of the 2 hosts that were ordered."
    assert candidate.cluster_id in (found.order.note or "")
    await service.adopt(open_order.order_id, candidate.cluster_id)
    (cluster,) = await listed(service)
    assert (cluster.created_here, cluster.name) == (True, "pair")
    assert (await service.state()).orders == ()


@pytest.mark.anyio
async def test_a_part_of_it_is_shown_and_not_adopted_until_the_rest_shows(
    service: Service, sandbox: CheckedSandbox
) -> None:
    open_order = await lost(service, sandbox)
    fault = sandbox.fault(service="lium", path="/pods", kind="hide_rows", index=1, times=None)
    found = await looked_for(service, open_order)
    assert [one.node_count for one in found.candidates] == [1]
    assert "(1 of 2 nodes). It may be billed." in (found.order.note or "")
    sandbox.clear_faults(fault)
    assert (await looked_for(service, open_order)).order.state is OrderState.DONE
    (cluster,) = await listed(service)
    assert cluster.member_ids == tuple(made(sandbox))


@pytest.mark.anyio
async def test_what_was_there_before_is_no_candidate_and_cannot_be_adopted(
    service: Service, sandbox: CheckedSandbox
) -> None:
    Renter(sandbox, sandbox.variables()["LIUM_API_KEY"]).rent(2, pod_name="elsewhere")
    (older,) = await listed(service)
    open_order = await lost(service, sandbox, exact_name=True)
    found = await looked_for(service, open_order)
    assert older.cluster_id not in [one.cluster_id for one in found.candidates]
    with pytest.raises(ConflictError):
        await service.adopt(open_order.order_id, older.cluster_id)


@pytest.mark.anyio
@pytest.mark.parametrize("spec", [{}, {"exact_name": True}])
async def test_looking_for_an_order_sends_nothing_but_reads(
    service: Service, sandbox: CheckedSandbox, spec: dict[str, Any]
) -> None:
    await lost(service, sandbox, **spec)
    hidden = sandbox.fault(service="lium", path="/pods", kind="hide_rows", times=None)
    sandbox.forget_requests()
    before = sandbox.books()["services"]["lium"]["entries"]
    await service.recover()
    sandbox.clear_faults(hidden)
    await service.recover()
    await service.refresh(["lium"])
    assert {request["method"] for request in sandbox.requests()} == {"GET"}
    assert sandbox.books()["services"]["lium"]["entries"] == before
    assert rents(sandbox) == []
