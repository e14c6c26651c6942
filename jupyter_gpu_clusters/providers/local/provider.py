"""The promise of ``core/provider.py`` for this machine."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from anyio import to_thread
from pydantic import BaseModel, ValidationError

from ...core.errors import ConflictError, NoCapacityError, Problem, SpecError
from ...core.models import (
    AccountStatus,
    Billing,
    Cluster,
    ClusterPhase,
    Listing,
    Lookup,
    Node,
    Offer,
    Order,
    Plan,
    Verb,
    Workload,
    utc_now,
)
from ...core.paths import data_dir
from ...core.processes import is_dead
from ...core.provider import (
    CreatesClusters,
    ListsOffers,
    RemoteIdentity,
    RunsWorkloads,
    ScalesClusters,
    Search,
)
from ...core.settings import Account, Settings
from ...core.spec_problems import problems_of
from ...launch.control import Control
from ...launch.hosts import LocalHost
from ...launch.ranks import RankNode, RanksLauncher, list_all_workloads
from ...launch.spec import CommandSpec
from .machine import Machine, inspect
from .spec import NAME_PATTERN, NAME_RULE, LocalSpec
from .store import Record, Store

_MARK_LENGTH = 8


class LocalProvider(ListsOffers, CreatesClusters, ScalesClusters, RunsWorkloads):
    """This machine. Free, needs no account, and really runs distributed work."""

    name: ClassVar[str] = "local"
    title: ClassVar[str] = "This machine"
    poll_transition_s: ClassVar[float] = 1.0
    poll_steady_s: ClassVar[float] = 5.0
    spec_model: ClassVar[type[BaseModel]] = LocalSpec
    workload_model: ClassVar[type[BaseModel]] = CommandSpec

    def __init__(self, account: Account) -> None:
        super().__init__(account)
        self._store = Store(data_dir() / "local")
        self._host = LocalHost()
        self._control = Control(sys.executable)

    async def identity(self) -> RemoteIdentity:
        """The folder of the clusters; host names of containers change, the folder stays."""
        return RemoteIdentity(provider=self.name, origin=self._store.root.as_uri())

    async def check_account(self) -> AccountStatus:
        """Usable when the folder can be written and the account has no settings that nothing reads."""
        unknown = [f"{key!r} is not a setting of `local`" for key in self.account.options]
        parent = next(p for p in (self._store.root, *self._store.root.parents) if p.exists())
        if not os.access(parent, os.W_OK):
            unknown.append(f"{parent} cannot be written")
        detail = "; ".join(unknown) or f"{socket.gethostname()}, free"
        return AccountStatus(account=self.account.name, provider=self.name, is_usable=not unknown, detail=detail)

    # Offers

    async def list_offers(self) -> Listing[Offer]:
        """One offer: this machine."""
        started = utc_now()
        machine = await inspect()
        models = {gpu.model for gpu in machine.gpus}
        offer = Offer(
            account=self.account.name,
            provider=self.name,
            offer_id="this-machine",
            title=f"{socket.gethostname()}: processes on this machine",
            gpu_type=", ".join(sorted(models)) or None,
            gpus_per_node=len(machine.gpus),
            cpus_per_node=machine.cpus,
            memory_gib_per_node=machine.memory_gib,
            is_free=True,
            region="here",
        )
        return Listing[Offer](items=(offer,), observed_at=started)

    # Clusters

    async def list_clusters(self) -> Listing[Cluster]:
        """Every cluster folder; one that cannot be read makes the listing incomplete and is named."""
        started = utc_now()
        records = await to_thread.run_sync(self._store.all)
        return Listing[Cluster](items=tuple(self._cluster(record) for record in records), observed_at=started)

    async def get_cluster(self, cluster_id: str) -> Lookup[Cluster]:
        """The folder is the truth, so a missing one is proof."""
        record = await to_thread.run_sync(self._store.find, cluster_id)
        if record is None:
            return Lookup[Cluster](answer="absent")
        return Lookup[Cluster](answer="found", item=self._cluster(record))

    async def plan_cluster(self, name: str, spec: BaseModel, digest: str) -> Plan:
        """Checks name and GPUs; raises `SpecError`."""
        assert isinstance(spec, LocalSpec)
        problems = []
        if not NAME_PATTERN.fullmatch(name):
            problems.append(Problem("name", f"{name!r} {NAME_RULE}."))
        if spec.gpus_per_node:
            machine = await inspect()
            if spec.nodes * spec.gpus_per_node > len(machine.gpus):
                text = f"{spec.nodes} nodes x {spec.gpus_per_node} GPUs; this machine has {len(machine.gpus)}."
                problems.append(Problem("gpus_per_node", text))
        if problems:
            raise SpecError("The cluster cannot be made like this.", problems=problems, provider=self.name)
        return await self._plan(Verb.CREATE, name, spec, digest)

    async def create_cluster(self, plan: Plan, order: Order) -> Cluster:
        """Make the folder; a taken name and missing GPUs are definite refusals."""
        spec: LocalSpec = plan.request
        machine = await inspect() if spec.gpus_per_node else Machine(0, 0, ())
        record = await to_thread.run_sync(self._create, order, spec, machine)
        return self._cluster(record)

    def _create(self, order: Order, spec: LocalSpec, machine: Machine) -> Record:
        with self._store.locked():
            gpus = self._free_gpus(machine, spec.nodes, spec.gpus_per_node)
            record = Record(
                cluster_id=f"{order.name}-{order.order_id[:_MARK_LENGTH]}",
                name=order.name,
                order_id=order.order_id,
                host=socket.gethostname(),
                created_at=utc_now(),
                nodes=spec.nodes,
                gpus_per_node=spec.gpus_per_node,
                gpu_type=next((gpu.model for gpu in machine.gpus), None) if spec.gpus_per_node else None,
                gpus=gpus,
            )
            if not self._store.create(record):
                raise ConflictError(
                    f"There is a local cluster {order.name!r} already that this journal did not create.",
                    hint=f"Use it (%cluster_attach {order.name}) or choose another --name.",
                    provider=self.name,
                    is_definite=True,
                )
        return record

    def _free_gpus(
        self, machine: Machine, nodes: int, per_node: int, own: Record | None = None
    ) -> tuple[tuple[int, ...], ...]:
        """GPU indices for each node that no other local cluster holds; what `own` has it keeps."""
        if not per_node:
            return ()
        kept = own.gpus[:nodes] if own else ()
        others = [record for record in self._store.all() if own is None or record.name != own.name]
        held = {index for groups in (kept, *(record.gpus for record in others)) for group in groups for index in group}
        free = [gpu.index for gpu in machine.gpus if gpu.index not in held]
        wanted = (nodes - len(kept)) * per_node
        if wanted > len(free):
            raise NoCapacityError(
                f"{wanted} GPUs are needed and {len(free)} of {len(machine.gpus)} are free here.",
                hint="Ask for fewer, or delete a local cluster that holds some.",
                provider=self.name,
                is_definite=True,
            )
        new = [tuple(free[i * per_node : (i + 1) * per_node]) for i in range(nodes - len(kept))]
        return (*kept, *new)

    async def find_created(self, order: Order) -> Search:
        """The folder tells; without it, a dead sender proves that nothing will come."""
        record = await to_thread.run_sync(self._store.read, order.name)
        if record is not None and record.order_id == order.order_id:
            return Search(found=(self._cluster(record),))
        if not is_dead(order.sender):
            return Search(reason="Its sender may still be at work.")
        return Search(never_happened=True, reason="The process that ordered it ended before it was made.")

    async def delete_cluster(self, cluster: Cluster, order: Order) -> Lookup[Cluster]:
        """End what runs on it, then its folders. What will not die keeps the cluster there, named."""
        record = await to_thread.run_sync(self._store.find, cluster.cluster_id)
        if record is None:
            return Lookup[Cluster](answer="absent")
        left = await self._end_work(record, self._store.root / record.name)
        if left:
            reason = f"Processes that would not end: {', '.join(left)}."
            return Lookup[Cluster](answer="cannot_tell", item=self._cluster(record), reason=reason)
        trash = await to_thread.run_sync(self._store.retire, record)
        if trash is not None:
            await self._end_work(record, trash)
            await to_thread.run_sync(shutil.rmtree, trash)
        return Lookup[Cluster](answer="absent")

    async def _end_work(self, record: Record, folder: Path) -> list[str]:
        """End everything that runs from `folder`; what will not go, as ``host:pid name``."""
        if record.host != socket.gethostname():
            return []
        launcher = self._ranks(self._cluster(record), folder)
        left: list[str] = []
        for workload in (await launcher.list_workloads()).items:
            if not workload.phase.is_final:
                left += (await launcher.cancel_workload(workload.workload_id)).left_over
        return [*left, *await launcher.end_leftovers()]

    # Scaling

    async def plan_scale(self, cluster: Cluster, nodes: int, digest: str) -> Plan:
        """Refuses to drop nodes that are at work; raises `SpecError`."""
        wanted = {"nodes": nodes, "gpus_per_node": cluster.gpus_per_node}
        try:
            spec = LocalSpec.model_validate(wanted)
        except ValidationError as exc:
            raise SpecError(
                f"{cluster.name!r} cannot have {nodes} nodes.", problems=problems_of(exc, LocalSpec, wanted)
            ) from None
        busy = [
            w.name for w in (await self.list_workloads([cluster])).items if not w.phase.is_final and w.nodes > nodes
        ]
        if busy:
            raise SpecError(
                f"{cluster.name!r} cannot shrink to {nodes} nodes: {', '.join(busy)} runs on more.",
                hint="Wait for it or cancel it first.",
            )
        plan = await self._plan(Verb.SCALE, cluster.name, spec, digest)
        return plan.model_copy(update={"target_id": cluster.cluster_id})

    async def scale_cluster(self, plan: Plan, order: Order) -> Cluster:
        """Add or drop node folders; the logs of dropped nodes go with them."""
        spec: LocalSpec = plan.request
        machine = await inspect() if spec.gpus_per_node else Machine(0, 0, ())
        return self._cluster(await to_thread.run_sync(self._scale, plan.target_id or "", spec, machine))

    def _scale(self, cluster_id: str, spec: LocalSpec, machine: Machine) -> Record:
        with self._store.locked():
            record = self._store.find(cluster_id)
            if record is None:
                raise ConflictError("The cluster is gone.", provider=self.name, is_definite=True)
            gpus = self._free_gpus(machine, spec.nodes, spec.gpus_per_node, own=record)
            record = record.model_copy(update={"nodes": spec.nodes, "gpus": gpus})
            self._store.resize(record)
        return record

    async def find_scaled(self, order: Order) -> Search:
        """The record tells; the change is one file write, so a dead sender cannot change it later."""
        record = await to_thread.run_sync(self._store.find, order.target_id or "")
        if record is not None and record.nodes == order.shown.get("nodes"):
            return Search(found=(self._cluster(record),))
        return Search(never_happened=is_dead(order.sender), reason="The process that scaled it ended before.")

    # Workloads

    def launcher(self, cluster: Cluster) -> RanksLauncher:
        """The ranks launcher over this cluster's node folders."""
        return self._ranks(cluster, self._store.root / cluster.name)

    def _ranks(self, cluster: Cluster, folder: Path) -> RanksLauncher:
        return RanksLauncher(
            provider=self.name,
            account=self.account.name,
            identity=self.identity,
            cluster_id=cluster.cluster_id,
            cluster_name=cluster.name,
            nodes=[self._rank_node(node, folder / "nodes") for node in cluster.nodes],
            control=self._control,
            base_env=_inherited_environment(),
            default_workdir=os.getcwd(),
            is_free=True,
        )

    def _rank_node(self, node: Node, folder: Path) -> RankNode:
        visible = ",".join(map(str, node.gpu_indices))
        return RankNode(
            index=node.index,
            host=self._host,
            root=str(folder / str(node.index)),
            address="127.0.0.1",
            gpus=node.gpus,
            env={"CUDA_VISIBLE_DEVICES": visible} if node.gpus else {},
        )

    async def list_workloads(self, clusters: Sequence[Cluster]) -> Listing[Workload]:
        """One status command for all clusters together."""
        started = utc_now()
        listing = await list_all_workloads([self.launcher(cluster) for cluster in clusters])
        return listing.model_copy(update={"observed_at": started})

    # Shapes

    async def _plan(self, verb: Verb, name: str, spec: LocalSpec, digest: str) -> Plan:
        return Plan(
            verb=verb,
            provider=self.name,
            account=self.account.name,
            identity_key=(await self.identity()).key,
            name=name,
            spec_digest=digest,
            request=spec,
            shown=spec.model_dump(mode="json"),
            nodes=spec.nodes,
            gpus=spec.nodes * spec.gpus_per_node,
            is_free=True,
        )

    def _cluster(self, record: Record) -> Cluster:
        is_here = record.host == socket.gethostname()
        phase = ClusterPhase.RUNNING if is_here else ClusterPhase.UNKNOWN
        return Cluster(
            provider=self.name,
            account=self.account.name,
            cluster_id=record.cluster_id,
            name=record.name,
            phase=phase,
            nodes=tuple(self._node(record, index, phase) for index in range(record.nodes)),
            node_count=record.nodes,
            gpu_type=record.gpu_type,
            gpus_per_node=record.gpus_per_node,
            is_free=True,
            billing=Billing.NO,
            region="here",
            created_at=record.created_at,
            order_id=record.order_id,
            reason=None if is_here else f"Its processes are on {record.host}, which cannot be seen from here.",
        )

    def _node(self, record: Record, index: int, phase: ClusterPhase) -> Node:
        gpus = record.gpus[index] if index < len(record.gpus) else ()
        return Node(
            index=index,
            node_id=f"{record.cluster_id}/{index}",
            phase=phase,
            address="127.0.0.1",
            gpus=len(gpus),
            gpu_indices=gpus,
        )


def _inherited_environment() -> Mapping[str, str]:
    """The kernel's environment for ranks: its Python first on PATH, without accounts' secrets and MPLBACKEND."""
    hidden = Settings.load().secret_variables() | {"MPLBACKEND"}
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    folder = str(Path(sys.executable).parent)
    rest = [part for part in env.get("PATH", os.defpath).split(os.pathsep) if part != folder]
    return env | {"PATH": os.pathsep.join([folder, *rest])}
