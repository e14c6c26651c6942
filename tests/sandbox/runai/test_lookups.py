"""Clusters, departments, projects, node pools, nodes, assets and everything else that forms choose from."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.fixtures import CheckedSandbox
from tests.sandbox.runai.caller import MUSEUM, ROBOTS, SPEECH, VAULT, VISION, Caller

V1 = "/api/v1"


def test_clusters_are_a_bare_array(runai: Caller) -> None:
    east, attic = runai.get(f"{V1}/clusters")
    assert (east["name"], east["version"], east["status"]["state"]) == ("gpu-east", "2.24.3", "Connected")
    assert attic["status"]["dependencies"]["optional"]["distributed"]["available"] is False
    assert "status" not in runai.get(f"{V1}/clusters", verbosity="metadata")[0]
    assert runai.get(f"{V1}/clusters/{east['uuid']}")["name"] == "gpu-east"


def test_cluster_domain_leads_to_the_cluster_api(runai: Caller) -> None:
    domain = runai.get(f"{V1}/clusters")[0]["domain"]
    assert domain == runai.sandbox.variables()["RUNAI_URL"]
    runai.sandbox.choose({"runai.cluster_api": "unset"})
    assert runai.get(f"{V1}/clusters")[0]["domain"] is None
    runai.sandbox.choose({"runai.cluster_api": "unreachable"})
    assert runai.get(f"{V1}/clusters")[0]["domain"] == "http://127.0.0.1:9"


def test_minimal_clusters_in_every_wrapper(runai: Caller) -> None:
    path = f"{V1}/clusters/minimal"
    bare = runai.get(path)
    assert [row["name"] for row in bare] == ["gpu-east", "gpu-attic"]
    assert runai.get(f"{V1}/clusters/{bare[0]['uuid']}/minimal") == bare[0]
    assert [row["name"] for row in runai.get(path, filterBy="name==gpu-attic")] == ["gpu-attic"]
    runai.sandbox.choose({"runai.minimal_clusters": "object"})
    assert runai.get(path) == {"clusters": bare}
    runai.sandbox.choose({"runai.minimal_clusters": "missing"})
    assert runai.http.get(path).status_code == 404


def test_projects_show_quota_and_scope(runai: Caller) -> None:
    rows = {row["id"]: row for row in runai.get(f"{V1}/org-unit/projects")["projects"]}
    assert set(rows) == {VISION, SPEECH, ROBOTS, MUSEUM}
    vision = rows[VISION]
    assert vision["totalResources"]["gpuQuota"] == 24
    assert [(r["nodePool"]["name"], r["gpu"]["deserved"], r["gpu"]["limit"]) for r in vision["resources"]] == [
        ("default", 16, None),
        ("h100", 8, 24),
    ]
    assert runai.http.get(f"{V1}/org-unit/projects/{VAULT}").status_code == 403
    assert runai.http.get(f"{V1}/org-unit/projects/1").status_code == 404


@pytest.mark.parametrize(
    ("terms", "found"),
    [
        ("name==vision", {VISION}),
        ("departmentId==13", {ROBOTS}),
        ("parentName=^res", {VISION, SPEECH}),
        ("totalGpuQuota>=24", {VISION, ROBOTS}),
        ("phase==NotReady", set()),
    ],
)
def test_project_filters(runai: Caller, terms: str, found: set[str]) -> None:
    assert {row["id"] for row in runai.get(f"{V1}/org-unit/projects", filterBy=terms)["projects"]} == found


def test_quota_in_use(runai: Caller) -> None:
    spec = {"numWorkers": 2, "compute": {"gpuDevicesRequest": 4, "cpuCoreRequest": 10, "cpuMemoryRequest": "2G"}}
    runai.running(spec={**spec, "preemptibility": "non-preemptible"})
    status = runai.get(f"{V1}/org-unit/projects/{VISION}")["status"]["quotaStatus"]
    used = {"gpu": 8, "cpu": 20, "memory": 4e9}
    assert (status["allocated"], status["allocatedNonPreemptible"], status["requested"]) == (used, used, used)
    department = runai.get(f"{V1}/org-unit/departments", verbosity="verbose")["departments"][0]
    assert department["status"]["quotaStatus"]["allocated"] == used
    assert "status" not in runai.get(f"{V1}/org-unit/departments", verbosity="meta")["departments"][0]


def test_node_pools_have_no_next(runai: Caller) -> None:
    body = runai.get(f"{V1}/node-pools", limit=1)
    assert [row["name"] for row in body["nodepools"]] == ["default"]
    assert "next" not in body
    names = [row["name"] for row in runai.get(f"{V1}/node-pools", sortBy="name", sortOrder="desc")["nodepools"]]
    assert names == ["h100", "default", "default"]


def test_nodes(runai: Caller) -> None:
    rows = runai.get(f"{V1}/nodes", filterBy="nodePool==h100,gpuType=@H100")["nodes"]
    assert [row["gpuInfo"]["gpuCount"] for row in rows] == [8, 8, 8, 8]
    assert len(runai.get(f"{V1}/nodes", search="a100")["nodes"]) == 4


@pytest.mark.parametrize(
    ("path", "kinds"),
    [
        ("compute", {"compute"}),
        ("environment", {"environment"}),
        ("datasource", {"pvc", "nfs", "s3", "git", "hostPath", "config-map", "secret-volume"}),
        ("datasource/pvc", {"pvc"}),
        ("datasource/nfs", {"nfs"}),
        ("datasource/s3", {"s3"}),
        ("datasource/git", {"git"}),
        ("datasource/host-path", {"hostPath"}),
        ("datasource/config-map", {"config-map"}),
        ("datasource/secrets", {"secret-volume"}),
        ("credentials", {"accessKey", "password", "dockerRegistry", "genericSecret", "ngcApiKey"}),
    ],
)
def test_assets_of_every_kind(runai: Caller, path: str, kinds: set[str]) -> None:
    rows = runai.get(f"{V1}/asset/{path}")["entries"]
    assert {row["meta"]["kind"] for row in rows} == kinds
    assert runai.get(f"{V1}/asset/{path}", name="no-such")["entries"] == []


def test_data_sources_of_all_kinds_have_a_key_each(runai: Caller) -> None:
    rows = runai.get(f"{V1}/asset/datasource")["entries"]
    assert {key for row in rows for key in row["spec"]} == {
        "pvc",
        "nfs",
        "s3",
        "git",
        "hostPath",
        "config_map",
        "secret",
    }


def test_asset_scopes(runai: Caller) -> None:
    def names(**params: Any) -> list[str]:
        return [row["meta"]["name"] for row in runai.get(f"{V1}/asset/datasource", **params)["entries"]]

    (claim,) = runai.get(f"{V1}/asset/datasource/pvc", scope="project", projectId=int(VISION))["entries"]
    assert claim["meta"]["projectId"] == int(VISION)
    assert names(scope="project", projectId=int(VISION)) == ["shared-data"]
    assert "shared-data" not in names(projectId=int(ROBOTS))
    assert "shared-nfs" in names(projectId=int(ROBOTS))
    assert names(assetIds=claim["meta"]["id"]) == ["shared-data"]


def test_environments_by_framework(runai: Caller) -> None:
    def names(**params: str) -> list[str]:
        return [row["meta"]["name"] for row in runai.get(f"{V1}/asset/environment", **params)["entries"]]

    assert names(isDistributed="true") == ["pytorch-ddp", "mpi-nccl"]
    assert names(isDistributed="true", distributedFramework="MPI") == ["mpi-nccl"]
    assert names(isDistributed="false") == ["jupyter"]


def test_assets_say_whether_they_comply(runai: Caller) -> None:
    rows = runai.get(
        f"{V1}/asset/compute", complyToProject=int(SPEECH), complyToWorkloadType="Distributed"
    )["entries"]  # fmt: skip
    comply = {row["meta"]["name"]: row["compliance"] for row in rows}
    assert comply["one-gpu"]["compliance"] is True
    assert comply["full-node"]["compliance"] is False
    assert comply["full-node"]["reason"][0]["rule"] == "max"
    assert "compliance" not in runai.get(f"{V1}/asset/compute")["entries"][0]


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/api/v1/asset/compute", {"projectId": "vision"}),
        ("/api/v1/asset/compute", {"complyToReplicaType": "Chief"}),
        ("/api/v1/datavolumes", {}),
        ("/api/v1/datavolumes", {"requestType": "Owned"}),
        ("/api/v2/storage-classes", {}),
        ("/api/v1/clusters", {"verbosity": "loud"}),
        ("/api/v1/node-pools", {"sortBy": "colour"}),
        ("/api/v1/nodes", {"limit": "0"}),
        ("/api/v1/clusters/minimal", {"filterBy": ",".join(["name==a"] * 11)}),
    ],
    ids=str,
)
def test_wrong_parameters(runai: Caller, path: str, params: dict[str, str]) -> None:
    answer = runai.bad("GET", path, params=params)
    assert (answer.status_code, answer.json()["code"]) == (400, 400)


def test_templates(runai: Caller) -> None:
    body = runai.get(f"{V1}/workload-templates/distributed")
    assert body["pagination"] == {}
    whole, bare = body["entries"]
    assert (whole["runnable"]["isRunnable"], bare["runnable"]["issue"]) == (True, "image is missing")
    assert bare["master"]["command"] == "mpirun"
    assert runai.get(f"{V1}/workload-templates/distributed/{whole['meta']['id']}") == whole
    assert len(runai.get(f"{V1}/workload-templates", limit=1)["entries"]) == 1
    assert runai.get(f"{V1}/workload-templates", filterBy="name==mpi-bare")["entries"] == [bare]
    missing = f"{V1}/workload-templates/distributed/11111111-2222-4333-8444-555555555555"
    assert runai.http.get(missing).status_code == 404


def test_properties_of_workloads(runai: Caller) -> None:
    priorities = runai.get(f"{V1}/workload-priorities", sortBy="value")["priorities"]
    assert [(row["name"], row["value"]) for row in priorities][:2] == [("very-low", 25), ("low", 40)]
    assert [row["name"] for row in runai.get(f"{V1}/workload-categories")["categories"]] == ["Build", "Train", "Deploy"]
    assert "Distributed" in [row["name"] for row in runai.get(f"{V1}/workload-types")["types"]]
    assert runai.get(f"{V1}/workload-types", externalTypesOnly="true")["types"] == []


def test_storage_classes_and_data_volumes(runai: Caller) -> None:
    cluster = runai.cluster_of(VISION)
    items = runai.get("/api/v2/storage-classes", clusterId=cluster)["items"]
    assert [row["storageClassName"] for row in items] == ["standard", "fast-shared"]
    (volume,) = runai.get(f"{V1}/datavolumes", requestType="UsableInProject", usableInProjectId=ROBOTS)["datavolumes"]
    assert volume["status"]["phase"] == "Ready"
    params = {"requestType": "UsableInProject", "usableInProjectId": MUSEUM}
    assert runai.get(f"{V1}/datavolumes", **params)["datavolumes"] == []


def test_access_rules_are_nested(runai: Caller) -> None:
    body = runai.get(f"{V1}/authorization/me/access-rules")["accessRules"]
    assert (body["totalRecords"], len(body["accessRules"])) == (4, 4)
    assert {row["scopeId"] for row in body["accessRules"]} == {VISION, SPEECH, ROBOTS, MUSEUM}


def test_seed_makes_the_same_organization(sandbox: CheckedSandbox, runai: Caller, make_free: Any) -> None:
    with make_free({}) as post:
        assert post({})["clusterId"] == runai.cluster_of(VISION)
