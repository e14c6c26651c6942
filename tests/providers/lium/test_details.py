"""Lium's own tables: one node that cannot be read hides no other, and odd rows are survived."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.errors import GpuClustersError
from jupyter_gpu_clusters.core.models import Cluster, Details
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from jupyter_gpu_clusters.providers.lium.details import CLUSTER_DETAILS
from tests.contracts.fixtures import CheckedSandbox

from .renting import PUBLIC_KEY, rented

pytestmark = pytest.mark.anyio

PER_NODE = {
    "events": "/pods/{id}/events",
    "logs": "/pods/{id}/logs",
    "records": "/pods/{id}/record",
    "quote": "/executors/{id}/quote",
    "backups": "/backup-logs/pod/{id}",
}
ODD: list[Any] = [None, [], {}, 7, "text", [7, None], {"lines": "x"}, {"pods": 5}, {"items": {"a": 1}}, [{"a": [1]}]]


@pytest.fixture
async def pair(service: Service, sandbox: CheckedSandbox) -> Cluster:
    """A running cluster of two, with one backup."""
    await rented(service)
    sandbox.advance(600)
    (cluster,) = [one for one in (await service.refresh(["lium"])).clusters if one.account == "lium"]
    model = service.action_model("lium", "backup")
    plan = await service.plan_action(cluster, "backup", build_spec(model, {"name": "b", "node": 0}))
    await service.act(plan, consent=consent_to(plan))
    sandbox.advance(3600)
    return cluster


def column(details: Details, name: str) -> list[Any]:
    return [row.get(name) for row in details.rows]


async def test_every_table_has_rows_of_its_columns(service: Service, sandbox: CheckedSandbox, pair: Cluster) -> None:
    for kind in CLUSTER_DETAILS:
        details = await service.details(pair, kind)
        assert details.rows, kind
        for row in details.rows:
            assert set(row) <= set(details.columns), kind


async def test_both_nodes_are_told_apart(service: Service, sandbox: CheckedSandbox, pair: Cluster) -> None:
    for kind in ("events", "logs", "records", "quote", "statement"):
        assert set(column(await service.details(pair, kind), "node")) == {0, 1}, kind
    assert column(await service.details(pair, "backups"), "name") == ["b"]


async def test_the_newest_event_is_first(service: Service, sandbox: CheckedSandbox, pair: Cluster) -> None:
    times = column(await service.details(pair, "events"), "at")
    assert times == sorted(times, reverse=True)


async def test_the_quote_is_for_a_day_and_for_the_gpus_that_are_billed(
    service: Service, sandbox: CheckedSandbox, pair: Cluster
) -> None:
    await service.details(pair, "quote")
    asked = [r["query"] for r in sandbox.requests() if r["path"].endswith("/quote")]
    assert asked == [{"hours": ["24"], "gpu_count": ["8"]}] * 2


async def test_a_node_that_cannot_be_read_is_a_note(service: Service, sandbox: CheckedSandbox, pair: Cluster) -> None:
    fault = {"kind": "status", "status": 404, "shape": "envelope", "text": "no such pod"}
    for kind, path in PER_NODE.items():
        sandbox.fault(service="lium", path=path, skip=1, **fault)
        details = await service.details(pair, kind)
        assert "Node 1:" in (details.note or ""), kind
        assert "no such pod" in (details.note or ""), kind
        assert set(column(details, "node")) == {0}, kind


@pytest.mark.parametrize("kind", ["statement", "balance"])
async def test_a_table_of_the_account_that_cannot_be_read_is_an_error(
    service: Service, sandbox: CheckedSandbox, pair: Cluster, kind: str
) -> None:
    path = {"statement": "/billing/statement", "balance": "/users/me"}[kind]
    text = "API key 'notebook' does not have the 'billing' scope"
    sandbox.fault(service="lium", path=path, kind="status", status=403, shape="detail", text=text, times=None)
    with pytest.raises(GpuClustersError, match="scope 'billing'"):
        await service.details(pair, kind)


async def test_odd_answers_make_no_crash(service: Service, sandbox: CheckedSandbox, pair: Cluster) -> None:
    for body in ODD:
        ops = [{"op": "set", "path": "", "value": body}]
        for path in (*PER_NODE.values(), "/billing/statement", "/users/me"):
            sandbox.fault(service="lium", path=path, kind="mutate", ops=ops, times=None)
        for kind in CLUSTER_DETAILS:
            assert isinstance(await service.details(pair, kind), Details), (body, kind)
        sandbox.clear_faults()


async def test_a_statement_with_odd_ids_is_read(service: Service, sandbox: CheckedSandbox, pair: Cluster) -> None:
    for value in ([1], {"a": 1}, 7, None):
        ops = [{"op": "set", "path": "/pods/0/pod_id", "value": value}]
        sandbox.fault(service="lium", path="/billing/statement", kind="mutate", ops=ops)
        assert set(column(await service.details(pair, "statement"), "node")) == {1}


async def test_what_is_gone_can_still_be_looked_up(service: Service, sandbox: CheckedSandbox, pair: Cluster) -> None:
    await service.delete(pair)
    sandbox.advance(3600)
    details = await service.details(pair, "records")
    assert set(column(details, "close_reason")) == {"user_initiated"}
    assert (await service.details(pair, "events")).rows


async def test_a_single_node_has_tables_too(service: Service, sandbox: CheckedSandbox) -> None:
    spec = {"nodes": 1, "gpu": "A6000", "user_public_key": [PUBLIC_KEY]}
    single = await rented(service, spec=build_spec(service.spec_model("lium"), spec))
    bare = single.model_copy(update={"nodes": ()})
    assert column(await service.details(bare, "records"), "gpu_name") == ["NVIDIA RTX A6000"]
