"""The nouns of the product, frozen: offers, clusters, nodes, workloads and what was seen of them.

Times are aware UTC. Money is a ``Decimal`` with its currency, and amounts of different currencies are
never added. A provider's own word is kept beside ours (``provider_state``); a word we do not know is
shown as it is and never taken for an end.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")


def utc_now() -> datetime:
    """The wall clock, aware UTC. For showing and for records, never for deciding who is alive."""
    return datetime.now(UTC)


class Frozen(BaseModel):
    """Base of all values that travel between layers."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ClusterPhase(StrEnum):
    """Where a cluster stands, in our words."""

    CREATING = "creating"
    RUNNING = "running"
    DEGRADED = "degraded"
    STOPPING = "stopping"
    STOPPED = "stopped"
    DELETING = "deleting"
    DELETED = "deleted"
    FAILED = "failed"
    UNKNOWN = "unknown"

    @property
    def is_in_transition(self) -> bool:
        """Whether it is expected to become another phase by itself soon."""
        return self in (self.CREATING, self.STOPPING, self.DELETING, self.UNKNOWN)


class WorkloadPhase(StrEnum):
    """Where a workload stands, in our words."""

    PENDING = "pending"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"

    @property
    def is_final(self) -> bool:
        """Whether it will never change again."""
        return self in (self.SUCCEEDED, self.FAILED, self.CANCELLED)


class Billing(StrEnum):
    """Whether it costs money now, as far as anybody knows."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Money(Frozen):
    """An amount in one currency (ISO 4217 code, for example ``USD``)."""

    amount: Decimal
    currency: str

    def times(self, factor: int | Decimal) -> Money:
        """This amount multiplied, in the same currency."""
        return Money(amount=self.amount * factor, currency=self.currency)

    def __str__(self) -> str:
        return f"{self.amount:,.2f} {self.currency}"


class Offer(Frozen):
    """Something that can be rented now.

    ``price_per_node_hour`` is ``None`` when the price is unknown, and zero only where ``is_free``. A committed term
    has ``commitment_days`` and, in ``term_price``, the whole sum for one node. ``spec`` holds the fields of the
    provider's spec that ask for exactly this offer.
    """

    account: str
    provider: str
    offer_id: str
    title: str
    gpu_type: str | None = None
    gpus_per_node: int = 0
    cpus_per_node: int | None = None
    memory_gib_per_node: float | None = None
    nodes_available: int | None = None
    price_per_node_hour: Money | None = None
    is_free: bool = False
    region: str | None = None
    interconnect: str | None = None
    commitment_days: int | None = None
    term_price: Money | None = None
    spec: Mapping[str, Any] = Field(default_factory=dict)


class Node(Frozen):
    """One machine of a cluster. ``index`` is the provider's own, contiguous from 0: the rank order.

    ``address`` is how a user reaches it, ``overlay_address`` how the other nodes do where that differs.
    ``gpu_indices`` are the machine's own numbers of the node's GPUs where several nodes share one machine.
    """

    index: int
    node_id: str
    phase: ClusterPhase = ClusterPhase.RUNNING
    provider_state: str | None = None
    address: str | None = None
    overlay_address: str | None = None
    gpus: int = 0
    gpu_indices: tuple[int, ...] = ()


class Cluster(Frozen):
    """Nodes under one name and one bill, as last seen.

    ``login_address`` is where the user logs in (``user@host`` or ``user@host:port``) if that is not a node.
    ``member_ids`` are the nodes that the answer to the order named, whatever a listing shows now. ``vanished_at`` is
    since when complete listings lack it, although nobody here deleted it. ``rank_fault`` says why the nodes' indices
    are no rank order.
    """

    provider: str
    account: str
    cluster_id: str
    name: str
    phase: ClusterPhase
    provider_state: str | None = None
    nodes: tuple[Node, ...] = ()
    node_count: int = 0
    gpu_type: str | None = None
    gpus_per_node: int = 0
    price_per_hour: Money | None = None
    is_free: bool = False
    billing: Billing = Billing.UNKNOWN
    region: str | None = None
    created_at: datetime | None = None
    ends_at: datetime | None = None
    provider_url: str | None = None
    login_address: str | None = None
    member_ids: tuple[str, ...] = ()
    vanished_at: datetime | None = None
    rank_fault: str | None = None
    created_here: bool = True
    order_id: str | None = None
    reason: str | None = None

    @property
    def full_name(self) -> str:
        """``account/cluster``."""
        return f"{self.account}/{self.name}"

    @property
    def gpu_count(self) -> int:
        """GPUs of all nodes together."""
        return self.node_count * self.gpus_per_node


class SshTarget(Frozen):
    """A machine of a cluster that can be reached over SSH.

    Parameters
    ----------
    name : for people, and as a name for OpenSSH: unique within the cluster (``node-0``, ``login``).
    host, port, user : where it listens; ``user`` is the local user's name when left out.
    identity : what its host key belongs to: the same as long as it is the same machine, another one when the provider
        made it anew.
    node_index : which node of the cluster it is; ``None`` for a login node.
    """

    name: str
    host: str
    port: int = 22
    user: str | None = None
    identity: str
    node_index: int | None = None


class RankState(Frozen):
    """One process of a workload.

    ``exit_code`` is the process's own code; a process ended by signal ``n`` has ``-n``.
    """

    rank: int
    node_index: int
    phase: WorkloadPhase
    pid: int | None = None
    exit_code: int | None = None
    reason: str | None = None


class Workload(Frozen):
    """One distributed command on one cluster, as last seen.

    ``exit_code`` is the first failing rank's, or 0. ``log_bytes`` is the size of all rank logs together.
    """

    provider: str
    account: str
    cluster_id: str
    cluster_name: str
    workload_id: str
    name: str
    phase: WorkloadPhase
    provider_state: str | None = None
    command: tuple[str, ...] = ()
    nodes: int = 1
    procs_per_node: int | None = None
    ranks: tuple[RankState, ...] = ()
    submitted_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int | None = None
    first_failed_rank: int | None = None
    reason: str | None = None
    log_bytes: int = 0
    created_here: bool = True

    @property
    def full_name(self) -> str:
        """``account/cluster/workload``."""
        return f"{self.account}/{self.cluster_name}/{self.name}"


class LogChunk(Frozen):
    """A piece of one rank's output, whole lines where the rank wrote whole lines.

    ``offset`` is the position of the first byte in the rank's log, ``end`` the position after the last:
    a reader that comes back with ``end`` misses nothing and sees nothing twice. ``data`` are the very bytes, ``text``
    what they say, with replacements where they are no UTF-8.
    """

    rank: int
    offset: int
    end: int
    text: str
    data: bytes = Field(b"", exclude=True, repr=False)


class CancelReport(Frozen):
    """What a cancel did: the workload after it, and processes that would not go (``host:pid name``)."""

    workload: Workload
    left_over: tuple[str, ...] = ()


class Listing(Frozen, Generic[T]):
    """What one look at a provider showed. ``observed_at`` is when the look began.

    Only a *complete* listing can ever mean that something missing is gone.
    """

    items: tuple[T, ...]
    observed_at: datetime = Field(default_factory=utc_now)
    is_complete: bool = True
    not_seen: tuple[str, ...] = ()


class Lookup(Frozen, Generic[T]):
    """The answer to "is it there?": found, absent, or cannot tell (with the reason)."""

    answer: Literal["found", "absent", "cannot_tell"]
    item: T | None = None
    reason: str | None = None
    observed_at: datetime = Field(default_factory=utc_now)


class AccountStatus(Frozen):
    """Whether an account works. ``credential`` says where its secret comes from, never what it is."""

    account: str
    provider: str
    is_usable: bool
    detail: str
    credential: str = "none needed"
    expires_at: datetime | None = None
    balance: Money | None = None


class Verb(StrEnum):
    """The writes that cost or must not happen twice."""

    CREATE = "create"
    SCALE = "scale"
    ACT = "act"
    SUBMIT = "submit"
    SUSPEND = "suspend"
    RESUME = "resume"
    DELETE = "delete"


class Plan(Frozen):
    """What a write *would* do. Building one never spends.

    Parameters
    ----------
    request : the exact request, as the provider's adapter wants it back; stays in memory.
    shown : the same with secrets masked, for people and for the journal.
    spec_digest : of the spec as the user wrote it, to tell "run again" from "another request".
    target_id : the cluster a scale, action, submit or delete is about; the workload of a suspend or resume.
    action : which of the provider's actions it is.
    marks_name : on the far side the name carries the order's mark (see `Order.remote_name`).
    baseline : ids of what existed before, where the provider needs them to tell the new from the old.
    price_per_hour : of what is added; ``None`` when unknown, and then ``--yes`` does not cover it.
    commitment : whole sum of a committed term, which is confirmed in words.
    confirm : what must be agreed to besides a price, one sentence; ``--yes`` covers it.
    max_hours : after so many hours it is to be deleted by us, where the provider keeps no end time itself.
    """

    verb: Verb
    provider: str
    account: str
    identity_key: str
    name: str
    spec_digest: str
    request: Any = Field(exclude=True, repr=False)
    shown: Mapping[str, Any]
    target_id: str | None = None
    action: str | None = None
    marks_name: bool = False
    baseline: tuple[str, ...] = ()
    nodes: int = 0
    processes: int = 0
    gpus: int = 0
    is_free: bool = False
    price_per_hour: Money | None = None
    commitment: Money | None = None
    confirm: str | None = None
    max_hours: float | None = None
    warnings: tuple[str, ...] = ()
    made_at: datetime = Field(default_factory=utc_now)


class OrderState(StrEnum):
    """What is known of a write that was started."""

    OPEN = "open"
    NOT_SEEN = "not_seen"
    DONE = "done"
    REFUSED = "refused"
    CLOSED = "closed"

    @property
    def is_open(self) -> bool:
        """Whether something may exist remotely that nobody has confirmed."""
        return self in (self.OPEN, self.NOT_SEEN)


class Order(Frozen):
    """One write that was started: the durable intent and what became of it.

    ``price_per_hour`` and ``commitment`` are what was agreed to, ``max_hours`` after how many hours what it makes is to
    be deleted. ``sender`` names the process that may still be sending it (see ``core.processes``).
    ``baseline`` holds the ids of what existed before. ``remote_name`` is what the far side is told: the name, with
    ``mark`` behind it where the plan asked for that. ``mark`` is short and tells journal and order. ``members`` are
    ids of nodes that its answer named. ``on_sight``: the user wants what it made deleted as soon as it shows.
    ``is_late``: what it made appeared after the user had closed it.
    """

    order_id: str
    verb: Verb
    provider: str
    account: str
    identity_key: str
    name: str
    remote_name: str
    mark: str
    idempotency_key: str
    spec_digest: str
    shown: Mapping[str, Any]
    target_id: str | None = None
    action: str | None = None
    baseline: tuple[str, ...] = ()
    sender: str = ""
    created_at: datetime = Field(default_factory=utc_now)
    state: OrderState = OrderState.OPEN
    remote_ids: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    price_per_hour: Money | None = None
    commitment: Money | None = None
    nodes: int = 0
    max_hours: float | None = None
    on_sight: bool = False
    is_late: bool = False
    note: str | None = None

    def following(self, known: Order) -> Order:
        """This record as the one after `known`, which another process may have written meanwhile.

        What is settled never becomes open again, and a wish to delete is never lost.
        """
        newer = known if self.state.is_open and not known.state.is_open else self
        return newer.model_copy(update={"on_sight": self.on_sight or known.on_sight})


class Transition(Frozen):
    """One change of phase, for the timeline. ``seq`` only ever grows."""

    seq: int
    at: datetime
    identity_key: str
    kind: Literal["cluster", "workload", "order"]
    object_id: str
    name: str
    before: str | None
    after: str
    detail: str | None = None


class Details(Frozen):
    """A table that only one provider has (events, pods, a bill): ``columns`` in order, one mapping a row."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, str | int | float | None], ...] = ()
    note: str | None = None


class Failure(Frozen):
    """An error as data, for faces that show it later or elsewhere."""

    message: str
    hint: str | None = None
    code: str = "error"


class AccountView(Frozen):
    """What was last seen of one account: "nothing there" and "could not look" are different.

    ``error`` is of the last look; ``observed_at`` is when the last good look was made, ``age_s`` its age in
    seconds by this machine's clock, ``why_not`` ability -> reason for what ``can`` lacks.
    """

    account: str
    provider: str
    title: str
    can: tuple[str, ...] = ()
    why_not: Mapping[str, str] = Field(default_factory=dict)
    observed_at: datetime | None = None
    age_s: float | None = None
    is_complete: bool = True
    not_seen: tuple[str, ...] = ()
    error: Failure | None = None


class State(Frozen):
    """Everything last known about all accounts. ``seq`` grows with every recorded transition."""

    accounts: tuple[AccountView, ...] = ()
    clusters: tuple[Cluster, ...] = ()
    workloads: tuple[Workload, ...] = ()
    orders: tuple[Order, ...] = ()
    notices: tuple[str, ...] = ()
    seq: int = 0


class OfferListing(Frozen):
    """The offers of one account, or why they could not be had."""

    account: str
    provider: str
    offers: tuple[Offer, ...] = ()
    error: Failure | None = None


class Created(Frozen):
    """The result of a create. ``attached``: it was there already and nothing was sent."""

    cluster: Cluster
    attached: bool = False
    note: str | None = None


class Submitted(Frozen):
    """The result of a submit. ``attached``: it was running already and nothing was sent."""

    workload: Workload
    attached: bool = False
    note: str | None = None


class Deleted(Frozen):
    """The result of a delete. ``is_gone`` only with proof."""

    cluster: Cluster
    is_gone: bool
    note: str | None = None
