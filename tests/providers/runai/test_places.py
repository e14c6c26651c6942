"""Clusters, offers, look-ups and tables: everything that is read besides workloads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from jupyter_gpu_clusters.core.errors import AuthError, GpuClustersError, SettingsError
from jupyter_gpu_clusters.core.models import Billing, ClusterPhase
from jupyter_gpu_clusters.providers.runai.choices import LOOK_UPS
from jupyter_gpu_clusters.providers.runai.details import CLUSTER_DETAILS, WORKLOAD_DETAILS
from jupyter_gpu_clusters.providers.runai.spec import RunaiWorkload

from .conftest import TRAIN, VISION, Runner

pytestmark = pytest.mark.anyio
CLUSTERS = "/api/v1/clusters"


async def test_clusters_with_their_nodes(runai: Runner) -> None:
    found = await runai.provider.list_clusters()
    east = next(cluster for cluster in found.items if cluster.name == "gpu-east")
    assert (east.node_count, east.gpus_per_node, east.gpu_count) == (8, 8, 64)
    assert east.gpu_type == "NVIDIA-A100-SXM4-80GB, NVIDIA-H100-80GB-HBM3"
    assert (east.phase, east.provider_state) == (ClusterPhase.RUNNING, "Connected")
    assert (east.is_free, east.billing, east.created_here, east.price_per_hour) == (True, Billing.NO, False, None)
    assert found.is_complete


async def test_why_distributed_work_cannot_run_there(runai: Runner) -> None:
    attic = await runai.cluster("gpu-attic")
    assert attic.reason is not None
    assert "2.18" in attic.reason
    assert "operator is not installed" in attic.reason


async def test_a_listing_costs_few_calls(runai: Runner) -> None:
    await runai.provider.list_clusters()
    runai.sandbox.forget_requests()
    await runai.provider.list_clusters()
    assert [row["path"] for row in runai.sandbox.requests()] == [CLUSTERS]


async def test_nodes_that_may_not_be_read_hide_no_cluster(runai: Runner) -> None:
    runai.sandbox.fault(service="runai", path="/api/v1/nodes", kind="status", status=403, times=None)
    found = await runai.provider.list_clusters()
    assert {cluster.node_count for cluster in found.items} == {0}
    assert len(found.items) == 2


@pytest.mark.parametrize("wrapper", ["array", "object"])
async def test_the_short_list_where_the_role_does_not_cover_the_full_one(runai: Runner, wrapper: str) -> None:
    runai.sandbox.choose({"runai.minimal_clusters": wrapper})
    runai.sandbox.fault(service="runai", path=CLUSTERS, kind="status", status=403, times=None)
    found = await runai.provider.list_clusters()
    assert {cluster.name for cluster in found.items} == {"gpu-east", "gpu-attic"}


async def test_no_list_at_all_is_an_error(runai: Runner) -> None:
    runai.sandbox.fault(service="runai", path=f"{CLUSTERS}*", kind="status", status=403, times=None)
    with pytest.raises(AuthError):
        await runai.provider.list_clusters()


@pytest.mark.parametrize(
    ("ops", "phase"),
    [
        ([{"op": "set", "path": "/*/status/state", "value": "Disconnected"}], "degraded"),
        ([{"op": "set", "path": "/*/status/state", "value": "WaitingToConnect"}], "creating"),
        ([{"op": "set", "path": "/*/status/state", "value": "ServiceIssues"}], "degraded"),
        ([{"op": "set", "path": "/*/status/state", "value": "CONNECTED"}], "running"),
        ([{"op": "set", "path": "/*/status/state", "value": "Odd"}], "unknown"),
        ([{"op": "set", "path": "/*/status/state", "value": None}], "unknown"),
        ([{"op": "list", "path": "/*/status/state"}], "running"),
        ([{"op": "set", "path": "/*/status", "value": None}], "unknown"),
        ([{"op": "set", "path": "/*/status", "value": "x"}], "unknown"),
        ([{"op": "set", "path": "/*/deleteRequestedAt", "value": "2026-01-01T00:00:00Z"}], "deleting"),
        ([{"op": "set", "path": "/*/version", "value": None}], "running"),
        ([{"op": "set", "path": "/*/status/dependencies", "value": []}], "running"),
    ],
)
async def test_states_of_clusters(runai: Runner, ops: list[dict[str, Any]], phase: str) -> None:
    runai.sandbox.fault(service="runai", path=CLUSTERS, kind="mutate", ops=ops)
    found = await runai.provider.list_clusters()
    assert {cluster.phase.value for cluster in found.items} == {phase}


async def test_clusters_below_a_key_are_read_too(runai: Runner) -> None:
    row = {"uuid": "123e4567-e89b-12d3-a456-426614174000", "name": "odd", "status": {"state": "Connected"}}
    ops = [{"op": "set", "path": "", "value": {"clusters": [row]}}]
    runai.sandbox.fault(service="runai", path=CLUSTERS, kind="mutate", ops=ops)
    assert [cluster.name for cluster in (await runai.provider.list_clusters()).items] == ["odd"]


async def test_one_cluster_and_none(runai: Runner) -> None:
    east = await runai.cluster()
    assert (await runai.provider.get_cluster(east.cluster_id)).item == east
    lost = await runai.provider.get_cluster("123e4567-e89b-12d3-a456-426614174000")
    assert (lost.answer, lost.item) == ("cannot_tell", None)
    runai.sandbox.fault(service="runai", path=f"{CLUSTERS}/{{id}}", kind="status", status=403, times=1)
    found = await runai.provider.get_cluster(east.cluster_id)
    assert found.item is not None
    assert found.item.name == "gpu-east"


async def test_offers_are_node_pools_without_a_price(runai: Runner) -> None:
    await runai.running()
    found = await runai.provider.list_offers()
    assert len(found.items) == 3
    h100 = next(offer for offer in found.items if offer.title.startswith("h100 in gpu-east"))
    assert (h100.price_per_node_hour, h100.is_free, h100.gpus_per_node) == (None, False, 8)
    assert (h100.gpu_type, h100.region) == ("NVIDIA-H100-80GB-HBM3", "gpu-east")
    assert "robots 0 of 16" in h100.title
    assert RunaiWorkload.model_validate({**TRAIN, **h100.spec}).spec is not None
    default = next(offer for offer in found.items if offer.title.startswith("default in gpu-east"))
    assert "vision 16 of 16" in default.title


# Look-ups


def marks(schema: Any) -> list[tuple[str, list[str]]]:
    """Every look-up that a field of the schema names, with what it depends on."""
    if isinstance(schema, Mapping):
        own = [(schema["choices"], schema["depends_on"])] if "choices" in schema else []
        return own + [mark for inner in schema.values() for mark in marks(inner)]
    return [mark for inner in schema for mark in marks(inner)] if isinstance(schema, list) else []


def test_fields_name_only_look_ups_that_are_there() -> None:
    schema = RunaiWorkload.model_json_schema()
    named = marks(schema)
    assert {name for name, _ in named} <= set(LOOK_UPS)
    assert {path for _, paths in named for path in paths} <= set(schema["properties"])


@pytest.mark.parametrize(
    ("look_up", "given", "wanted"),
    [
        ("projects", {}, "vision"),
        ("project_ids", {}, VISION),
        ("node_pools", {"project": "vision"}, "h100"),
        ("node_pools", {}, "h100"),
        ("templates", {"project": "vision"}, "ddp-two-nodes"),
        ("compute_assets", {"project": "vision"}, "full-node"),
        ("environment_assets", {"projectId": VISION}, "pytorch-ddp"),
        ("datasources", {"project": "vision"}, "shared-nfs"),
        ("pvc_claims", {"project": "vision"}, "shared-data"),
        ("credentials", {}, "team-password"),
        ("priorities", {}, "very-high"),
        ("categories", {}, "Train"),
        ("workload_types", {}, "Distributed"),
        ("storage_classes", {"project": "vision"}, "fast-shared"),
        ("compute_assets", {"project": 17, "spec": "nonsense"}, "one-gpu"),
    ],
)
async def test_choices(runai: Runner, look_up: str, given: dict[str, Any], wanted: str) -> None:
    found = await runai.provider.list_choices(look_up, given)
    assert wanted in [choice.value for choice in found.items]
    assert found.is_complete
    assert all(choice.label for choice in found.items)


@pytest.mark.parametrize("look_up", ["clusters", "template_ids", "data_volumes"])
async def test_choices_by_id_are_labelled_by_name(runai: Runner, look_up: str) -> None:
    found = await runai.provider.list_choices(look_up, {"project": "vision"})
    assert found.items
    assert all(len(str(choice.value)) == 36 and choice.label != choice.value for choice in found.items)


async def test_every_look_up_answers(runai: Runner) -> None:
    for name in LOOK_UPS:
        found = await runai.provider.list_choices(name, {"project": "vision"})
        assert found.items, name


async def test_node_pools_follow_the_project(runai: Runner) -> None:
    found = await runai.provider.list_choices("node_pools", {"project": "museum"})
    assert [choice.value for choice in found.items] == ["default"]


async def test_what_a_policy_refuses_is_marked(runai: Runner) -> None:
    found = await runai.provider.list_choices("compute_assets", {"project": "speech"})
    refused = {choice.value: choice.why_not for choice in found.items}
    assert refused["full-node"]
    assert refused["one-gpu"] is None


@pytest.mark.parametrize(("look_up", "given"), [("storage_classes", {}), ("node_pools", {"project": "nowhere"})])
async def test_what_a_look_up_needs_is_said(runai: Runner, look_up: str, given: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="project"):
        await runai.provider.list_choices(look_up, given)


async def test_choices_are_bounded(runai: Runner) -> None:
    runai.sandbox.setup("runai", projects=1100)
    found = await runai.provider.list_choices("projects", {})
    assert (len(found.items), found.is_complete) == (1000, False)


# Tables


@pytest.mark.parametrize("kind", list(WORKLOAD_DETAILS))
async def test_tables_about_a_workload(runai: Runner, kind: str) -> None:
    workload = await runai.running(env={"TOKEN": "hidden-value"})
    table = await runai.provider.show_details(workload, kind)
    assert table.title == WORKLOAD_DETAILS[kind]
    assert all(set(row) <= set(table.columns) for row in table.rows)
    assert "hidden-value" not in table.model_dump_json()
    if kind == "waiting":
        assert table.note
    else:
        assert table.rows


async def test_pods_in_rank_order_the_master_first(runai: Runner) -> None:
    workload = await runai.running(nodes=4, gpus_per_node=2)
    rows = (await runai.provider.show_details(workload, "pods")).rows
    assert [row["rank"] for row in rows] == [0, 1, 2, 3]
    assert [str(row["name"]).rpartition(f"{workload.name}")[2].split("-", 2)[-1] for row in rows] == [
        "master-0", "worker-0", "worker-1", "worker-2",
    ]  # fmt: skip


async def test_events_and_metrics_have_the_newest_first(runai: Runner) -> None:
    workload = await runai.running(gpus_per_node=2)
    runai.sandbox.advance(100)
    for kind in ("events", "history", "metrics"):
        table = await runai.provider.show_details(workload, kind)
        times = [str(row["at"]) for row in table.rows]
        assert times == sorted(times, reverse=True)
    assert "nvlink_bandwidth_total" in str(table.note)


async def test_why_it_waits_as_a_table(runai: Runner) -> None:
    workload, _ = await runai.submit({**TRAIN, "nodes": 4, "spec": {"nodePools": ["h100"], "priorityClass": "high"}})
    runai.sandbox.advance(30)
    (row,) = (await runai.provider.show_details(workload, "waiting")).rows
    assert (row["node_pool"], row["why"]) in (("h100", "NonPreemptibleOverQuota"), ("h100", "OverLimit"))


@pytest.mark.parametrize("kind", list(CLUSTER_DETAILS))
async def test_tables_about_a_cluster(runai: Runner, kind: str) -> None:
    table = await runai.provider.show_details(await runai.cluster(), kind)
    assert table.title == CLUSTER_DETAILS[kind]
    assert table.rows


async def test_quotas_are_shown_with_what_is_in_use(runai: Runner) -> None:
    await runai.running()
    rows = (await runai.provider.show_details(await runai.cluster(), "projects")).rows
    row = next(row for row in rows if (row["name"], row["node_pool"]) == ("vision", "default"))
    assert (row["deserved"], row["allocated"], row["limit"]) == (16, 16, None)
    assert "museum" not in {row["name"] for row in rows}


@pytest.mark.parametrize(
    "ops",
    [
        [{"op": "text", "path": "/projects/*/resources/*/gpu/deserved"}],
        [{"op": "set", "path": "/projects/*/resources/*/gpu", "value": None}],
        [{"op": "set", "path": "/projects/*/status", "value": []}],
        [{"op": "remove", "path": "/projects/*/totalResources"}],
        [{"op": "set", "path": "/projects/*/status/quotaStatus/allocated/gpu", "value": "lots"}],
        [{"op": "set", "path": "/projects/*/resources", "value": {"a": 1}}],
    ],
)
async def test_odd_quotas_make_no_trouble(runai: Runner, ops: list[dict[str, Any]]) -> None:
    cluster = await runai.cluster()
    runai.sandbox.fault(service="runai", path="/api/v1/org-unit/projects", kind="mutate", ops=ops, times=None)
    assert (await runai.plan(TRAIN)).gpus == 16
    assert (await runai.provider.show_details(cluster, "projects")).rows
    assert (await runai.provider.list_choices("projects", {})).items
    assert (await runai.provider.list_offers()).items


async def test_unknown_kinds_of_tables(runai: Runner) -> None:
    for thing in (await runai.cluster(), (await runai.submit())[0]):
        with pytest.raises(GpuClustersError):
            await runai.provider.show_details(thing, "nonsense")


async def test_the_calls_that_no_verb_needs_yet_answer(runai: Runner) -> None:
    first, _ = await runai.submit(name="first")
    second, _ = await runai.submit(name="second")
    runai.sandbox.advance(60)
    client = await runai.provider._access.client()
    assert await client.count_workloads(filter_by=["type==Distributed"]) == 2
    assert len((await client.list_all_pods()).rows) == 4
    assert (await client.list_all_templates()).rows
    pod = (await client.list_pods(first.workload_id)).rows[0]
    assert first.submitted_at is not None
    end = first.submitted_at.replace(year=first.submitted_at.year + 1)
    measured = await client.pod_metrics(
        first.workload_id, pod.id or "", ["GPU_UTILIZATION_PER_GPU"], first.submitted_at, end, 5
    )
    assert len(measured.rows) == 8
    answer = await client.batch([first.workload_id, "123e4567-e89b-12d3-a456-426614174000"], "delete")
    assert answer.succeeded == (first.workload_id,)
    assert [failure.code for failure in answer.failed] == [404]
    assert (await client.get_cluster_minimal(second.cluster_id)).name == "gpu-east"
