"""The assets and templates that the simulated organization keeps ready."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..world import World
from .inventory import Inventory, Project
from .times import shown

SOURCE_KEYS: Mapping[str, str] = {
    "pvc": "pvc",
    "nfs": "nfs",
    "s3": "s3",
    "git": "git",
    "hostPath": "hostPath",
    "config-map": "config_map",
    "secret-volume": "secret",
}
"""Kind of a data source -> its key in the list of all kinds."""
CREDENTIAL_KINDS = ("accessKey", "password", "dockerRegistry", "genericSecret", "ngcApiKey")


@dataclass(frozen=True)
class Asset:
    """One asset; `project` is `None` for what the whole tenant has."""

    id: str
    kind: str
    name: str
    spec: Mapping[str, Any]
    project: Project | None = None
    framework: str | None = None
    is_distributed: bool = True

    @property
    def scope(self) -> str:
        """Where it belongs."""
        return "tenant" if self.project is None else "project"


def make_assets(world: World, inventory: Inventory) -> list[Asset]:
    """All of them."""
    vision = inventory.projects["4500012"]
    tenant: list[tuple[str, str, dict[str, Any]]] = [
        ("compute", "one-gpu", {"gpuDevicesRequest": 1, "cpuCoreRequest": 4, "cpuMemoryRequest": "32G"}),
        ("compute", "full-node", {"gpuDevicesRequest": 8, "cpuCoreRequest": 64, "largeShmRequest": True}),
        ("compute", "half-gpu", {"gpuDevicesRequest": 1, "gpuRequestType": "portion", "gpuPortionRequest": 0.5}),
        ("nfs", "shared-nfs", {"server": "nfs.example.org", "path": "/exports/data", "mountPath": "/data"}),
        ("s3", "models-bucket", {"bucket": "models", "path": "/models", "url": "https://s3.example.org"}),
        ("git", "training-code", {"repository": "https://git.example.org/training.git", "path": "/code"}),
        ("hostPath", "scratch", {"path": "/scratch", "mountPath": "/scratch", "readOnly": False}),
        ("config-map", "settings", {"configMap": "training-settings", "mountPath": "/etc/training"}),
        ("secret-volume", "certificates", {"secret": "internal-ca", "mountPath": "/etc/ssl/internal"}),
    ]
    made = [Asset(world.uuid(), kind, name, spec) for kind, name, spec in tenant]
    claim = {"claimName": "shared-data", "existingPvc": True, "path": "/data", "readOnly": False}
    made.append(Asset(world.uuid(), "pvc", "shared-data", claim, vision))
    made += [
        Asset(world.uuid(), kind, f"team-{kind.lower()}", {kind: {"name": f"team-{kind.lower()}"}})
        for kind in CREDENTIAL_KINDS
    ]
    return [*made, *_environments(world)]


def _environments(world: World) -> list[Asset]:
    rows = [
        ("pytorch-ddp", "PyTorch", {"image": "registry.example.org/pytorch:2.6", "command": "torchrun"}),
        ("mpi-nccl", "MPI", {"image": "registry.example.org/nccl-tests:2.25", "command": "mpirun"}),
    ]
    made = [Asset(world.uuid(), "environment", name, spec, framework=framework) for name, framework, spec in rows]
    notebook = {"image": "registry.example.org/jupyter:7", "connections": [{"name": "Jupyter", "isExternal": True}]}
    return [*made, Asset(world.uuid(), "environment", "jupyter", notebook, is_distributed=False)]


def make_templates(world: World, inventory: Inventory) -> list[dict[str, Any]]:
    """Templates of distributed trainings; the second one cannot be submitted as it is."""
    whole = {
        "distributedFramework": "PyTorch",
        "numWorkers": 1,
        "image": "registry.example.org/pytorch:2.6",
        "command": "torchrun",
        "args": "--nproc-per-node=8 train.py",
        "compute": {"gpuDevicesRequest": 8, "largeShmRequest": True},
        "environmentVariables": [{"name": "NCCL_DEBUG", "value": "WARN"}],
    }
    imageless = {"distributedFramework": "MPI", "numWorkers": 2, "slotsPerWorker": 8}
    since = shown(world, inventory.started)

    def template(name: str, spec: Mapping[str, Any], same: bool, master: Any, issue: str | None) -> dict[str, Any]:
        meta = {
            "id": world.uuid(),
            "name": name,
            "description": None,
            "workloadType": "Distributed",
            "scopeType": "tenant",
            "scopeId": "1001",
            "clusterId": None,
            "departmentId": None,
            "projectId": None,
            "createdBy": "admin@example.org",
            "createdAt": since,
        }
        return {
            "meta": meta,
            "spec": dict(spec),
            "masterSpecSameAsWorker": same,
            "master": master,
            "combinedSpec": dict(spec),
            "combinedMasterSpec": master,
            "runnable": {"isRunnable": issue is None, "issue": issue},
        }

    launcher = {"command": "mpirun", "compute": {"cpuCoreRequest": 1}}
    return [
        template("ddp-two-nodes", whole, True, None, None),
        template("mpi-bare", imageless, False, launcher, "image is missing"),
    ]
