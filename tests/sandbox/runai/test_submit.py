"""What create takes, what it refuses, and how it says so."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from jupyter_gpu_clusters.sandbox.runai.inventory import PRIORITIES
from tests.contracts.document import document
from tests.sandbox.runai.caller import DISTRIBUTED, MUSEUM, ROBOTS, VAULT, VISION, Caller
from tests.sandbox.runai.whole import MPI, PYTORCH, master, worker

Path = tuple[str | int, ...]
NOWHERE = "11111111-2222-4333-8444-555555555555"
NASTY: tuple[Any, ...] = (None, "Ä ?", -1, 1.5, True, [{}])


def paths(value: Any, here: Path = ()) -> Iterator[Path]:
    """Every place of a value, inner ones first."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from paths(item, (*here, key))
    if here:
        yield here


def changed(value: Any, places: Iterable[Path], new: Any) -> Any:
    """A copy in which some places are different."""
    whole = copy.deepcopy(value)
    for *parents, last in places:
        _at(whole, parents)[last] = new
    return whole


def _at(value: Any, path: Iterable[str | int]) -> Any:
    for key in path:
        value = value[key]
    return value


def contract_paths(body: dict[str, Any]) -> set[str]:
    """Where a body breaks the contract."""
    contract = document("runai")
    operation = contract.find("POST", DISTRIBUTED)
    assert operation is not None
    headers = {"content-type": "application/json"}
    problems = contract.request_problems(operation, {}, headers, json.dumps(body).encode())
    return {problem.removeprefix("body ").partition(": ")[0] for problem in problems}


def test_smallest_request(runai: Caller) -> None:
    body = runai.body(name="ddp-1")
    made = runai.submit(name="ddp-1")
    assert made["name"] == made["requestedName"] == "ddp-1"
    assert (made["projectId"], made["departmentId"], made["clusterId"]) == (VISION, "12", body["clusterId"])
    assert (made["createdBy"], made["createdAt"]) == (runai.client_id, "2026-11-30T00:53:20Z")
    assert (made["desiredPhase"], made["actualPhase"], made["deletedAt"]) == ("Running", "Creating", None)
    assert (made["spec"], made["masterSpec"], made["masterSpecSameAsWorker"]) == (body["spec"], None, None)


@pytest.mark.parametrize("framework", [PYTORCH, MPI], ids=lambda value: value["distributedFramework"])
def test_every_field_at_once_is_taken_and_given_back(runai: Caller, framework: dict[str, Any]) -> None:
    made = runai.submit(spec=worker(framework), masterSpec=master())
    assert made["masterSpec"] == {k: v for k, v in master().items() if v is not None}
    assert made["spec"] == worker(framework)


def test_whole_specs_leave_no_field_of_the_contract_out() -> None:
    roots = document("runai")._roots
    schemas = next(root for uri, root in roots.items() if uri.endswith("runai.openapi.yaml"))["components"]["schemas"]
    assert set(worker(PYTORCH)) | set(MPI) == set(schemas["WorkerSpec"]["properties"])
    assert set(master()) == set(schemas["MasterSpec"]["properties"])
    assert set(worker(PYTORCH)["storage"]) == set(schemas["Storage"]["properties"])
    assert set(worker(PYTORCH)["security"]) == set(schemas["Security"]["properties"])


def levels(whole: dict[str, Any], *, apart: bool) -> list[list[Path]]:
    """Places that lie equally deep; apart, those of every field for themselves, and each one of a pvc, whose rules
    are looked at only when all its fields are right."""
    groups: dict[Any, list[Path]] = {}
    for path in paths(whole):
        own = path if path[:2] == ("storage", "pvc") else path[:1]
        groups.setdefault((len(path), own if apart else None), []).append(path)
    return list(groups.values())


@pytest.mark.parametrize("nasty", NASTY, ids=str)
@pytest.mark.parametrize("side", ["spec", "masterSpec"])
def test_nasty_value_in_every_place(runai: Caller, side: str, nasty: Any) -> None:
    """What the contract forbids is refused by name, all at once; what is refused beyond it is named as well."""
    whole = worker(PYTORCH) if side == "spec" else master()
    usual = runai.body()
    refused = 0
    for number, places in enumerate(levels(whole, apart=nasty is None)):
        if nasty is None and side == "masterSpec" and len(places[0]) > 1:
            continue
        spoilt = changed({str(path[0]): whole[str(path[0])] for path in places}, places, nasty)
        base = {**usual["spec"], "stdin": True} if side == "spec" else {"image": "x", "stdin": True}
        body = {**usual, "name": f"n-{number}", side: {**base, **spoilt}}
        answer = runai.bad("POST", DISTRIBUTED, json=body)
        if answer.status_code == 202:
            continue
        refused += 1
        assert answer.status_code == 400, answer.text
        text = answer.json().get("details") or "; ".join(
            f"{side}.{i['field']}: " for i in answer.json()["complianceIssues"]
        )
        named = {part.partition(": ")[0] for part in text.split("; ")}
        spots = {".".join(map(str, (side, *path))) for path in places}
        for problem in contract_paths(body):
            spot = next((spot for spot in spots if f"{problem}.".startswith(f"{spot}.")), None)
            assert spot is None or any(n.startswith(spot) or spot.startswith(n) for n in named), (spot, text)
        assert any(n.split(".")[1:2] == spot.split(".")[1:2] for n in named for spot in spots), text
    assert refused


def test_unknown_keys_at_every_level(runai: Caller) -> None:
    body = runai.body(spec=worker(PYTORCH))
    objects = [path for path in paths(body) if isinstance(_at(body, path), dict)]
    body = changed(body, [(*path, "surprise") for path in [(), *objects]], 1)
    named = runai.refusal(body)["details"]
    for path in [(), *objects]:
        assert f"{'.'.join(map(str, (*path, 'surprise')))}: " in named


def test_unknown_keys_may_be_ignored(make_free: Any) -> None:
    with make_free({"runai.unknown_keys": "ignore"}) as post:
        made = post({"surprise": 1, "spec": {"colour": "red", "compute": {"turbo": True, "gpuDevicesRequest": 1}}})
        assert made["spec"]["compute"] == {"gpuDevicesRequest": 1}
        assert "colour" not in made["spec"]


RULES: list[tuple[dict[str, Any], str]] = [
    ({"slotsPerWorker": 1}, "spec.slotsPerWorker"),
    ({"sshAuthMountPath": "/root/.ssh"}, "spec.sshAuthMountPath"),
    ({"mpiLauncherCreationPolicy": "AtStartup"}, "spec.mpiLauncherCreationPolicy"),
    ({"distributedFramework": "MPI", "minReplicas": 1}, "spec.minReplicas"),
    ({"distributedFramework": "TF", "maxReplicas": 1}, "spec.maxReplicas"),
    ({"distributedFramework": "JAX", "segmentSize": 1}, "spec.segmentSize"),
    ({"minReplicas": 3, "maxReplicas": 2}, "spec.maxReplicas"),
    ({"distributedFramework": None}, "spec.distributedFramework"),
    ({"numWorkers": None}, "spec.numWorkers"),
    ({"image": None}, "spec.image"),
    ({"tty": True}, "spec.tty"),
    ({"args": "x" * 10_001}, "spec.args"),
    ({"command": "x" * 10_001}, "spec.command"),
    ({"priorityClass": "urgent"}, "spec.priorityClass"),
    ({"category": "string"}, "spec.category"),
    ({"nodePools": ["h100", "101"]}, "spec.nodePools"),
    ({"podAffinity": {"type": "Required"}}, "spec.podAffinity.key"),
    ({"security": {"seccompProfileType": "Localhost"}}, "spec.security.seccompProfileType"),
    ({"security": {"supplementalGroups": "1;2"}}, "spec.security.supplementalGroups"),
    ({"compute": {"gpuRequestType": "portion"}}, "spec.compute.gpuPortionRequest"),
    ({"compute": {"gpuRequestType": "memory"}}, "spec.compute.gpuMemoryRequest"),
    ({"compute": {"gpuPortionRequest": 0.5}}, "spec.compute.gpuRequestType"),
    ({"compute": {"gpuMemoryRequest": "1G", "gpuRequestType": "portion", "gpuPortionRequest": 1}}, "gpuRequestType"),
    ({"compute": {"gpuRequestType": "migProfile"}}, "spec.compute.gpuRequestType"),
    ({"compute": {"gpuRequestType": "portion", "gpuPortionRequest": 1.5}}, "spec.compute.gpuPortionRequest"),
    (
        {"compute": {"gpuRequestType": "portion", "gpuPortionRequest": 0.5, "gpuPortionLimit": 0.4}},
        "spec.compute.gpuPortionLimit",
    ),
    (
        {"compute": {"gpuRequestType": "memory", "gpuMemoryRequest": "2Gi", "gpuMemoryLimit": "2G"}},
        "spec.compute.gpuMemoryLimit",
    ),
    ({"compute": {"cpuCoreRequest": 2, "cpuCoreLimit": 1}}, "spec.compute.cpuCoreLimit"),
    ({"compute": {"cpuMemoryRequest": "1Gi", "cpuMemoryLimit": "1000M"}}, "spec.compute.cpuMemoryLimit"),
    ({"compute": {"cpuMemoryRequest": "1..5G"}}, "spec.compute.cpuMemoryRequest"),
    ({"compute": {"cpuMemoryRequest": "-1G"}}, "spec.compute.cpuMemoryRequest"),
    ({"compute": {"gpuDevicesRequest": 2**31}}, "spec.compute.gpuDevicesRequest"),
    ({"compute": {"extendedResources": [{"resource": "rdma/ib", "quantity": 8}]}}, "extendedResources.0.quantity"),
    ({"compute": {"extendedResources": [{"quantity": "8"}]}}, "extendedResources.0.resource"),
    ({"environmentVariables": [{"name": "A", "value": "1", "secret": {"name": "s", "key": "k"}}]}, "only one"),
    ({"environmentVariables": [{"value": "1"}]}, "environmentVariables.0.name"),
    ({"environmentVariables": {"A": "1"}}, "spec.environmentVariables"),
    ({"environmentVariables": [{"name": "A", "secret": {"name": "My_Secret", "key": "k"}}]}, "secret.name"),
    ({"environmentVariables": [{"name": "A", "configMap": {"name": "m"}}]}, "configMap.key"),
    ({"labels": [{"name": "x" * 64, "value": ""}]}, "labels.0.name"),
    ({"annotations": [{"value": ""}]}, "annotations.0.name"),
    ({"imagePullSecrets": [{"userCredential": True}]}, "imagePullSecrets.0.name"),
    ({"exposedUrls": [{"container": 80, "authorizedUsers": ["a"], "authorizedGroups": ["b"]}]}, "exposedUrls.0"),
    ({"exposedUrls": [{"url": "https://x.example.org"}]}, "exposedUrls.0.container"),
    ({"ports": [{"container": 80}]}, "ports.0.serviceType"),
    ({"ports": [{"container": 80, "serviceType": "NodePort", "external": 80}]}, "ports.0.external"),
    ({"ports": [{"container": 65536, "serviceType": "ClusterIP"}]}, "ports.0.container"),
    ({"relatedUrls": [{"url": "https://x.example.org"}]}, "relatedUrls.0.type"),
    ({"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}, "tolerations.0.value"),
    ({"tolerations": [{"key": "a", "seconds": 5, "effect": "NoSchedule"}]}, "tolerations.0.seconds"),
    ({"tolerations": [{"key": "a", "seconds": 5}]}, "tolerations.0.seconds"),
    ({"tolerations": [{"operator": "Exists"}]}, "tolerations.0.key"),
    ({"command": ["torchrun"]}, "spec.command"),
    ({"numWorkers": 0}, "spec.numWorkers"),
    ({"numWorkers": "2"}, "spec.numWorkers"),
    ({"preemptibility": "semi-preemptible"}, "spec.preemptibility"),
    ({"probes": {"readiness": {"handler": {"httpGet": {"path": "no-slash"}}}}}, "httpGet.path"),
]


@pytest.mark.parametrize(("spec", "named"), RULES, ids=lambda value: json.dumps(value)[:60])
def test_rules_between_fields(runai: Caller, spec: dict[str, Any], named: str) -> None:
    refused = runai.refusal(runai.body(spec=spec))
    assert refused["code"] == 400
    assert named in refused["details"]


@pytest.mark.parametrize(
    ("operator", "values", "fits"),
    [
        ("In", ["a"], True),
        ("NotIn", [], False),
        ("In", None, False),
        ("Exists", ["a"], False),
        ("DoesNotExist", None, True),
        ("Gt", ["1", "2"], False),
        ("Lt", ["1"], True),
        ("Near", ["1"], False),
    ],
)
def test_affinity_operators(runai: Caller, operator: str, values: list[str] | None, fits: bool) -> None:
    expression: dict[str, Any] = {"key": "zone", "operator": operator, **({} if values is None else {"values": values})}
    spec = {"nodeAffinityRequired": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    answer = runai.bad("POST", DISTRIBUTED, json=runai.body(spec=spec))
    assert answer.status_code == (202 if fits else 400)
    assert fits or "nodeAffinityRequired.nodeSelectorTerms.0.matchExpressions.0" in answer.json()["details"]


STORAGE: list[tuple[str, dict[str, Any], str]] = [
    ("pvc", {"claimName": "data", "existingPvc": True}, "path"),
    ("pvc", {"path": "/d", "existingPvc": True, "claimInfo": {"size": "1G"}}, "claimInfo"),
    ("pvc", {"path": "/d", "existingPvc": False}, "claimInfo.size"),
    ("pvc", {"path": "/d", "existingPvc": False, "claimInfo": {"size": "1Q"}}, "claimInfo.size"),
    ("pvc", {"path": "/d", "claimName": "x" * 64}, "claimName"),
    ("nfs", {"path": "/d", "mountPath": "/d"}, "server"),
    ("nfs", {"server": "n", "mountPath": "/d"}, "path"),
    ("nfs", {"server": "n", "path": "/d"}, "mountPath"),
    ("hostPath", {"path": "/d"}, "mountPath"),
    ("git", {"path": "/d"}, "repository"),
    ("git", {"repository": "r"}, "path"),
    (
        "git",
        {"repository": "r", "path": "/d", "secretRef": {"authenticationMethod": "token"}},
        "secretRef.authenticationMethod",
    ),
    ("s3", {"path": "/d"}, "bucket"),
    ("s3", {"bucket": "b"}, "path"),
    ("configMapVolume", {"mountPath": "/d"}, "configMap"),
    ("configMapVolume", {"configMap": "c", "mountPath": "/d", "defaultMode": "0888"}, "defaultMode"),
    ("configMapVolume", {"configMap": "c", "mountPath": "/d", "defaultMode": "644"}, "defaultMode"),
    ("secretVolume", {"secret": "s"}, "mountPath"),
    ("emptyDirVolume", {"medium": "Memory"}, "path"),
    ("emptyDirVolume", {"path": "/d", "medium": "string"}, "medium"),
    ("dataVolume", {"mountPath": "/d"}, "id"),
    ("dataVolume", {"id": "my-volume", "mountPath": "/d"}, "id"),
]


@pytest.mark.parametrize(("kind", "mount", "named"), STORAGE, ids=lambda value: json.dumps(value)[:40])
def test_storage_rules(runai: Caller, kind: str, mount: dict[str, Any], named: str) -> None:
    refused = runai.refusal(runai.body(spec={"storage": {kind: [mount]}}))
    assert f"spec.storage.{kind}.0.{named}" in refused["details"]


def test_host_paths_propagate_alike(runai: Caller) -> None:
    mounts = [{"path": "/a", "mountPath": "/a", "mountPropagation": word} for word in ("None", "HostToContainer")]
    refused = runai.refusal(runai.body(spec={"storage": {"hostPath": mounts}}))
    assert "spec.storage.hostPath: mountPropagation" in refused["details"]


def test_all_problems_come_at_once_and_with_their_side(runai: Caller) -> None:
    spec = {"tty": True, "compute": {"cpuCoreRequest": 2, "cpuCoreLimit": 1}}
    refused = runai.refusal(runai.body(name="Bad_Name", spec=spec, masterSpec={"tty": True, "image": "x"}))
    for named in ("name: ", "spec.tty", "spec.compute.cpuCoreLimit", "masterSpec.tty"):
        assert named in refused["details"]


def test_master_like_workers_excludes_a_master_spec(runai: Caller) -> None:
    refused = runai.refusal(runai.body(masterSpecSameAsWorker=True, masterSpec={"image": "x"}))
    assert "masterSpec: " in refused["details"]
    assert runai.submit(masterSpecSameAsWorker=False, masterSpec={"image": "x"})["masterSpec"] == {"image": "x"}
    assert "masterSpec.image" in runai.refusal(runai.body(masterSpec={"command": "mpirun"}))["details"]


@pytest.mark.parametrize("field", ["distributedFramework", "numWorkers", "minReplicas", "cleanPodPolicy"])
def test_master_spec_has_no_workload_fields(runai: Caller, field: str) -> None:
    refused = runai.refusal(runai.body(masterSpec={"image": "x", field: None}))
    assert f"masterSpec.{field}" in refused["details"]


def test_nulls_say_nothing(runai: Caller) -> None:
    spec = dict.fromkeys(worker(PYTORCH))
    body = runai.body()
    body["spec"] = {**spec, **body["spec"], "labels": [None], "compute": {"gpuRequestType": None}}
    body.update(templateId=None, masterSpec=None, masterSpecSameAsWorker=None)
    made = runai.http.post(DISTRIBUTED, json=body).json()
    assert made["spec"] == {**runai.body()["spec"], "labels": [], "compute": {}}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"name": ""}, "name"),
        ({"name": None}, "name"),
        ({"projectId": 4500012}, "projectId"),
        ({"projectId": None}, "projectId"),
        ({"clusterId": "gpu-east"}, "clusterId"),
        ({"clusterId": NOWHERE}, "clusterId"),
        ({"projectId": "1"}, "projectId"),
        ({"templateId": NOWHERE}, "templateId"),
        ({"useGivenNameAsPrefix": "yes"}, "useGivenNameAsPrefix"),
        ({"useGivenNameAsPrefix": None}, "useGivenNameAsPrefix"),
        ({"spec": []}, "spec"),
    ],
    ids=str,
)
def test_top_level_fields(runai: Caller, change: dict[str, Any], named: str) -> None:
    assert named in runai.refusal({**runai.body(), **change})["details"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"name": NaN}', b"\xff"], ids=repr)
def test_what_is_no_json_object(runai: Caller, content: bytes) -> None:
    answer = runai.bad("POST", DISTRIBUTED, content=content, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (400, 400)


def test_content_type_must_be_json(runai: Caller) -> None:
    body = json.dumps(runai.body())
    assert runai.bad("POST", DISTRIBUTED, content=body, headers={"Content-Type": "text/plain"}).status_code == 400


def test_project_out_of_reach_is_403(runai: Caller) -> None:
    answer = runai.http.post(DISTRIBUTED, json={**runai.body(), "projectId": VAULT})
    assert (answer.status_code, answer.json()["code"]) == (403, 403)


def test_old_cluster_is_refused(runai: Caller) -> None:
    refused = runai.refusal(runai.body(project=MUSEUM))
    assert "2.16.9" in refused["message"]


@pytest.mark.parametrize("name", ["Abc", "a_b", "a.b", "1a", "-a", "ä", "a" * 64, "a b"])
def test_name_rules(runai: Caller, name: str) -> None:
    assert "name: " in runai.refusal(runai.body(name=name))["details"]


def test_longest_names(runai: Caller) -> None:
    assert runai.submit(name="a" * 63)["name"] == "a" * 63
    assert len(runai.submit(name="b" * 34, useGivenNameAsPrefix=True)["name"]) <= 63
    assert "34" in runai.refusal(runai.body(name="b" * 35, useGivenNameAsPrefix=True))["details"]


def test_prefix_gets_a_suffix_and_never_collides(runai: Caller) -> None:
    made = [runai.submit(name="sweep", useGivenNameAsPrefix=True) for _ in range(3)]
    assert {one["requestedName"] for one in made} == {"sweep"}
    assert len({one["name"] for one in made}) == 3
    assert all(one["name"].startswith("sweep-") for one in made)


@pytest.mark.parametrize("status", ["409", "400"])
def test_name_is_unique_in_its_project_until_gone(runai: Caller, status: str) -> None:
    runai.sandbox.choose({"runai.duplicate_name": status})
    first = runai.submit(name="twin")
    answer = runai.http.post(DISTRIBUTED, json=runai.body(name="twin"))
    assert answer.status_code == int(status)
    assert "already exists" in answer.json()["message"]
    runai.submit(name="twin", project=ROBOTS)
    runai.act(first["workloadId"], "delete")
    assert runai.http.post(DISTRIBUTED, json=runai.body(name="twin")).status_code == int(status)
    runai.sandbox.advance(10)
    assert runai.submit(name="twin")["workloadId"] != first["workloadId"]


def test_older_servers_answer_200(runai: Caller) -> None:
    runai.sandbox.choose({"runai.create_status": "200"})
    assert runai.http.post(DISTRIBUTED, json=runai.body()).status_code == 200


def test_missing_framework_may_be_pytorch(runai: Caller) -> None:
    runai.sandbox.choose({"runai.framework_missing": "PyTorch"})
    assert runai.submit(spec={"distributedFramework": None})["spec"]["distributedFramework"] == "PyTorch"


@pytest.mark.parametrize(
    "kind",
    [
        {"gpuRequestType": "portion", "gpuPortionRequest": 0.5},
        {"gpuRequestType": "memory", "gpuMemoryRequest": "4G"},
    ],
    ids=lambda value: value["gpuRequestType"],
)
def test_fractions_of_several_devices_by_choice(runai: Caller, kind: dict[str, Any]) -> None:
    spec = {"compute": {"gpuDevicesRequest": 2, **kind}}
    assert runai.submit(spec=spec)["spec"]["compute"]["gpuDevicesRequest"] == 2
    runai.sandbox.choose({"runai.fraction_devices": "refused"})
    assert "gpuDevicesRequest" in runai.refusal(runai.body(spec=spec))["details"]


def test_gpu_limits_by_choice(runai: Caller) -> None:
    runai.sandbox.choose({"runai.gpu_limits": "disabled"})
    compute = {"gpuRequestType": "portion", "gpuPortionRequest": 0.5, "gpuPortionLimit": 0.6}
    assert "gpuPortionLimit" in runai.refusal(runai.body(spec={"compute": compute}))["details"]


def test_devices_may_be_lost_on_the_way(runai: Caller) -> None:
    runai.sandbox.choose({"runai.granted_gpus": "one"})
    assert runai.submit(spec={"compute": {"gpuDevicesRequest": 3}})["spec"]["compute"]["gpuDevicesRequest"] == 1


@pytest.mark.parametrize("priority", PRIORITIES)
def test_preemptible_follows_the_priority_unless_said(runai: Caller, priority: str) -> None:
    for said, preemptible in ((None, PRIORITIES[priority] < 100), ("non-preemptible", False), ("preemptible", True)):
        made = runai.submit(spec={"priorityClass": priority, "preemptibility": said})
        row = runai.detail(made["workloadId"])
        assert (row["priorityClassName"], row["priority"]) == (priority, PRIORITIES[priority])
        assert row["preemptible"] is preemptible


def test_template_is_merged_under_the_spec(runai: Caller) -> None:
    rows = runai.get("/api/v1/workload-templates/distributed")["entries"]
    whole = next(row for row in rows if row["runnable"]["isRunnable"])
    body = {**runai.body(name="from-template"), "templateId": whole["meta"]["id"]}
    del body["spec"]
    made = runai.http.post(DISTRIBUTED, json=body).json()
    assert (made["spec"], made["masterSpecSameAsWorker"]) == (whole["combinedSpec"], True)
    over = {
        "numWorkers": 2,
        "environmentVariables": [{"name": "NCCL_DEBUG", "exclude": True}, {"name": "B", "value": ""}],
    }
    made = runai.http.post(DISTRIBUTED, json={**body, "name": "changed", "spec": over}).json()
    assert made["spec"]["numWorkers"] == 2
    assert made["spec"]["environmentVariables"] == [{"name": "B", "value": ""}]
    assert made["spec"]["image"] == whole["combinedSpec"]["image"]


def test_template_that_is_not_whole_needs_the_rest(runai: Caller) -> None:
    rows = runai.get("/api/v1/workload-templates/distributed")["entries"]
    bare = next(row for row in rows if not row["runnable"]["isRunnable"])
    body = {**runai.body(), "templateId": bare["meta"]["id"]}
    del body["spec"]
    refused = runai.refusal(body)
    assert "spec.image" in refused["details"]
    assert "masterSpec.image" in refused["details"]
    made = runai.http.post(DISTRIBUTED, json={**body, "spec": {"image": "x"}, "masterSpec": {"image": "y"}}).json()
    assert made["spec"]["slotsPerWorker"] == 8
    assert made["masterSpec"] == {"command": "mpirun", "compute": {"cpuCoreRequest": 1}, "image": "y"}
