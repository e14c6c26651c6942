"""Clusters, nodes, departments and projects of the simulated organization."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..world import World
from .merge import Spec
from .policy import Policy, Rule

TENANT = 1001
PRIORITIES: Mapping[str, int] = {
    "very-low": 25,
    "low": 40,
    "medium-low": 65,
    "medium": 80,
    "medium-high": 90,
    "high": 125,
    "very-high": 150,
}
CATEGORIES: Mapping[str, str] = {"Build": "Interactive work", "Train": "Training", "Deploy": "Inference"}
NON_PREEMPTIBLE_FROM = 100


@dataclass
class Node:
    """One machine; its GPUs are what pods are placed on."""

    id: str
    name: str
    gpu_type: str
    gpus: int
    gpu_bytes: int
    node_type: str | None = None
    status: str = "Ready"


@dataclass
class NodePool:
    """Machines of one kind."""

    id: str
    name: str
    nodes: list[Node]
    is_default: bool = False
    nvlink: bool = False


@dataclass(frozen=True)
class Cluster:
    """A Kubernetes cluster with its own version."""

    id: str
    name: str
    version: str
    pools: Mapping[str, NodePool]
    training_operator: bool = True

    @property
    def runs_distributed(self) -> bool:
        """Whether it is new enough: 2.18."""
        major, minor = self.version.split(".")[:2]
        return (int(major), int(minor)) >= (2, 18)


@dataclass(frozen=True)
class Quota:
    """GPU devices in one pool; no limit when `limit` is `None`."""

    deserved: float
    limit: float | None = None
    weight: float = 1.0


@dataclass(frozen=True)
class Department:
    """Projects of one cluster under one roof."""

    id: str
    name: str
    cluster: Cluster


@dataclass
class Project:
    """Where workloads live; `is_ours` is false for what no credential here may see."""

    id: str
    name: str
    department: Department
    quotas: dict[str, Quota]
    policy: Policy = field(default_factory=Policy)
    is_ours: bool = True

    @property
    def cluster(self) -> Cluster:
        """The cluster of its department."""
        return self.department.cluster

    @property
    def namespace(self) -> str:
        """The Kubernetes namespace."""
        return f"runai-{self.name}"


class Inventory:
    """Everything that exists before the first workload."""

    def __init__(self, world: World) -> None:
        self.started = world.clock.now()
        east = Cluster(world.uuid(), "gpu-east", "2.24.3", _east_pools(world))
        old_pool = {"default": NodePool("201", "default", _nodes(world, "old", "Tesla-V100", 2, 4, 32), True)}
        old = Cluster(world.uuid(), "gpu-attic", "2.16.9", old_pool, training_operator=False)
        self.clusters = {cluster.id: cluster for cluster in (east, old)}
        research, lab, attic = (
            Department("12", "research", east),
            Department("13", "lab", east),
            Department("14", "attic", old),
        )
        self.departments = {department.id: department for department in (research, lab, attic)}
        self.projects: dict[str, Project] = {}
        for project in _projects(research, lab, attic):
            self.projects[project.id] = project

    def visible(self) -> list[Project]:
        """The projects that credentials here may see."""
        return [project for project in self.projects.values() if project.is_ours]

    def add_projects(self, count: int) -> list[Project]:
        """More projects in the department ``research``, without any quota."""
        research = self.departments["12"]
        first = max(int(project_id) for project_id in self.projects) + 1
        added = [Project(str(first + n), f"extra-{n:03}", research, {"default": Quota(0)}) for n in range(count)]
        self.projects.update((project.id, project) for project in added)
        return added


def _east_pools(world: World) -> dict[str, NodePool]:
    return {
        "default": NodePool("101", "default", _nodes(world, "a100", "NVIDIA-A100-SXM4-80GB", 4, 8, 80), True),
        "h100": NodePool("102", "h100", _nodes(world, "h100", "NVIDIA-H100-80GB-HBM3", 4, 8, 80), nvlink=True),
    }


def _nodes(world: World, stem: str, gpu_type: str, count: int, gpus: int, gigabytes: int) -> list[Node]:
    return [
        Node(world.uuid(), f"{stem}-{n}", gpu_type, gpus, gigabytes * 10**9, "fast-disk" if n % 2 else None)
        for n in range(1, count + 1)
    ]


def _projects(research: Department, lab: Department, attic: Department) -> list[Project]:
    strict: dict[str, Rule] = {
        "compute.gpuDevicesRequest": {"max": 4},
        "imagePullPolicy": {"options": ["Always", "IfNotPresent"]},
        "security.hostNetwork": {"canEdit": False},
        "nodeType": {"required": True},
        "environmentVariables": {"locked": ["HTTP_PROXY"]},
        "storage.hostPath": {"canAdd": False},
    }
    defaults: Spec = {
        "environmentVariables": [
            {"name": "HTTP_PROXY", "value": "http://proxy.example.org:3128"},
            {"name": "TEAM", "value": "speech"},
        ],
        "imagePullPolicy": "IfNotPresent",
        "security": {"hostNetwork": False},
    }
    both = Policy({"worker": defaults, "master": defaults}, {"worker": strict, "master": strict})
    worker_only = Policy({"worker": {"labels": [{"name": "stage", "value": "trial"}]}})
    return [
        Project("4500012", "vision", research, {"default": Quota(16), "h100": Quota(8, limit=24)}),
        Project("4500013", "speech", research, {"default": Quota(8, limit=8), "h100": Quota(0)}, both),
        Project("4500014", "robots", lab, {"default": Quota(8), "h100": Quota(16)}, worker_only),
        Project("4500015", "museum", attic, {"default": Quota(4)}),
        Project("4500099", "vault", lab, {"default": Quota(0)}, is_ours=False),
    ]
