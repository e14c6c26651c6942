"""The parts of a workload request, strict: unknown names are refused, nothing is converted, null means unset."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from .quantity import PATTERN

T = TypeVar("T")
Text = Annotated[str, Field(min_length=1)]
Name63 = Annotated[str, Field(min_length=1, max_length=63)]
KubeName = Annotated[str, Field(min_length=1, pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")]
Quantity = Annotated[str, Field(pattern=PATTERN)]
Uuid = Annotated[str, Field(pattern=r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")]
Int32 = Annotated[int, Field(ge=-(2**31), lt=2**31)]
Int64 = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Count32 = Annotated[int, Field(ge=1, lt=2**31)]
PortNumber = Annotated[int, Field(ge=1, le=65535)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
HostName = Annotated[str, Field(max_length=253, pattern=r"^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9-]+)*$")]
Capability = Literal[
    "AUDIT_CONTROL", "AUDIT_READ", "AUDIT_WRITE", "BLOCK_SUSPEND", "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH",
    "FOWNER", "FSETID", "IPC_LOCK", "IPC_OWNER", "KILL", "LEASE", "LINUX_IMMUTABLE", "MAC_ADMIN", "MAC_OVERRIDE",
    "MKNOD", "NET_ADMIN", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_RAW", "SETGID", "SETFCAP", "SETPCAP", "SETUID",
    "SYS_ADMIN", "SYS_BOOT", "SYS_CHROOT", "SYS_MODULE", "SYS_NICE", "SYS_PACCT", "SYS_PTRACE", "SYS_RAWIO",
    "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "SYSLOG", "WAKE_ALARM",
]  # fmt: skip


def _without_nulls(value: Any) -> Any:
    return [item for item in value if item is not None] if isinstance(value, list) else value


Items = Annotated[list[T], BeforeValidator(_without_nulls)]
"""A list whose members may be null, which says nothing."""


class Part(BaseModel):
    """One object of a request."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NameValue(Part):
    """A label or an annotation."""

    name: Name63 | None = None
    value: str | None = None
    exclude: bool | None = None


class ExtendedResource(Part):
    """A device other than a GPU."""

    resource: Text | None = None
    quantity: Annotated[str, Field(min_length=1, pattern=PATTERN)] | None = None
    exclude: bool | None = None


class Compute(Part):
    """What every pod gets."""

    cpuCoreRequest: Amount | None = None
    cpuCoreLimit: Amount | None = None
    cpuMemoryRequest: Quantity | None = None
    cpuMemoryLimit: Quantity | None = None
    gpuDevicesRequest: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    gpuRequestType: Literal["portion", "memory"] | None = None
    gpuPortionRequest: Amount | None = None
    gpuPortionLimit: Amount | None = None
    gpuMemoryRequest: Quantity | None = None
    gpuMemoryLimit: Quantity | None = None
    largeShmRequest: bool | None = None
    extendedResources: Items[ExtendedResource] | None = None


class KeyRef(Part):
    """A key of a secret or a config map."""

    name: KubeName | None = None
    key: Text | None = None


class UserCredentialRef(Part):
    """A key of the caller's own credential."""

    name: Text | None = None
    key: Text | None = None


class PodFieldRef(Part):
    """A field of the pod."""

    path: Text | None = None


class EnvironmentVariable(Part):
    """One variable with one source."""

    name: Text | None = None
    value: str | None = None
    secret: KeyRef | None = None
    configMap: KeyRef | None = None
    podFieldRef: PodFieldRef | None = None
    userCredential: UserCredentialRef | None = None
    exclude: bool | None = None
    description: str | None = None


class ExposedUrl(Part):
    """A web page of a container."""

    container: Int32 | None = None
    url: str | None = None
    authorizationType: Literal["authenticatedUsers", "authorizedUsers", "authorizedGroups"] | None = None
    authorizedUsers: list[str] | None = None
    authorizedGroups: list[str] | None = None
    toolType: str | None = None
    toolName: str | None = None
    name: Text | None = None
    exclude: bool | None = None


class Port(Part):
    """A port of a container."""

    container: PortNumber | None = None
    serviceType: Literal["LoadBalancer", "NodePort", "ClusterIP"] | None = None
    external: Int32 | None = None
    toolType: str | None = None
    toolName: str | None = None
    name: Text | None = None
    exclude: bool | None = None


class RelatedUrl(Part):
    """A link shown beside the workload."""

    url: str | None = None
    type: str | None = None
    name: str | None = None
    exclude: bool | None = None


class ImagePullSecret(Part):
    """A registry credential."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")] = ""
    userCredential: bool | None = None
    exclude: bool | None = None


class MatchExpression(Part):
    """One condition on a node's labels."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: list[str] = []


class NodeSelectorTerm(Part):
    """Conditions that hold together."""

    matchExpressions: Items[MatchExpression] = []


class NodeAffinityRequired(Part):
    """Terms of which one must hold."""

    nodeSelectorTerms: Items[NodeSelectorTerm] = []


class PodAffinity(Part):
    """Pods that want to be close."""

    type: Literal["Required", "Preferred"] | None = None
    key: str | None = None


class HttpGet(Part):
    """A page that says the pod is ready."""

    path: Annotated[str, Field(pattern=r"^(/[a-zA-Z0-9\-_./]*)?$")] | None = None
    port: PortNumber | None = None
    host: HostName | None = None
    scheme: Literal["HTTP", "HTTPS"] | None = None


class ProbeHandler(Part):
    """How a probe asks."""

    httpGet: HttpGet = HttpGet()


class Probe(Part):
    """When a probe asks."""

    initialDelaySeconds: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    periodSeconds: Count32 | None = None
    timeoutSeconds: Count32 | None = None
    successThreshold: Count32 | None = None
    failureThreshold: Count32 | None = None
    handler: ProbeHandler | None = None


class Probes(Part):
    """All probes."""

    readiness: Probe | None = None


class Security(Part):
    """What containers may do."""

    allowPrivilegeEscalation: bool | None = None
    capabilities: list[Capability] | None = None
    hostIpc: bool | None = None
    hostNetwork: bool | None = None
    readOnlyRootFilesystem: bool | None = None
    runAsNonRoot: bool | None = None
    runAsUid: Int64 | None = None
    runAsGid: Int64 | None = None
    seccompProfileType: Literal["RuntimeDefault", "Unconfined", "Localhost"] | None = None
    supplementalGroups: Annotated[str, Field(pattern=r"^([0-9]+(,[0-9]+)*)?$")] | None = None
    uidGidSource: Literal["fromTheImage", "fromIdpToken", "custom"] | None = None


class Toleration(Part):
    """A taint that pods put up with."""

    name: Text | None = None
    operator: Literal["Equal", "Exists"] | None = None
    key: str | None = None
    value: str | None = None
    effect: Literal["NoSchedule", "NoExecute", "PreferNoSchedule", "Any"] | None = None
    seconds: Annotated[int, Field(ge=1)] | None = None
    exclude: bool | None = None
