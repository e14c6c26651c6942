"""The whole body of ``POST /workloads/distributed``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .fields import (
    Compute,
    EnvironmentVariable,
    ExposedUrl,
    ImagePullSecret,
    Int64,
    Items,
    NameValue,
    NodeAffinityRequired,
    Part,
    PodAffinity,
    Port,
    Probes,
    RelatedUrl,
    Security,
    Text,
    Toleration,
    Uuid,
)
from .storage import Storage

Framework = Literal["MPI", "PyTorch", "TF", "XGBoost", "JAX"]


class MasterSpec(Part):
    """The master pod; also everything that workers share with it."""

    annotations: Items[NameValue] | None = None
    labels: Items[NameValue] | None = None
    command: Text | None = None
    args: Text | None = None
    image: Text | None = None
    imagePullPolicy: Literal["Always", "Never", "IfNotPresent"] | None = None
    imagePullSecrets: Items[ImagePullSecret] | None = None
    workingDir: Text | None = None
    createHomeDir: bool | None = None
    stdin: bool | None = None
    tty: bool | None = None
    environmentVariables: list[EnvironmentVariable] | None = None
    compute: Compute | None = None
    storage: Storage | None = None
    security: Security | None = None
    exposedUrls: list[ExposedUrl] | None = None
    ports: Items[Port] | None = None
    relatedUrls: Items[RelatedUrl] | None = None
    probes: Probes | None = None
    nodePools: list[str] | None = None
    nodeType: Text | None = None
    nodeAffinityRequired: NodeAffinityRequired | None = None
    podAffinity: PodAffinity | None = None
    tolerations: Items[Toleration] | None = None
    category: str | None = None
    priorityClass: str | None = None
    preemptibility: Literal["preemptible", "non-preemptible"] | None = None
    restartPolicy: Literal["Always", "Never", "OnFailure"] | None = None
    terminateAfterPreemption: bool | None = None
    terminationGracePeriodSeconds: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    backoffLimit: Int64 | None = None
    autoDeletionTimeAfterCompletionSeconds: Int64 | None = None


class WorkerSpec(MasterSpec):
    """The worker pods and what concerns the whole workload."""

    distributedFramework: Framework | None = None
    numWorkers: Annotated[int, Field(ge=1)] | None = None
    minReplicas: int | None = None
    maxReplicas: int | None = None
    slotsPerWorker: Annotated[int, Field(ge=1)] | None = None
    sshAuthMountPath: str | None = None
    mpiLauncherCreationPolicy: Literal["AtStartup", "WaitForWorkersReady"] | None = None
    cleanPodPolicy: Literal["None", "All", "Running"] | None = None
    segmentSize: Annotated[int, Field(ge=1)] | None = None


class DistributedRequest(Part):
    """What is asked for."""

    name: Text
    useGivenNameAsPrefix: bool = False
    projectId: str
    clusterId: Uuid
    templateId: Uuid | None = None
    spec: WorkerSpec | None = None
    masterSpecSameAsWorker: bool | None = None
    masterSpec: MasterSpec | None = None


class BatchRequest(Part):
    """One action on several workloads."""

    ids: Annotated[list[Uuid], Field(min_length=1)]
    action: Literal["delete", "suspend", "resume"]
