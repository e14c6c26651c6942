"""What a provider promises.

Renting nodes and running work are two jobs, so there are two small protocols: a `Provider` and the
`Launcher` it hands out for a cluster. What a provider can do beyond listing is said by extra base
classes; ``abilities_of`` derives the table of who can what from them, and ``Provider.why_not`` has the
reason for the rest (the tooltip of a greyed control).

A write takes a `Plan` and an `Order` and nothing else, so dry run, consent, journal and safe retry are
one path for every provider. An adapter raises `ProviderError` with ``is_definite`` only for refusals its
contract lists as certain; every other failure leaves the order open.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel

from .choices import Choice, LookUp
from .models import (
    AccountStatus,
    CancelReport,
    Cluster,
    Details,
    Frozen,
    Listing,
    LogChunk,
    Lookup,
    Offer,
    Order,
    Plan,
    SshTarget,
    Workload,
)

if TYPE_CHECKING:
    from .settings import Account


class RemoteIdentity(Frozen):
    """Whom a provider speaks to and as whom.

    Rows of the journal are keyed by it, so a changed key, project or base URL can never "prove" that
    something is absent. ``credential`` is a salted HMAC, never the secret; ``scope`` is the workspace,
    project and location in the provider's own words.
    """

    provider: str
    origin: str
    scope: str = ""
    credential: str = ""

    @property
    def key(self) -> str:
        """One string for the four parts."""
        return "|".join((self.provider, self.origin, self.scope, self.credential))


class Search(Frozen):
    """What looking for the result of an order showed.

    ``never_happened`` is true only with proof (for example: the sender is dead and the service has no
    way to commit later); a listing without it is not proof. ``candidates`` may be the order's but nothing on them
    proves it: they are shown, and taken for it only when the user says so.
    """

    found: tuple[Cluster, ...] = ()
    workloads: tuple[Workload, ...] = ()
    candidates: tuple[Cluster, ...] = ()
    never_happened: bool = False
    reason: str | None = None


class Asked(Frozen):
    """One thing that ``%cluster_login`` asks for.

    ``name`` is a part of the secret or, where not ``is_secret``, an option of the account. A secret of one part is
    stored as it is, one of several as a JSON object.
    """

    name: str
    label: str
    is_secret: bool = True
    is_required: bool = True
    default: str | None = None


class Action(Frozen):
    """Something a provider can do to a cluster besides scaling and deleting it.

    ``model`` says what it needs, ``title`` is the text of a button, ``description`` one sentence on what happens.
    The one that ``is_restart`` is what ``%cluster_restart`` does.
    """

    title: str
    description: str
    model: type[BaseModel]
    is_restart: bool = False


class Provider(ABC):
    """Required of every provider. The constructor does no I/O and cannot fail."""

    name: ClassVar[str]
    title: ClassVar[str]
    reasons: ClassVar[Mapping[str, str]] = {}
    asks: ClassVar[Sequence[Asked]] = ()
    poll_transition_s: ClassVar[float] = 3.0
    poll_steady_s: ClassVar[float] = 15.0

    def __init__(self, account: Account) -> None:
        self.account = account

    @abstractmethod
    async def identity(self) -> RemoteIdentity:
        """Whom this account speaks to. No write is done under another identity than the plan's."""

    @abstractmethod
    async def check_account(self) -> AccountStatus:
        """Whether the account works; a wrong key is an answer here, not an exception."""

    @abstractmethod
    async def list_clusters(self) -> Listing[Cluster]:
        """Everything the identity can see, whoever created it. All pages, one look."""

    @abstractmethod
    async def get_cluster(self, cluster_id: str) -> Lookup[Cluster]:
        """One cluster, fresh. "Absent" and "cannot tell" are different answers."""

    async def aclose(self) -> None:
        """Give back connections. Called once; nothing is used afterwards."""

    def why_not(self, ability: str) -> str:
        """The reason this provider lacks an ability, in one sentence."""
        return self.reasons.get(ability, f"{self.title} offers no way to do that.")


class ListsOffers(Provider):
    """The provider can say what may be rented now."""

    @abstractmethod
    async def list_offers(self) -> Listing[Offer]:
        """What can be rented now, unfiltered."""


class CreatesClusters(Provider):
    """The provider rents clusters and ends them.

    ``ends_field`` is the field of the spec for the hours after which the service itself ends a cluster, if it can;
    ``ends_action`` the action (with a field ``hours``, from now) that changes it later.
    """

    spec_model: ClassVar[type[BaseModel]]
    ends_field: ClassVar[str | None] = None
    ends_action: ClassVar[str | None] = None

    @abstractmethod
    async def plan_cluster(self, name: str, spec: BaseModel, digest: str) -> Plan:
        """Check everything that can be checked and freeze the request.

        Raises
        ------
        SpecError : with every problem found, not the first.
        """

    @abstractmethod
    async def create_cluster(self, plan: Plan, order: Order) -> Cluster:
        """Send the plan once. Any exception that is not definite leaves the order open."""

    @abstractmethod
    async def find_created(self, order: Order) -> Search:
        """Look for what an order made. Reads only."""

    @abstractmethod
    async def delete_cluster(self, cluster: Cluster, order: Order) -> Lookup[Cluster]:
        """End the cluster and its cost. "absent" only with proof; calm when it is already gone."""


class NamesMembers(Provider):
    """Answers to orders name the nodes that were rented, and no later listing does so for certain."""

    @abstractmethod
    def know_members(self, members: Mapping[str, Sequence[str]]) -> None:
        """Cluster id -> ids of the nodes that an order's answer named; called before every look, get and delete."""


class ScalesClusters(Provider):
    """The provider can change the number of nodes."""

    @abstractmethod
    async def plan_scale(self, cluster: Cluster, nodes: int, digest: str) -> Plan:
        """``nodes`` is the wanted total, not a difference."""

    @abstractmethod
    async def scale_cluster(self, plan: Plan, order: Order) -> Cluster:
        """Send the plan once."""

    @abstractmethod
    async def find_scaled(self, order: Order) -> Search:
        """Look whether a scale order took effect. Reads only."""


class ActsOnClusters(Provider):
    """The provider changes clusters in ways of its own: restarts, keys, addresses, an end time."""

    actions: ClassVar[Mapping[str, Action]]

    @abstractmethod
    async def plan_action(self, cluster: Cluster, action: str, spec: BaseModel, digest: str) -> Plan:
        """What the action would send; raises like `CreatesClusters.plan_cluster`.

        The plan says ``confirm`` where the action disturbs what runs.
        """

    @abstractmethod
    async def act(self, plan: Plan, order: Order) -> Cluster:
        """Send the plan once."""

    @abstractmethod
    async def find_acted(self, order: Order) -> Search:
        """Look whether an action took effect. Reads only."""


class LooksUp(Provider):
    """The provider can say what may be chosen for fields of its spec models."""

    look_ups: ClassVar[Mapping[str, LookUp]]

    @abstractmethod
    async def list_choices(self, look_up: str, given: Mapping[str, Any]) -> Listing[Choice]:
        """What may be chosen.

        Parameters
        ----------
        given : the spec as far as it is filled in, plain data as in YAML; it may be wrong anywhere.

        Raises
        ------
        SettingsError : something that the look-up needs is not filled in; the message names it.
        """


class KeepsSshKeys(Provider):
    """The provider keeps the user's public SSH keys and puts chosen ones on new nodes."""

    @abstractmethod
    async def list_ssh_keys(self) -> Listing[Choice]:
        """The keys it keeps: ``value`` as a spec names it, ``detail["public_key"]`` the key where it is told."""

    @abstractmethod
    async def add_ssh_key(self, label: str, public_key: str) -> Choice:
        """Give it one more. `public_key` is one line as in ``id_ed25519.pub``.

        Raises
        ------
        ProviderError : refused; the label may be taken.
        """


class ShowsDetails(Provider):
    """The provider can show more of a cluster or a workload than the common words say."""

    cluster_details: ClassVar[Mapping[str, str]] = {}
    workload_details: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    async def show_details(self, thing: Cluster | Workload, kind: str) -> Details:
        """One table, the newest rows first where they have times; bounded. `kind` is a key of the mappings above."""


class ReachesMachines(Provider):
    """Machines of the provider's clusters can be reached over SSH."""

    @abstractmethod
    def ssh_targets(self, cluster: Cluster) -> Sequence[SshTarget]:
        """The machines whose address is known now, nodes in rank order; no I/O."""

    @abstractmethod
    async def host_keys(self, targets: Sequence[SshTarget]) -> Mapping[str, str]:
        """Name -> fingerprint (``SHA256:...``) of those that were met; no network."""

    @abstractmethod
    async def meet(self, target: SshTarget, name: str) -> None:
        """Log in to a machine, `name` in messages; its host key is pinned at first contact. Raises TransportError."""

    @abstractmethod
    async def forget_host_keys(self, identities: Collection[str]) -> None:
        """The next contact with these machines is a first one."""

    @abstractmethod
    async def forward(self, target: SshTarget, name: str, port: int, local_port: int) -> int:
        """Make a port of a machine one of this machine, until `aclose`; 0 is any free port.

        Returns
        -------
        The port on 127.0.0.1.
        """

    @abstractmethod
    async def write_ssh_config(self, clusters: Mapping[str, Sequence[SshTarget]]) -> str:
        """Write these machines down for the ``ssh`` program; the line that its configuration needs for that."""


class RunsWorkloads(Provider):
    """Work can be started on the provider's clusters."""

    workload_model: ClassVar[type[BaseModel]]

    @abstractmethod
    def launcher(self, cluster: Cluster) -> Launcher:
        """The launcher of one cluster; cheap, does no I/O."""

    @abstractmethod
    async def list_workloads(self, clusters: Sequence[Cluster]) -> Listing[Workload]:
        """The workloads of all these clusters in as few looks as the service allows."""


class SuspendsWorkloads(RunsWorkloads):
    """A workload can give back its GPUs and go on later."""

    @abstractmethod
    async def suspend_workload(self, workload: Workload, order: Order) -> Workload:
        """Send it once; calm when it rests already."""

    @abstractmethod
    async def resume_workload(self, workload: Workload, order: Order) -> Workload:
        """Send it once; calm when it runs already."""


class Launcher(ABC):
    """How a command becomes ranks on the nodes of one cluster."""

    @abstractmethod
    async def plan_workload(self, name: str, spec: BaseModel, digest: str) -> Plan:
        """Check and freeze; see `CreatesClusters.plan_cluster`."""

    @abstractmethod
    async def submit_workload(self, plan: Plan, order: Order) -> Workload:
        """Start it: all nodes or none. A workload that could not start is returned as failed, with the reason."""

    @abstractmethod
    async def find_submitted(self, order: Order) -> Search:
        """Look for what an order started. Reads only."""

    @abstractmethod
    async def get_workload(self, workload_id: str) -> Lookup[Workload]:
        """One workload, fresh."""

    @abstractmethod
    async def cancel_workload(self, workload_id: str) -> CancelReport:
        """End every process on every node; calm when it has already ended."""

    @abstractmethod
    def stream_logs(
        self,
        workload_id: str,
        *,
        ranks: Sequence[int] | None = None,
        offsets: Mapping[int, int] | None = None,
        tail_lines: int | None = None,
        follow: bool = False,
    ) -> AsyncGenerator[LogChunk, None]:
        """Output of the ranks.

        Parameters
        ----------
        ranks : which ranks, all by default.
        offsets : rank -> byte position to start from (default 0); takes precedence over `tail_lines`.
        tail_lines : start with the last so many lines of each rank.
        follow : go on until the workload has ended and everything written was delivered.
        """


ABILITIES: Mapping[str, type[Provider]] = {
    "offers": ListsOffers,
    "create": CreatesClusters,
    "delete": CreatesClusters,
    "scale": ScalesClusters,
    "actions": ActsOnClusters,
    "choices": LooksUp,
    "details": ShowsDetails,
    "ssh_keys": KeepsSshKeys,
    "ssh": ReachesMachines,
    "workloads": RunsWorkloads,
    "suspend": SuspendsWorkloads,
}


def abilities_of(provider: type[Provider]) -> frozenset[str]:
    """What a provider class can do beyond the required part, derived from its bases."""
    return frozenset(name for name, base in ABILITIES.items() if issubclass(provider, base))
