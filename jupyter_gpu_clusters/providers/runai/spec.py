"""What can be asked for in a workload: the whole request of Run:ai, and beside it words that are shorter to write.

A short word fills the place of the request that it stands for; where both are written and differ, that is a problem
and not a choice. The request's name is the workload's own (``--name``).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt, StrictStr

from ...core.choices import looked_up
from .fields import (
    MAX_ITEMS,
    PROJECT,
    Compute,
    EnvironmentVariable,
    ExposedUrl,
    ImagePullSecret,
    Int64,
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
    field,
    listed,
)
from .storage import Storage

Framework = Literal["MPI", "PyTorch", "TF", "XGBoost", "JAX"]


class MasterSpec(Part):
    """One pod: the master, and what workers have in common with it."""

    image: Text | None = field("Image", "Container image.")
    command: Text | None = field("Command", "Program that starts, as one text; the image's own when left out.")
    args: Text | None = field("Arguments", "Arguments, as one text; Run:ai has refused more than 10,000 characters.")
    workingDir: Text | None = field("Working directory", "Where it starts; the image's own when left out.")
    environmentVariables: list[EnvironmentVariable] | None = listed("Environment", "Variables of the pods.")
    compute: Compute | None = field("Compute", "GPUs, CPUs and memory of every pod.")
    storage: Storage | None = field("Storage", "What is mounted.")
    nodePools: list[StrictStr] | None = listed(
        "Node pools",
        "Names in order of preference; the project's own when left out.",
        json_schema_extra=looked_up("node_pools", PROJECT),
    )
    nodeType: Text | None = field("Node type", "Narrows the project's nodes; some projects demand it.")
    priorityClass: StrictStr | None = field(
        "Priority", "low when left out.", json_schema_extra=looked_up("priorities", PROJECT)
    )
    preemptibility: Literal["preemptible", "non-preemptible", "semi-preemptible"] | None = field(
        "Preemptibility", "Whether it may be stopped for others; follows the priority when left out."
    )
    category: StrictStr | None = field(
        "Category", "Kind of work; Train when left out.", json_schema_extra=looked_up("categories")
    )
    imagePullPolicy: Literal["Always", "Never", "IfNotPresent"] | None = field(
        "Image pull", "When the image is fetched."
    )
    imagePullSecrets: list[ImagePullSecret] | None = listed("Registry credentials", "How the image may be fetched.")
    createHomeDir: StrictBool | None = field("Home directory", "Makes one for the user.")
    stdin: StrictBool | None = field("Standard input", "Keeps it open.")
    tty: StrictBool | None = field("Terminal", "Needs standard input.")
    security: Security | None = field("Security", "What containers may do and as whom.")
    exposedUrls: list[ExposedUrl] | None = listed("Web pages", "Pages of the containers that can be opened.")
    ports: list[Port] | None = listed("Ports", "Ports that can be reached.")
    relatedUrls: list[RelatedUrl] | None = listed("Links", "Links shown beside the workload.")
    probes: Probes | None = field("Probes", "How it is seen whether pods are ready.")
    nodeAffinityRequired: NodeAffinityRequired | None = field("Node affinity", "Labels that nodes must have.")
    podAffinity: PodAffinity | None = field("Pod affinity", "Pods that want to be close to each other.")
    tolerations: list[Toleration] | None = listed("Tolerations", "Taints that pods put up with.")
    labels: list[NameValue] | None = listed("Labels", "Labels of the pods.")
    annotations: list[NameValue] | None = listed("Annotations", "Annotations of the pods.")
    restartPolicy: Literal["Always", "Never", "OnFailure"] | None = field(
        "Restart", "When a container starts again; the framework's own way when left out."
    )
    backoffLimit: Int64 | None = field("Restarts at most", "6 when left out.")
    terminateAfterPreemption: StrictBool | None = field("End when preempted", "Ends instead of waiting for GPUs again.")
    terminationGracePeriodSeconds: Annotated[StrictInt, Field(ge=0, le=2**63 - 1)] | None = field(
        "Grace at the end (s)", "Seconds between the request to end and the end by force."
    )
    autoDeletionTimeAfterCompletionSeconds: Int64 | None = field(
        "Deleted after (s)", "Seconds from its end to its deletion; 30 days when left out, 0 is at once."
    )


class WorkerSpec(MasterSpec):
    """The worker pods, and what concerns the whole workload."""

    distributedFramework: Framework | None = field("Framework", "Which operator runs it.")
    numWorkers: Annotated[StrictInt, Field(ge=1, le=100_000)] | None = field(
        "Workers", "Worker pods; a master comes on top."
    )
    minReplicas: StrictInt | None = field("Replicas at least", "Elastic work, PyTorch only.", ge=1)
    maxReplicas: StrictInt | None = field("Replicas at most", "Elastic work, PyTorch only.", ge=1)
    slotsPerWorker: Annotated[StrictInt, Field(ge=1)] | None = field("Slots per worker", "MPI only.")
    sshAuthMountPath: StrictStr | None = field("SSH keys at", "Where MPI finds its keys; MPI only.")
    mpiLauncherCreationPolicy: Literal["AtStartup", "WaitForWorkersReady"] | None = field(
        "Launcher starts", "At once or after the workers; MPI only."
    )
    cleanPodPolicy: Literal["None", "All", "Running"] | None = field(
        "Pods after the end", "Which ones are removed; `All` takes the logs along."
    )
    segmentSize: Annotated[StrictInt, Field(ge=1)] | None = field(
        "Segment size", "Workers that are placed close together; PyTorch only, Run:ai 3.0."
    )


class RunaiWorkload(Part):
    """A distributed workload of Run:ai."""

    project: Text | None = field(
        "Project", "Name or id; the account's own when left out.", json_schema_extra=looked_up("projects")
    )
    nodes: Annotated[StrictInt, Field(ge=1, le=100_000)] | None = field("Nodes", "Pods in all, the master among them.")
    gpus_per_node: Annotated[StrictInt, Field(ge=0, le=1024)] | None = field(
        "GPUs per node", "GPU devices of every pod."
    )
    image: Text | None = field("Image", "Container image of every pod.")
    command: Annotated[list[StrictStr], Field(min_length=1, max_length=10_000)] | None = field(
        "Command", "Program and arguments, as a list; the container gets these very words."
    )
    script: Text | None = field(
        "Script", "Text of a script; run by the program its first line names (#!), else by bash or sh."
    )
    env: dict[StrictStr, StrictStr] | None = field("Environment", "Variables of every pod.", max_length=MAX_ITEMS)
    workdir: Text | None = field("Working directory", "Where the command starts; the image's own when left out.")
    framework: Framework | None = field("Framework", "Which operator runs it; PyTorch when left out.")
    template: Text | None = field(
        "Template", "Name or id of a workload template.", json_schema_extra=looked_up("templates", PROJECT)
    )
    compute_asset: Text | None = field(
        "Compute asset",
        "Name of a compute asset; what it says is written into `spec.compute`.",
        json_schema_extra=looked_up("compute_assets", PROJECT),
    )
    environment_asset: Text | None = field(
        "Environment asset",
        "Name of an environment asset; its image, command, arguments and variables are written into `spec`.",
        json_schema_extra={**looked_up("environment_assets", PROJECT), "masked": False},
    )
    exact_name: StrictBool = Field(
        False,
        title="Exact name",
        description="Sends the name without a mark; a lost answer can then not be found again by itself.",
    )
    useGivenNameAsPrefix: StrictBool | None = field("Name as prefix", "Run:ai puts random characters behind it.")
    projectId: Text | None = field("Project id", "The same as `project`.", json_schema_extra=looked_up("project_ids"))
    clusterId: Uuid | None = field(
        "Cluster id", "That of the cluster it is submitted to.", json_schema_extra=looked_up("clusters")
    )
    templateId: Uuid | None = field(
        "Template id", "The same as `template`.", json_schema_extra=looked_up("template_ids", PROJECT)
    )
    spec: WorkerSpec | None = field("Workers", "The worker pods and what concerns the whole workload.")
    masterSpecSameAsWorker: StrictBool | None = field("Master like workers", "One more pod, the same as the workers.")
    masterSpec: MasterSpec | None = field("Master", "The master pod, where it differs from the workers.")
