"""Answers about workloads as models: tokens, workloads, pods, events, metrics. See `kinds` for what may be wrong."""

from __future__ import annotations

from .kinds import Flag, Many, Number, One, Plain, Text, When, Whole, Wire, nothing


class Token(Wire):
    """Answer of both token calls; older servers spell it in another way and leave the life out."""

    access_token: Text = None
    accessToken: Text = None
    expires_in: Number = None
    expiresIn: Number = None


class Requested(Wire):
    """A requested and a largest amount."""

    request: Number = None


class Resources(Wire):
    """What is requested."""

    gpu: One[Requested] = Requested()


class Allocated(Wire):
    """What is held."""

    gpu: Number = None


class Pods(Wire):
    """How many pods were requested."""

    number: Whole = None


class PendingMessage(Wire):
    """Why a node pool does not take it."""

    nodePool: Text = None
    phaseReason: Text = None
    reason: Text = None
    userMessage: Text = None


class WorkloadRow(Wire):
    """A workload of any type in lists and in the generic read."""

    id: Text = None
    name: Text = None
    type: Text = None
    clusterId: Text = None
    projectId: Text = None
    projectName: Text = None
    phase: Text = None
    phaseMessage: Text = None
    phaseReason: Text = None
    createdAt: When = None
    completedAt: When = None
    deletedAt: When = None
    distributedFramework: Text = None
    requestedPods: One[Pods] = Pods()
    allocatedResources: One[Allocated] = Allocated()
    workloadRequestedResources: One[Resources] = Resources()
    command: Text = None
    arguments: Text = None
    pendingSchedulingMessages: Many[PendingMessage] = ()


class Distributed(Wire):
    """A distributed workload in the answer to a create and in the typed read; other key names than in lists."""

    workloadId: Text = None
    id: Text = None
    name: Text = None
    requestedName: Text = None
    projectId: Text = None
    clusterId: Text = None
    createdAt: When = None
    deletedAt: When = None
    desiredPhase: Text = None
    actualPhase: Text = None
    phase: Text = None
    spec: Plain = nothing()
    masterSpecSameAsWorker: Flag = None
    masterSpec: Plain = nothing()

    @property
    def workload_id(self) -> str | None:
        """Its id, whichever key has it."""
        return self.workloadId or self.id


class Container(Wire):
    """A container of a pod."""

    name: Text = None
    image: Text = None


class Pod(Wire):
    """A pod of a workload."""

    id: Text = None
    name: Text = None
    nodeName: Text = None
    ip: Text = None
    k8sPhase: Text = None
    currentNodePool: Text = None
    createdAt: When = None
    completedAt: When = None
    allocatedResources: One[Allocated] = Allocated()
    containers: Many[Container] = ()


class Involved(Wire):
    """What an event is about."""

    kind: Text = None
    name: Text = None


class Event(Wire):
    """Something that Kubernetes or Run:ai told."""

    createdAt: When = None
    type: Text = None
    reason: Text = None
    message: Text = None
    source: Text = None
    involvedObject: One[Involved] = Involved()


class RecordMeta(Wire):
    """When a record of the history was made, and its kind."""

    creationTimestamp: When = None
    type: Text = None


class PhaseUpdate(Wire):
    """A change of phase."""

    phase: Text = None
    phaseMessage: Text = None


class RecordSpec(Wire):
    """One of the two."""

    event: One[Event] = Event()
    phaseUpdate: One[PhaseUpdate] = PhaseUpdate()


class Record(Wire):
    """One record of the history."""

    meta: One[RecordMeta] = RecordMeta()
    spec: One[RecordSpec] = RecordSpec()


class Sample(Wire):
    """One measured value."""

    value: Number = None
    timestamp: When = None


class Measurement(Wire):
    """The values of one metric."""

    type: Text = None
    labels: Plain = nothing()
    values: Many[Sample] = ()
