"""From a spec to a workload: what is planned, what is sent, what comes back."""

from __future__ import annotations

import shlex
from typing import Any

import anyio
import pytest

from jupyter_gpu_clusters.core.errors import ProviderError, SpecError
from jupyter_gpu_clusters.core.models import Order, WorkloadPhase
from jupyter_gpu_clusters.core.spec_fields import describe_fields
from jupyter_gpu_clusters.providers.runai.request import gpus_of
from jupyter_gpu_clusters.providers.runai.spec import MasterSpec, RunaiWorkload, WorkerSpec
from tests.sandbox.runai.whole import MPI, PYTORCH, master, worker

from .conftest import MUSEUM, SMALL, SPEECH, TRAIN, VISION, Runner, order_of

pytestmark = pytest.mark.anyio


async def body_of(runai: Runner, spec: dict[str, Any], name: str = "train") -> dict[str, Any]:
    """What arrives when `spec` is submitted and accepted."""
    await runai.submit(spec, name)
    return runai.bodies()[-1]


async def problems_of(runai: Runner, spec: dict[str, Any], name: str = "train") -> dict[str, str]:
    """Field -> text of what is wrong; nothing may have been sent."""
    with pytest.raises(SpecError) as caught:
        await runai.plan(spec, name)
    assert runai.bodies() == []
    return {problem.field: problem.text for problem in caught.value.problems}


async def test_nodes_count_the_master(runai: Runner) -> None:
    plan = await runai.plan(TRAIN)
    assert (plan.nodes, plan.gpus, plan.is_free, plan.marks_name) == (2, 16, True, True)
    assert plan.confirm == (
        "It takes 16 GPUs of the quota of project vision (deserved 24, allocated now 0), in 2 pods; "
        "Run:ai tells no price."
    )
    workload, order = await runai.submit()
    assert runai.bodies() == [
        {
            "name": order.remote_name,
            "projectId": VISION,
            "clusterId": workload.cluster_id,
            "masterSpecSameAsWorker": True,
            "spec": {
                "image": "pytorch:2.6",
                "command": "python",
                "args": "train.py",
                "compute": {"gpuDevicesRequest": 8},
                "numWorkers": 1,
                "distributedFramework": "PyTorch",
            },
        }
    ]
    assert runai.alive() == [workload.workload_id]
    assert (workload.name, workload.phase, workload.nodes) == ("train", WorkloadPhase.PENDING, 2)
    runai.sandbox.advance(60)
    assert [(row["pods"], row["gpus"]) for row in runai.books()["alive"]] == [(2, 16.0)]


async def test_the_same_plan_makes_the_same_bytes(runai: Runner) -> None:
    plan, launcher = await runai.plan(TRAIN), await runai.launcher()
    await launcher.submit_workload(plan, order_of(plan))
    with pytest.raises(Exception, match="already exists"):
        await launcher.submit_workload(plan, order_of(plan))
    first, second = runai.sent("POST", "/workloads/distributed")
    assert first["body_sha256"] == second["body_sha256"]


@pytest.mark.parametrize("framework", [PYTORCH, MPI], ids=["PyTorch", "MPI"])
async def test_every_field_of_both_specs_arrives_as_written(runai: Runner, framework: dict[str, Any]) -> None:
    spec = {"project": "vision", "spec": worker(framework), "masterSpec": master()}
    body = await body_of(runai, spec)
    assert body["spec"] == spec["spec"]
    assert body["masterSpec"] == spec["masterSpec"]
    assert "masterSpecSameAsWorker" not in body


def test_the_whole_example_names_every_field_there_is() -> None:
    others = {"slotsPerWorker", "sshAuthMountPath", "mpiLauncherCreationPolicy"}
    assert set(worker(PYTORCH)) | others == set(WorkerSpec.model_fields)
    assert set(master()) == set(MasterSpec.model_fields)


def test_every_field_has_a_title_and_a_description() -> None:
    assert [field.name for field in describe_fields(RunaiWorkload) if not field.description] == []
    definitions = RunaiWorkload.model_json_schema()["$defs"]
    untitled = [
        f"{name}.{field}"
        for name, schema in definitions.items()
        for field, inner in schema["properties"].items()
        if "title" not in inner
    ]
    assert untitled == []


async def test_nulls_are_never_sent(runai: Runner) -> None:
    spec = {**TRAIN, "useGivenNameAsPrefix": None, "spec": {"labels": None, "compute": {"cpuCoreRequest": None}}}
    body = await body_of(runai, spec)
    assert "null" not in str(runai.sent("POST", "/workloads/distributed")[-1]["body"])
    assert "labels" not in body["spec"]
    assert body["spec"]["compute"] == {"gpuDevicesRequest": 8}


# Nodes, master, framework

PORTION = {"gpuRequestType": "portion", "gpuPortionRequest": 0.25}


@pytest.mark.parametrize(
    ("changes", "workers", "same", "pods", "gpus"),
    [
        ({"nodes": 1}, 1, None, 1, 8),
        ({"nodes": 3}, 2, True, 3, 24),
        ({"nodes": 3, "masterSpecSameAsWorker": False}, 3, False, 3, 24),
        ({"nodes": 3, "masterSpecSameAsWorker": True}, 2, True, 3, 24),
        ({"nodes": 3, "framework": "JAX"}, 3, None, 3, 24),
        ({"nodes": 2, "framework": "TF"}, 1, True, 2, 16),
        ({"nodes": None, "spec": {"numWorkers": 3}}, 3, None, 3, 24),
        ({"nodes": None, "spec": {"numWorkers": 3}, "masterSpecSameAsWorker": True}, 3, True, 4, 32),
        ({"nodes": 3, "masterSpec": {"compute": {"gpuDevicesRequest": 1}}}, 2, None, 3, 17),
        ({"nodes": 2, "gpus_per_node": 0}, 1, True, 2, 0),
        ({"gpus_per_node": None, "spec": {"compute": PORTION}}, 1, True, 2, 1),
    ],
)  # fmt: skip
async def test_what_a_number_of_nodes_makes(
    runai: Runner, changes: dict[str, Any], workers: int, same: bool | None, pods: int, gpus: int
) -> None:
    spec = {**TRAIN, **changes}
    plan = await runai.plan(spec)
    assert (plan.nodes, plan.gpus) == (pods, gpus)
    body = await body_of(runai, spec)
    assert (body["spec"]["numWorkers"], body.get("masterSpecSameAsWorker")) == (workers, same)
    runai.sandbox.advance(60)
    assert [row["pods"] for row in runai.books()["alive"]] == [pods]


async def test_with_mpi_the_launcher_runs_the_command_and_gets_no_gpus(runai: Runner) -> None:
    spec = {**TRAIN, "nodes": 3, "framework": "MPI", "env": {"A": "value-a"}}
    plan = await runai.plan(spec)
    assert (plan.nodes, plan.gpus) == (3, 16)
    assert any("launcher" in warning for warning in plan.warnings)
    body = await body_of(runai, spec)
    variables = [{"name": "A", "value": "value-a"}]
    assert body["masterSpec"] == {
        "image": "pytorch:2.6", "command": "python", "args": "train.py", "environmentVariables": variables,
    }  # fmt: skip
    assert (body["spec"]["numWorkers"], "command" in body["spec"]) == (2, False)
    assert body["spec"]["environmentVariables"] == variables


async def test_short_words_fill_what_a_given_master_leaves_open(runai: Runner) -> None:
    spec = {**TRAIN, "workdir": "/work", "env": {"A": "value-a", "B": "value-b"}}
    own = {"image": "other:1", "environmentVariables": [{"name": "B", "value": "value-m"}]}
    body = await body_of(runai, {**spec, "masterSpec": own})
    assert body["masterSpec"]["image"] == "other:1"
    assert body["masterSpec"]["workingDir"] == "/work"
    assert body["masterSpec"]["command"] == "python"
    assert body["masterSpec"]["compute"] == {"gpuDevicesRequest": 8}
    values = {v["name"]: v["value"] for v in body["masterSpec"]["environmentVariables"]}
    assert values == {"A": "value-a", "B": "value-m"}
    assert body["spec"]["image"] == "pytorch:2.6"


@pytest.mark.parametrize(
    ("compute", "gpus"),
    [
        ({"gpuDevicesRequest": "8"}, 8),
        ({"gpuDevicesRequest": [8]}, 0),
        ({"gpuRequestType": "portion", "gpuPortionRequest": "0.5", "gpuDevicesRequest": 2}, 1),
        ({"gpuRequestType": "memory", "gpuMemoryRequest": "8G"}, 1),
        ({"gpuRequestType": "portion"}, 1),
        ("nonsense", 0),
    ],
)
def test_gpus_of_a_template_however_it_is_written(compute: Any, gpus: float) -> None:
    assert gpus_of({"compute": compute}) == gpus


# Problems


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"image": "a", "spec": {"image": "b"}}, {"image"}),
        ({"spec": {"command": "x"}}, {"command"}),
        ({"spec": {"args": "x"}}, {"command"}),
        ({"script": "x"}, {"script"}),
        ({"spec": {"numWorkers": 5}}, {"nodes"}),
        ({"spec": {"compute": {"gpuDevicesRequest": 2}}}, {"gpus_per_node"}),
        ({"workdir": "/a", "spec": {"workingDir": "/b"}}, {"workdir"}),
        ({"framework": "PyTorch", "spec": {"distributedFramework": "MPI"}}, {"framework"}),
        ({"env": {"A": "1"}, "spec": {"environmentVariables": [{"name": "A", "value": "1"}]}}, {"env.A"}),
        ({"masterSpecSameAsWorker": True, "masterSpec": {"image": "a"}}, {"masterSpec"}),
        ({"nodes": 1, "masterSpecSameAsWorker": True}, {"nodes"}),
        ({"clusterId": "123e4567-e89b-12d3-a456-426614174000"}, {"clusterId"}),
        ({"project": "vision", "projectId": SPEECH}, {"project"}),
        ({"projectId": "77", "project": None}, {"projectId"}),
        ({"project": "museum"}, {"project"}),
        ({"projectId": MUSEUM, "project": None}, {"projectId"}),
        ({"command": [""]}, {"command"}),
        ({"env": {"A=B": "1"}}, {"env.A=B"}),
        ({"command": ["python", "x" * 10_001]}, {"command"}),
        ({"command": None, "script": "x" * 10_001}, {"script"}),
        ({"image": None}, {"image"}),
        ({"nodes": None}, {"nodes"}),
        ({"image": None, "spec": {"image": "a"}, "masterSpec": {"command": "x"}}, {"masterSpec.image"}),
        ({"spec": {"nodePools": ["h10"]}}, {"spec.nodePools"}),
        ({"spec": {"priorityClass": "hig"}}, {"spec.priorityClass"}),
        ({"spec": {"category": "Trian"}}, {"spec.category"}),
        ({"template": "ddp-two-node"}, {"template"}),
        ({"templateId": "123e4567-e89b-12d3-a456-426614174000"}, {"templateId"}),
        ({"compute_asset": "full-nod", "gpus_per_node": None}, {"compute_asset"}),
    ],
)  # fmt: skip
async def test_contradictions_and_what_cannot_be_found(
    runai: Runner, changes: dict[str, Any], fields: set[str]
) -> None:
    assert set(await problems_of(runai, {**TRAIN, **changes})) == fields


RULES: list[tuple[dict[str, Any], set[str]]] = [
    ({"tty": True}, {"tty"}),
    ({"command": "x" * 10_001, "args": "y" * 10_001}, {"command", "args"}),
    ({"compute": {"gpuRequestType": "portion"}}, {"compute.gpuPortionRequest"}),
    ({"compute": {"gpuRequestType": "memory"}}, {"compute.gpuMemoryRequest"}),
    ({"compute": {"gpuPortionRequest": 0.5}}, {"compute.gpuRequestType"}),
    ({"compute": {"gpuMemoryRequest": "1G"}}, {"compute.gpuRequestType"}),
    ({"compute": {"cpuCoreRequest": 2, "cpuCoreLimit": 1}}, {"compute.cpuCoreLimit"}),
    ({"compute": {"cpuMemoryRequest": "2Gi", "cpuMemoryLimit": "2G"}}, {"compute.cpuMemoryLimit"}),
    ({"compute": {"cpuMemoryRequest": "1..2G"}}, {"compute.cpuMemoryRequest"}),
    ({"compute": {"extendedResources": [{"resource": "rdma/ib"}]}}, {"compute.extendedResources[0].quantity"}),
    ({"environmentVariables": [{"name": "A", "value": "1", "secret": {"name": "s", "key": "k"}}]},
     {"environmentVariables[0]"}),
    ({"environmentVariables": [{"value": "1"}]}, {"environmentVariables[0].name"}),
    ({"environmentVariables": [{"name": "A", "secret": {"name": "s"}}]}, {"environmentVariables[0].secret.key"}),
    ({"environmentVariables": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
     {"environmentVariables[1].name"}),
    ({"exposedUrls": [{"container": 1, "authorizedUsers": ["a"], "authorizedGroups": ["b"]}]}, {"exposedUrls[0]"}),
    ({"exposedUrls": [{"url": "https://a"}]}, {"exposedUrls[0].container"}),
    ({"ports": [{"container": 80, "serviceType": "NodePort", "external": 80}]}, {"ports[0].external"}),
    ({"ports": [{"container": 80}]}, {"ports[0].serviceType"}),
    ({"relatedUrls": [{"url": "https://a"}]}, {"relatedUrls[0].type"}),
    ({"tolerations": [{"key": "a", "seconds": 5, "effect": "NoSchedule"}]}, {"tolerations[0].seconds"}),
    ({"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}, {"tolerations[0].value"}),
    ({"tolerations": [{"effect": "Any"}]}, {"tolerations[0].key"}),
    ({"labels": [{"value": "x"}]}, {"labels[0].name"}),
    ({"imagePullSecrets": [{"userCredential": True}]}, {"imagePullSecrets[0].name"}),
    ({"podAffinity": {"type": "Required"}}, {"podAffinity.key"}),
    ({"security": {"seccompProfileType": "Localhost"}}, {"security.seccompProfileType"}),
    ({"security": {"runAsUid": 5, "uidGidSource": "fromTheImage"}}, {"security.runAsUid"}),
    ({"storage": {"pvc": [{"path": "/a", "existingPvc": True, "claimInfo": {"size": "1G"}}]}},
     {"storage.pvc[0].claimInfo"}),
    ({"storage": {"pvc": [{"path": "/a", "existingPvc": False}]}}, {"storage.pvc[0].claimInfo.size"}),
    ({"storage": {"nfs": [{"path": "/a"}]}}, {"storage.nfs[0].server", "storage.nfs[0].mountPath"}),
    ({"storage": {"hostPath": [{"path": "/a", "mountPath": "/b", "mountPropagation": "None"},
                               {"path": "/c", "mountPath": "/d"}]}}, {"storage.hostPath"}),
    ({"storage": {"dataVolume": [{"mountPath": "/d"}]}}, {"storage.dataVolume[0].id"}),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "wrong"), RULES, ids=[",".join(sorted(wrong)) for _, wrong in RULES])
async def test_rules_between_fields_of_both_specs(runai: Runner, fields: dict[str, Any], wrong: set[str]) -> None:
    found = await problems_of(runai, {**SMALL, "gpus_per_node": None, "spec": fields, "masterSpec": fields})
    assert set(found) == {f"{part}.{name}" for part in ("spec", "masterSpec") for name in wrong}


@pytest.mark.parametrize(
    ("framework", "fields", "wrong"),
    [
        ("PyTorch", {"slotsPerWorker": 1, "sshAuthMountPath": "/s"}, {"slotsPerWorker", "sshAuthMountPath"}),
        ("PyTorch", {"mpiLauncherCreationPolicy": "AtStartup"}, {"mpiLauncherCreationPolicy"}),
        ("MPI", {"minReplicas": 1, "maxReplicas": 2}, {"minReplicas", "maxReplicas"}),
        ("TF", {"segmentSize": 1}, {"segmentSize"}),
        ("PyTorch", {"minReplicas": 3, "maxReplicas": 2}, {"maxReplicas", "minReplicas"}),
        ("PyTorch", {"maxReplicas": 1}, {"maxReplicas"}),
        ("PyTorch", {"segmentSize": 3}, {"segmentSize"}),
    ],
)
async def test_rules_about_frameworks(runai: Runner, framework: str, fields: dict[str, Any], wrong: set[str]) -> None:
    spec = {**SMALL, "nodes": 3, "framework": framework, "spec": fields}
    assert set(await problems_of(runai, spec)) == {f"spec.{name}" for name in wrong}


async def test_rules_hold_for_the_framework_that_is_taken_when_none_is_named(runai: Runner) -> None:
    assert set(await problems_of(runai, {**SMALL, "spec": {"slotsPerWorker": 1}})) == {"spec.slotsPerWorker"}


async def test_all_problems_come_at_once_and_the_nearest_name_is_offered(runai: Runner) -> None:
    spec = {"project": "visoin", "nodes": 1, "masterSpecSameAsWorker": True, "spec": {"tty": True}}
    found = await problems_of(runai, spec, "Bad_Name")
    assert set(found) == {"name", "project", "nodes", "spec.tty", "image"}
    assert "'vision'" in found["project"]


@pytest.mark.parametrize(
    ("name", "changes", "is_right"),
    [
        ("a" * 52, {}, True),
        ("a" * 53, {}, False),
        ("a" * 63, {"exact_name": True}, True),
        ("a" * 64, {"exact_name": True}, False),
        ("a" * 23, {"useGivenNameAsPrefix": True}, True),
        ("a" * 24, {"useGivenNameAsPrefix": True}, False),
        ("a" * 34, {"useGivenNameAsPrefix": True, "exact_name": True}, True),
        ("a" * 35, {"useGivenNameAsPrefix": True, "exact_name": True}, False),
        ("a_b", {}, False),
        ("A", {}, False),
        ("1a", {}, False),
    ],
)
async def test_names(runai: Runner, name: str, changes: dict[str, Any], is_right: bool) -> None:
    spec = {**TRAIN, **changes}
    if is_right:
        assert (await body_of(runai, spec, name))["name"].startswith(name)
    else:
        assert set(await problems_of(runai, spec, name)) == {"name"}


# Projects


async def test_project_beyond_the_first_page_is_found(runai: Runner) -> None:
    added = runai.sandbox.setup("runai", projects=620)["projects"]
    last = f"extra-{len(added) - 1:03}"
    assert (await body_of(runai, {**TRAIN, "project": last}))["projectId"] == added[-1]


@pytest.mark.parametrize("said", [VISION, "vision"])
async def test_project_by_name_or_id_or_of_the_account(sandbox: Any, said: str) -> None:
    runner = Runner(sandbox, project=said)
    assert (await body_of(runner, {**TRAIN, "project": None}))["projectId"] == VISION
    await runner.provider.aclose()


async def test_without_a_project_those_of_the_cluster_are_named(runai: Runner) -> None:
    found = await problems_of(runai, {**TRAIN, "project": None})
    assert found == {"project": "is missing; on gpu-east there is robots, speech, vision."}


async def test_the_only_project_of_a_cluster_is_taken(runai: Runner) -> None:
    plan = await runai.plan({**TRAIN, "project": None}, on="gpu-attic")
    assert plan.shown["projectId"] == MUSEUM
    assert any("too old" in warning for warning in plan.warnings)


@pytest.mark.parametrize("said", [{"projectId": VISION}, {"project": VISION}])
async def test_a_plain_id_is_enough_when_projects_cannot_be_read(runai: Runner, said: dict[str, str]) -> None:
    await runai.cluster()
    runai.sandbox.fault(service="runai", method="GET", path="/api/v1/org-unit/*", kind="status", status=503, times=None)
    spec = {**TRAIN, "project": None, **said}
    plan = await runai.plan(spec)
    assert plan.shown["projectId"] == VISION
    assert any("could not be looked up" in warning for warning in plan.warnings)


async def test_mistakes_are_told_even_when_nothing_can_be_looked_up(runai: Runner) -> None:
    launcher = await runai.launcher()
    runai.sandbox.fault(service="runai", path="/api/v1/org-unit/*", kind="status", status=500, times=None)
    with pytest.raises(SpecError) as caught:
        await launcher.plan_workload("Bad", RunaiWorkload.model_validate({**TRAIN, "script": "x"}), "digest")
    assert {problem.field for problem in caught.value.problems} == {"name", "script"}
    with pytest.raises(ProviderError):
        await launcher.plan_workload("good", RunaiWorkload.model_validate(TRAIN), "digest")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"framework": "XGBoost", "nodes": 1}, "XGBoost without a master"),
        ({"framework": "JAX", "masterSpecSameAsWorker": True}, "JAX with a master"),
        ({"spec": {"cleanPodPolicy": "All"}}, "their logs with them"),
        ({"spec": {"segmentSize": 1}}, "3.0"),
        ({"spec": {"preemptibility": "semi-preemptible"}}, "inferred"),
        ({"spec": {"minReplicas": 1, "maxReplicas": 4}}, "grow to 4"),
        ({"masterSpec": {"backoffLimit": 1}}, "backoffLimit"),
        ({"exact_name": True}, "exact name"),
        ({"command": ["echo", "a b"]}, "inferred"),
    ],
)
async def test_what_may_surprise_is_said(runai: Runner, changes: dict[str, Any], words: str) -> None:
    plan = await runai.plan({**TRAIN, **changes})
    assert any(words in warning for warning in plan.warnings), plan.warnings


# Templates, assets, policies


async def test_template_gives_what_is_not_written(runai: Runner) -> None:
    spec = {"project": "vision", "template": "ddp-two-nodes"}
    plan = await runai.plan(spec)
    assert (plan.nodes, plan.gpus) == (2, 16)
    body = await body_of(runai, spec)
    assert set(body) == {"name", "projectId", "clusterId", "templateId", "spec"}
    assert body["spec"] == {}
    runai.sandbox.advance(60)
    assert [(row["pods"], row["gpus"]) for row in runai.books()["alive"]] == [(2, 16.0)]


async def test_nodes_with_a_template_that_has_a_master(runai: Runner) -> None:
    spec = {"project": "vision", "template": "ddp-two-nodes", "nodes": 4, "gpus_per_node": 2}
    plan = await runai.plan(spec)
    assert (plan.nodes, plan.gpus) == (4, 8)
    assert (await body_of(runai, spec))["spec"] == {"numWorkers": 3, "compute": {"gpuDevicesRequest": 2}}


async def test_template_that_cannot_run_warns_and_may_be_completed(runai: Runner) -> None:
    spec = {"project": "vision", "template": "mpi-bare", "image": "mpi:1"}
    with pytest.raises(SpecError) as caught:
        await runai.plan({"project": "vision", "template": "mpi-bare"})
    assert {problem.field for problem in caught.value.problems} == {"image"}
    plan = await runai.plan({**spec, "masterSpec": {"image": "mpi:1"}})
    assert any("image is missing" in warning for warning in plan.warnings)
    assert plan.nodes == 3


async def test_assets_are_written_into_the_spec_and_what_is_written_wins(runai: Runner) -> None:
    spec = {"project": "vision", "nodes": 2, "compute_asset": "full-node", "environment_asset": "pytorch-ddp"}
    body = await body_of(runai, {**spec, "gpus_per_node": 4})
    assert body["spec"]["compute"] == {"gpuDevicesRequest": 4, "cpuCoreRequest": 64, "largeShmRequest": True}
    assert body["spec"]["image"] == "registry.example.org/pytorch:2.6"
    assert body["spec"]["command"] == "torchrun"
    other = await body_of(runai, {**spec, "command": ["python", "x.py"]}, "other")
    assert (other["spec"]["command"], other["spec"]["args"]) == ("python", "x.py")


async def test_parts_of_an_asset_that_have_no_place_are_said(runai: Runner) -> None:
    plan = await runai.plan({**TRAIN, "environment_asset": "jupyter"})
    assert any("connections" in warning for warning in plan.warnings)


async def test_policy_that_gives_the_image_makes_it_unneeded(runai: Runner) -> None:
    policy = {"defaults": {"worker": {"image": "base:1"}, "master": {"image": "base:1"}}}
    runai.sandbox.setup("runai", policy={"project": VISION, **policy})
    plan = await runai.plan({**TRAIN, "image": None})
    assert "spec.image" not in plan.shown


async def test_unreadable_policy_is_a_warning(runai: Runner) -> None:
    runai.sandbox.fault(service="runai", path="/api/v2/policy/*", kind="status", status=403, times=None)
    plan = await runai.plan({**TRAIN, "image": None})
    assert any("policy could not be read" in warning for warning in plan.warnings)


# Quota


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nodes": 5}, "idle GPUs"),
        ({"nodes": 5, "spec": {"priorityClass": "high"}}, "cannot be preempted"),
        ({"nodes": 4, "spec": {"nodePools": ["h100"], "priorityClass": "very-low"}}, "limit of 24"),
        ({"gpus_per_node": None}, "No GPU is asked for"),
    ],
)
async def test_warnings_about_the_quota(runai: Runner, changes: dict[str, Any], words: str) -> None:
    plan = await runai.plan({**TRAIN, **changes})
    assert any(words in warning for warning in plan.warnings), plan.warnings


async def test_what_is_in_use_is_part_of_the_question(runai: Runner) -> None:
    await runai.running(gpus_per_node=4)
    plan = await runai.plan(TRAIN, "second")
    assert plan.confirm is not None
    assert "allocated now 8" in plan.confirm


# Words


def container_words(body: dict[str, Any]) -> list[str]:
    """What the container gets: split as a shell does, then references replaced as Kubernetes does."""
    words = shlex.split(body["spec"]["command"]) + shlex.split(body["spec"].get("args", ""))
    return [expanded(word) for word in words]


def expanded(text: str) -> str:
    out, place = "", 0
    known = {"HOME": "/root", "A": "changed"}
    while place < len(text):
        rest = text[place:]
        if rest.startswith("$$"):
            out, place = out + "$", place + 2
        elif rest.startswith("$(") and ")" in rest and rest[2 : rest.index(")")] in known:
            out, place = out + known[rest[2 : rest.index(")")]], place + rest.index(")") + 1
        else:
            out, place = out + text[place], place + 1
    return out


@pytest.mark.parametrize(
    "words",
    [
        ["python", "train.py", "--lr", "0.1"],
        ["my program", "", "a b", "it's", 'say "x"', "back\\slash", "new\nline"],
        ["echo", "$HOME", "$(HOME)", "$$(HOME)", "$$", "$$$", "$", "a$", "$(", "$(A)$(A)", "*", "~", "`id`", "é✓"],
    ],
)
async def test_the_container_gets_the_very_words(runai: Runner, words: list[str]) -> None:
    assert container_words(await body_of(runai, {**SMALL, "command": words})) == words


async def test_values_of_variables_are_data(runai: Runner) -> None:
    body = await body_of(runai, {**TRAIN, "env": {"A": "$(HOME) $$ $x"}})
    (variable,) = body["spec"]["environmentVariables"]
    assert expanded(variable["value"]) == "$(HOME) $$ $x"


@pytest.mark.parametrize(
    "script",
    ["echo hello $0 $(date)\nexit 0\n", "#!/usr/bin/env python3\nimport sys\nprint('hello', len(sys.argv))\n"],
)
async def test_scripts_run_as_written(runai: Runner, script: str) -> None:
    body = await body_of(runai, {**SMALL, "script": script})
    done = await anyio.run_process(container_words(body), check=False, env={"PATH": "/usr/bin:/bin"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"hello")


# Secrets


async def test_secrets_are_masked_in_what_is_shown(runai: Runner) -> None:
    spec = {
        **SMALL,
        "script": "login --token hidden-in-script",
        "env": {"TOKEN": "hidden-in-env"},
        "spec": {"environmentVariables": [{"name": "OTHER", "value": "hidden-in-spec"}]},
        "masterSpec": {"command": "bash", "args": "-c 'curl hidden-in-args'"},
    }
    plan = await runai.plan(spec)
    assert "hidden" not in str(plan.shown) + repr(plan) + repr(plan.request) + plan.model_dump_json()
    workload, order = await runai.submit(spec)
    assert "hidden" not in workload.model_dump_json() + Order.model_validate(order).model_dump_json()
    assert [v["value"] for v in runai.bodies()[0]["spec"]["environmentVariables"]] == [
        "hidden-in-spec",
        "hidden-in-env",
    ]
    listing = await runai.provider.list_workloads([await runai.cluster()])
    assert "hidden" not in listing.model_dump_json()


async def test_fewer_gpus_than_asked_for_are_said(runai: Runner) -> None:
    runai.sandbox.choose({"runai.granted_gpus": "one"})
    workload, _ = await runai.submit()
    assert workload.reason == "8 GPUs a pod were asked for and Run:ai says 1."


async def test_a_prefixed_name_is_the_users_name_here(runai: Runner) -> None:
    workload, order = await runai.submit({**TRAIN, "useGivenNameAsPrefix": True})
    (entry,) = [entry for entry in runai.books()["entries"] if entry["action"] == "submit"]
    assert entry["note"]["name"].startswith(f"{order.remote_name}-")
    assert workload.name == "train"
    found = await (await runai.launcher()).find_submitted(order)
    assert [w.workload_id for w in found.workloads] == [workload.workload_id]
