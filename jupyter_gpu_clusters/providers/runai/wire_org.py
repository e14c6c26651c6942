"""Answers about everything but workloads as models: clusters, projects, node pools, assets, policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .kinds import Flag, Many, Number, One, Plain, Text, Texts, When, Whole, Wire, nothing


class ClusterStatus(Wire):
    """How a cluster is."""

    state: Text = None
    dependencies: Plain = nothing()


class ClusterRow(Wire):
    """A cluster; the short form has ``state`` at its top."""

    uuid: Text = None
    id: Text = None
    name: Text = None
    domain: Text = None
    version: Text = None
    createdAt: When = None
    deletedAt: When = None
    deleteRequestedAt: When = None
    lastLiveness: When = None
    state: Text = None
    status: One[ClusterStatus] = ClusterStatus()


class Share(Wire):
    """A quota of one resource; ``limit`` is ``None`` where there is none."""

    deserved: Number = None
    limit: Number = None
    overQuotaWeight: Number = None


class PoolName(Wire):
    """A node pool by name."""

    name: Text = None


class Quota(Wire):
    """The quota in one node pool."""

    nodePool: One[PoolName] = PoolName()
    gpu: One[Share] = Share()


class Usage(Wire):
    """An amount of every resource."""

    gpu: Number = None


class QuotaStatus(Wire):
    """What is used and asked for."""

    nodePoolName: Text = None
    allocated: One[Usage] = Usage()
    allocatedNonPreemptible: One[Usage] = Usage()
    requested: One[Usage] = Usage()


class OrgStatus(Wire):
    """How a project or department is."""

    namespace: Text = None
    phase: Text = None
    phaseMessage: Text = None
    quotaStatus: One[QuotaStatus] = QuotaStatus()
    nodePoolQuotaStatuses: Many[QuotaStatus] = ()


class Total(Wire):
    """Quotas of all node pools together."""

    gpuQuota: Number = None


class Parent(Wire):
    """The department."""

    name: Text = None


class Project(Wire):
    """A project, or a department: where quotas belong to."""

    id: Text = None
    name: Text = None
    clusterId: Text = None
    parentId: Text = None
    parent: One[Parent] = Parent()
    resources: Many[Quota] = ()
    totalResources: One[Total] = Total()
    status: One[OrgStatus] = OrgStatus()


class PoolStatus(Wire):
    """The nodes of a pool."""

    nodes: Texts = ()


class NodePool(Wire):
    """A node pool."""

    id: Text = None
    name: Text = None
    clusterId: Text = None
    clusterName: Text = None
    isDefault: Flag = None
    phase: Text = None
    phaseMessage: Text = None
    status: One[PoolStatus] = PoolStatus()


class GpuInfo(Wire):
    """The GPUs of a node."""

    gpuType: Text = None
    gpuCount: Whole = None


class Node(Wire):
    """A node."""

    id: Text = None
    name: Text = None
    clusterUuid: Text = None
    status: Text = None
    nodePool: Text = None
    gpuInfo: One[GpuInfo] = GpuInfo()


class AssetMeta(Wire):
    """Name and place of an asset or a template."""

    id: Text = None
    name: Text = None
    kind: Text = None
    scope: Text = None
    scopeType: Text = None
    projectName: Text = None
    description: Text = None


class Compliance(Wire):
    """Whether a policy would refuse it."""

    compliance: Flag = None
    reason: Many[Plain] = ()


class Resource(Wire):
    """The Kubernetes side of a data source."""

    resourceName: Text = None


class Asset(Wire):
    """An asset; ``spec`` has no secret in it (contract, section 5)."""

    meta: One[AssetMeta] = AssetMeta()
    spec: Plain = nothing()
    compliance: One[Compliance] = Compliance()


class Runnable(Wire):
    """Whether a template can be submitted as it is."""

    isRunnable: Flag = None
    issue: Text = None


class Template(Wire):
    """A workload template."""

    meta: One[AssetMeta] = AssetMeta()
    spec: Plain = nothing()
    master: Plain = nothing()
    masterSpecSameAsWorker: Flag = None
    combinedSpec: Plain = nothing()
    combinedMasterSpec: Plain = nothing()
    runnable: One[Runnable] = Runnable()

    @property
    def worker(self) -> Mapping[str, Any]:
        """The worker spec with everything that it is made of."""
        return self.combinedSpec or self.spec

    @property
    def own_master(self) -> Mapping[str, Any]:
        """The master spec, empty where there is none."""
        return self.combinedMasterSpec or self.master


class Named(Wire):
    """A priority, a category, a workload type."""

    id: Text = None
    name: Text = None
    value: Number = None
    description: Text = None


class ClassSpec(Wire):
    """How a storage class works."""

    provisioner: Text = None
    isDefault: Flag = None


class StorageClass(Wire):
    """A storage class."""

    storageClassName: Text = None
    name: Text = None
    spec: One[ClassSpec] = ClassSpec()


class DataVolume(Wire):
    """A data volume."""

    id: Text = None
    name: Text = None
    projectName: Text = None
    originPvcName: Text = None


class Sides(Wire):
    """What a policy sets for workers and for the master."""

    worker: Plain = nothing()
    master: Plain = nothing()


class Policy(Wire):
    """A policy."""

    defaults: One[Sides] = Sides()
    rules: One[Sides] = Sides()


class PolicyAnswer(Wire):
    """The policy that holds for a scope; empty where there is none."""

    policy: One[Policy] = Policy()


class AccessRule(Wire):
    """What the caller may do where."""

    roleName: Text = None
    scopeType: Text = None
    scopeName: Text = None


class BatchFailure(Wire):
    """A workload for which a common action failed."""

    id: Text = None
    code: Whole = None
    message: Text = None


class BatchAnswer(Wire):
    """What became of an action on several workloads."""

    succeeded: Texts = ()
    failed: Many[BatchFailure] = ()


class CountAnswer(Wire):
    """How many."""

    count: Whole = None
