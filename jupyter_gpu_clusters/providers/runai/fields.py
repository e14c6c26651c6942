"""The parts of a workload request under Run:ai's own names; nothing has a default, so nothing unasked is sent.

Source: contract, sections 3.2 to 3.6.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from ...core.choices import looked_up

MAX_ITEMS = 1000
PROJECT = ("project", "projectId")
"""The fields of the spec that say which project it is, on which many choices depend."""
QUANTITY = r"^([+]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
KUBE_NAME = r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"

Text = Annotated[StrictStr, Field(min_length=1)]
Name63 = Annotated[StrictStr, Field(min_length=1, max_length=63)]
KubeName = Annotated[StrictStr, Field(min_length=1, pattern=KUBE_NAME)]
Quantity = Annotated[StrictStr, Field(pattern=QUANTITY)]
Uuid = Annotated[StrictStr, Field(pattern=r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")]
Amount = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Int32 = Annotated[StrictInt, Field(ge=-(2**31), le=2**31 - 1)]
Count = Annotated[StrictInt, Field(ge=1, le=2**31 - 1)]
Seconds = Annotated[StrictInt, Field(ge=0, le=2**31 - 1)]
Int64 = Annotated[StrictInt, Field(ge=-(2**63), le=2**63 - 1)]
PortNumber = Annotated[StrictInt, Field(ge=1, le=65535)]
HostName = Annotated[
    StrictStr, Field(max_length=253, pattern=r"^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9-]+)*$")
]
Capability = Literal[
    "AUDIT_CONTROL", "AUDIT_READ", "AUDIT_WRITE", "BLOCK_SUSPEND", "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH",
    "FOWNER", "FSETID", "IPC_LOCK", "IPC_OWNER", "KILL", "LEASE", "LINUX_IMMUTABLE", "MAC_ADMIN", "MAC_OVERRIDE",
    "MKNOD", "NET_ADMIN", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_RAW", "SETGID", "SETFCAP", "SETPCAP", "SETUID",
    "SYS_ADMIN", "SYS_BOOT", "SYS_CHROOT", "SYS_MODULE", "SYS_NICE", "SYS_PACCT", "SYS_PTRACE", "SYS_RAWIO",
    "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "SYSLOG", "WAKE_ALARM",
]  # fmt: skip


def field(title: str, description: str, **more: Any) -> Any:
    """A field that may be left out."""
    return Field(None, title=title, description=description, **more)


def listed(title: str, description: str, **more: Any) -> Any:
    """A list that may be left out; bounded."""
    return Field(None, title=title, description=description, max_length=MAX_ITEMS, **more)


def excluding() -> Any:
    """The field ``exclude``, the same wherever entries are merged with defaults (contract, section 3.7)."""
    return field("Exclude", "Keeps the entry with the same key, which a policy or template would add, out of this.")


class Part(BaseModel):
    """One object of a request."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class NameValue(Part):
    """A label or an annotation."""

    name: Name63 | None = field("Name", "Key of the label or annotation.")
    value: StrictStr | None = field("Value", "Its value.")
    exclude: StrictBool | None = excluding()


class ExtendedResource(Part):
    """A device other than a GPU."""

    resource: Text | None = field("Resource", "Name of the resource, for example rdma/ib.")
    quantity: Annotated[Quantity, Field(min_length=1)] | None = field("Quantity", "How many, as text.")
    exclude: StrictBool | None = excluding()


class Compute(Part):
    """What every pod gets."""

    gpuDevicesRequest: Annotated[StrictInt, Field(ge=0, le=2**31 - 1)] | None = field(
        "GPUs per pod", "Whole GPU devices of every pod."
    )
    gpuRequestType: Literal["portion", "memory"] | None = field(
        "Unit of a part", "For parts of GPUs only: whether a portion or an amount of memory of each device is asked."
    )
    gpuPortionRequest: Amount | None = field(
        "GPU portion", "Part of each device, 0 to 1; goes with the unit `portion`.", le=1
    )
    gpuPortionLimit: Amount | None = field("GPU portion limit", "At most so much of each device.", le=1)
    gpuMemoryRequest: Quantity | None = field(
        "GPU memory", "Memory of each device, for example 20G; goes with the unit `memory`."
    )
    gpuMemoryLimit: Quantity | None = field("GPU memory limit", "At most so much memory of each device.")
    cpuCoreRequest: Amount | None = field("CPU cores", "Cores that every pod is guaranteed.")
    cpuCoreLimit: Amount | None = field("CPU core limit", "At most so many cores for a pod.")
    cpuMemoryRequest: Quantity | None = field("Memory", "Memory that every pod is guaranteed, for example 64G.")
    cpuMemoryLimit: Quantity | None = field("Memory limit", "At most so much memory for a pod.")
    largeShmRequest: StrictBool | None = field(
        "Large shared memory", "More than the usual 64 MB of /dev/shm; work on several GPUs mostly needs it."
    )
    extendedResources: list[ExtendedResource] | None = listed("Other devices", "Devices other than GPUs.")


class KeyRef(Part):
    """A key of a Kubernetes secret or config map."""

    name: KubeName | None = field("Name", "Name of the secret or config map.")
    key: Text | None = field("Key", "Which of its keys.")


class UserCredentialRef(Part):
    """A key of a credential of the submitting user."""

    name: Text | None = field("Name", "Name of the credential.", json_schema_extra=looked_up("credentials", PROJECT))
    key: Text | None = field("Key", "Which of its keys.")


class PodFieldRef(Part):
    """A field of the pod."""

    path: Text | None = field("Path", "Path of the pod's field, for example metadata.name.")


class EnvironmentVariable(Part):
    """One variable with one source."""

    name: Text | None = field("Name", "Name of the variable.")
    value: StrictStr | None = field("Value", "Its value, as text.")
    secret: KeyRef | None = field("Secret", "Takes the value from a key of a Kubernetes secret.")
    configMap: KeyRef | None = field("Config map", "Takes the value from a key of a config map.")
    podFieldRef: PodFieldRef | None = field("Pod field", "Takes the value from a field of the pod.")
    userCredential: UserCredentialRef | None = field("Own credential", "Takes the value from a credential of yours.")
    exclude: StrictBool | None = excluding()
    description: StrictStr | None = field("Description", "What it is for.")


class ExposedUrl(Part):
    """A web page of a container."""

    container: Int32 | None = field("Container port", "Port that the container listens on.")
    url: StrictStr | None = field("URL", "Where it appears; made up when left out.")
    authorizationType: Literal["authenticatedUsers", "authorizedUsers", "authorizedGroups"] | None = field(
        "Who may open it", "All users who are signed in, or those of one of the two lists."
    )
    authorizedUsers: list[StrictStr] | None = listed("Users", "Users who may open it.")
    authorizedGroups: list[StrictStr] | None = listed("Groups", "Groups that may open it.")
    toolType: StrictStr | None = field("Kind of tool", "For example jupyter.")
    toolName: StrictStr | None = field("Name of the tool", "How the tool is called in lists.")
    name: Text | None = field("Name", "Name of this entry.")
    exclude: StrictBool | None = excluding()


class Port(Part):
    """A port of a container."""

    container: PortNumber | None = field("Container port", "Port that the container listens on.")
    serviceType: Literal["LoadBalancer", "NodePort", "ClusterIP"] | None = field("Service", "How it is reached.")
    external: Int32 | None = field("External port", "Port outside; 30000 to 32767 for a NodePort.")
    toolType: StrictStr | None = field("Kind of tool", "What answers there.")
    toolName: StrictStr | None = field("Name of the tool", "How the tool is called in lists.")
    name: Text | None = field("Name", "Name of this entry.")
    exclude: StrictBool | None = excluding()


class RelatedUrl(Part):
    """A link shown beside the workload."""

    url: StrictStr | None = field("URL", "Where it leads.")
    type: StrictStr | None = field("Type", "What it is, for example wandb.")
    name: StrictStr | None = field("Name", "Name of the link.")
    exclude: StrictBool | None = excluding()


class ImagePullSecret(Part):
    """A credential for the registry of the image."""

    name: KubeName | None = field(
        "Name", "Name of the secret or credential.", json_schema_extra=looked_up("credentials", PROJECT)
    )
    userCredential: StrictBool | None = field("Own credential", "Whether it is a credential of yours.")
    exclude: StrictBool | None = excluding()


class MatchExpression(Part):
    """One condition on the labels of nodes."""

    key: StrictStr = Field(title="Label", description="Key of the label.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"] = Field(
        title="Operator", description="How the label is compared."
    )
    values: list[StrictStr] | None = listed("Values", "None for Exists and DoesNotExist, one for Gt and Lt.")


class NodeSelectorTerm(Part):
    """Conditions that must hold together."""

    matchExpressions: list[MatchExpression] | None = listed("Conditions", "All of them must hold.")


class NodeAffinityRequired(Part):
    """Terms of which one must hold."""

    nodeSelectorTerms: list[NodeSelectorTerm] | None = listed("Terms", "One of them must hold.")


class PodAffinity(Part):
    """Pods that want to be close to each other."""

    type: Literal["Required", "Preferred"] | None = field("How strictly", "Whether it must be so or should be.")
    key: StrictStr | None = field("Topology key", "Key of the node label that says what is close.")


class HttpGet(Part):
    """A page that says that a pod is ready."""

    path: Annotated[StrictStr, Field(pattern=r"^(/[a-zA-Z0-9\-_./]*)?$")] | None = field("Path", "Path of the page.")
    port: PortNumber | None = field("Port", "Port of the page.")
    host: HostName | None = field("Host", "Host of the page; the pod when left out.")
    scheme: Literal["HTTP", "HTTPS"] | None = field("Scheme", "HTTP or HTTPS.")


class ProbeHandler(Part):
    """How a probe asks."""

    httpGet: HttpGet | None = field("HTTP", "The page that is asked for.")


class Probe(Part):
    """When a probe asks."""

    initialDelaySeconds: Seconds | None = field("First after (s)", "Seconds before it asks for the first time.")
    periodSeconds: Count | None = field("Every (s)", "Seconds between two questions.")
    timeoutSeconds: Count | None = field("Time-out (s)", "Seconds that an answer may take.")
    successThreshold: Count | None = field("Successes", "So many good answers in a row mean ready.")
    failureThreshold: Count | None = field("Failures", "So many bad answers in a row mean not ready.")
    handler: ProbeHandler | None = field("Handler", "How it asks.")


class Probes(Part):
    """All probes."""

    readiness: Probe | None = field("Readiness", "Whether a pod is ready.")


class Security(Part):
    """What containers may do and as whom."""

    uidGidSource: Literal["fromTheImage", "fromIdpToken", "custom"] | None = field(
        "User and group from", "Where the ids of user and group come from."
    )
    runAsUid: Int64 | None = field("User id", "With `custom` only.")
    runAsGid: Int64 | None = field("Group id", "With `custom` only.")
    supplementalGroups: Annotated[StrictStr, Field(pattern=r"^([0-9]+(,[0-9]+)*)?$")] | None = field(
        "More groups", "Group ids with commas between them."
    )
    runAsNonRoot: StrictBool | None = field("Never as root", "Refuses to run as root.")
    readOnlyRootFilesystem: StrictBool | None = field("Read-only root", "Nothing is written outside of mounts.")
    allowPrivilegeEscalation: StrictBool | None = field("Privilege escalation", "Whether processes may gain rights.")
    hostIpc: StrictBool | None = field("Host IPC", "Shares the node's inter-process communication.")
    hostNetwork: StrictBool | None = field("Host network", "Uses the node's own network.")
    seccompProfileType: Literal["RuntimeDefault", "Unconfined", "Localhost"] | None = field(
        "Seccomp profile", "Which system calls are allowed; Localhost is not supported."
    )
    capabilities: list[Capability] | None = listed("Capabilities", "Linux capabilities to add.")


class Toleration(Part):
    """A taint that pods put up with."""

    name: Text | None = field("Name", "Name of this entry.")
    key: StrictStr | None = field("Key", "Key of the taint.")
    operator: Literal["Equal", "Exists"] | None = field("Operator", "How key and value are compared.")
    value: StrictStr | None = field("Value", "Goes with Equal only.")
    effect: Literal["NoSchedule", "NoExecute", "PreferNoSchedule", "Any"] | None = field(
        "Effect", "Which effect of the taint."
    )
    seconds: Annotated[StrictInt, Field(ge=1)] | None = field("Seconds", "How long; goes with NoExecute only.")
    exclude: StrictBool | None = excluding()
