"""The create calls of the services' own pages, through the magics: what leaves is what the page shows.

Every field of each page's example is there, as far as the contract's rules let them stand together; values that its
patterns refuse are replaced. Run with ``-s`` to see the bytes.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from tests.contracts.document import document
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox, make_sandbox, switchboard
from tests.sandbox.runai.whole import COMMON, MPI, PYTORCH

from .shell import Shell

__all__ = ["make_sandbox", "switchboard"]

KEYS = [f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleOnlyExampleOnlyExampleOnlyExa{end}" for end in ("b+", "eb+")]


@pytest.fixture
def sandbox(make_sandbox: MakeSandbox, monkeypatch: pytest.MonkeyPatch) -> CheckedSandbox:
    sandbox = make_sandbox()
    for name, value in sandbox.variables().items():
        monkeypatch.setenv(name, value)
    return sandbox


def sent(sandbox: CheckedSandbox, path: str) -> dict[str, Any]:
    """The one body that went there; shown with ``-s``."""
    bodies = [r["body"] for r in sandbox.requests() if r["method"] == "POST" and path in r["path"]]
    assert len(bodies) == 1
    sys.stdout.write(f"\nPOST {path}\n{bodies[0]}\n")
    body: dict[str, Any] = json.loads(bodies[0])
    return body


def cell(line: str, body: Mapping[str, Any]) -> str:
    return f"{line}\n{yaml.safe_dump(dict(body), sort_keys=False)}"


def fields_of(service: str, schema: str) -> set[str]:
    """The fields that the contract knows, inherited ones too."""
    found = document(service).schemas[schema]
    names = set(found.get("properties", ()))
    for part in found.get("allOf", ()):
        names |= set(part.get("properties", ()))
        names |= fields_of(service, part["$ref"].rpartition("/")[2]) if "$ref" in part else set()
    return names


def test_the_page_of_e2e(sandbox: CheckedSandbox, shell: Shell) -> None:
    place: dict[str, Any] = {"project_id": 31007, "location": "Delhi"}
    sku = {"location": "Delhi", "id": 1, "price_id": 1, "unit_price": 10.0}
    sandbox.setup("e2e", sku=sku, image={"location": "Delhi", "id": 1})
    sandbox.setup("e2e", ssh_key={"location": "Delhi", "pk": 1}, security_group={**place, "id": 1})
    volume = {**place, "name": "example", "id": 1}
    sandbox.setup("e2e", sfs=volume, pfs=volume, dataset=volume)
    mounts = [[{"id": 1, "name": "example", "mount_path": f"/{kind}"}] for kind in ("sfs", "pfs", "dataset")]
    body = {
        "image_version_id": 1,
        "ssh_key_ids": [1],
        "security_group_id": 1,
        "script_added": True,
        "lifecycle_script": "example",
        "sfs_mount_list": mounts[0],
        "pfs_mount_list": mounts[1],
        "dataset_mount_list": mounts[2],
        "sku_id": 1,
        "no_of_nodes": 1,
        "sku_item_price_id": 1,
    }
    shell.run(cell("%%cluster_create e2e --yes", {"name": "example", "exact_name": True, **body}))
    found = sent(sandbox, "/distributed_jobs_v2/cluster/")
    assert found == {"name": "example", **body}
    assert set(found) == fields_of("e2e", "ClusterCreate")


def test_the_page_of_lium(sandbox: CheckedSandbox, shell: Shell) -> None:
    shell.run("%cluster_choices lium executors -o hosts")
    shell.run("%cluster_choices lium template_ids -o templates")
    hosts = [choice.value for choice in shell.names["hosts"]][:2]
    template = next(c.value for c in shell.names["templates"] if "lium-cluster" in str(c.detail["image"]))
    body = {
        "enable_jupyter": False,
        "initial_port_count": 10,
        "skip_add_agent_ssh_key": False,
        "template_id": template,
        "termination_hours": 24,
        "user_public_key": KEYS,
        "executor_uuids": hosts,
        "enable_volume_encryption": False,
        "enable_backups": True,
        "ncu_profiling": False,
    }
    shell.run(cell("%%cluster_create lium --yes", {"name": "example", "exact_name": True, **body}))
    found = sent(sandbox, "/executors/cluster/rent")
    assert found == {"pod_name": "example", **body}
    # A volume belongs to one pod, a backup goes into one, only single nodes are split or built from a Dockerfile.
    apart = {"volume_id", "backup_log_id", "restore_path", "gpu_count", "dockerfile_content"}
    assert set(found) | apart == fields_of("lium", "ClusterRentRequest")


@pytest.mark.parametrize("framework", [PYTORCH, MPI], ids=["PyTorch", "MPI"])
def test_the_page_of_runai(sandbox: CheckedSandbox, shell: Shell, framework: dict[str, Any]) -> None:
    cluster = next(c for c in shell.run("%cluster_list runai").value if c.name == "gpu-east")
    shell.run("%cluster_choices runai project_ids -o projects")
    project = next(c.value for c in shell.names["projects"] if "vision" in c.label)
    body = {
        "projectId": project,
        "clusterId": cluster.cluster_id,
        "spec": {**COMMON, **framework},
        "masterSpec": copy.deepcopy(COMMON),
    }
    shell.run(cell(f"%%workload_submit {cluster.cluster_id} --yes", {"name": "page", "exact_name": True, **body}))
    found = sent(sandbox, "/workloads/distributed")
    assert found == {"name": "page", **body}
    assert set(COMMON) | set(PYTORCH) | set(MPI) == fields_of("runai", "WorkerSpec")
    assert set(COMMON) == fields_of("runai", "MasterSpec")
