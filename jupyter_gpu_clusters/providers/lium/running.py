"""Work on rented nodes: one supervisor on each, over SSH. Source: contract, section 5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import BaseModel

from ...core.models import Cluster, ClusterPhase, Listing, Node, SshTarget, Workload
from ...core.provider import RunsWorkloads
from ...core.settings import Account
from ...core.ssh_address import ssh_target
from ...launch.control import Control
from ...launch.hosts import Host, NoHost
from ...launch.planning import RankNode
from ...launch.ranks import RanksLauncher, list_all_workloads
from ...launch.spec import CommandSpec
from ...launch.ssh import OverSsh, SshOptions
from .convert import pod_of
from .looking import Looking
from .options import Options

OVERLAY = "10.42.0.{}"
INTERFACE = "wg0"
_FOLDER = ".jupyter-gpu-clusters"
_MADE_ANEW = frozenset({ClusterPhase.CREATING})
"""A container that is being made, also after a reboot, gets a new host key."""
_USABLE = frozenset({ClusterPhase.RUNNING, ClusterPhase.DEGRADED})


class Running(OverSsh, Looking, RunsWorkloads):
    """The part of the adapter that works on the nodes."""

    workload_model: ClassVar[type[BaseModel]] = CommandSpec

    def __init__(self, account: Account) -> None:
        super().__init__(account)
        self._control = Control("python3")

    def ssh_targets(self, cluster: Cluster) -> Sequence[SshTarget]:
        """Every node whose SSH command Lium shows. Host keys belong to the pod: hosts and ports are used again."""
        found = (_target(node) for node in cluster.nodes)
        return tuple(target for target in found if target is not None)

    def launcher(self, cluster: Cluster) -> RanksLauncher:
        """The ranks launcher over the cluster's nodes."""
        return RanksLauncher(
            provider=self.name,
            account=self.account.name,
            identity=self.identity,
            cluster_id=cluster.cluster_id,
            cluster_name=cluster.name,
            nodes=[self._rank_node(cluster, node) for node in cluster.nodes],
            base_env=None,
            default_workdir="",
            is_free=True,
            control=self._control,
            rank_fault=cluster.rank_fault,
        )

    def _rank_node(self, cluster: Cluster, node: Node) -> RankNode:
        is_member = pod_of(cluster.cluster_id) is None
        own = OVERLAY.format(node.index + 1) if is_member else "127.0.0.1"
        return RankNode(
            index=node.index,
            host=self._host(cluster, node),
            root=f"{_FOLDER}/{cluster.cluster_id.replace('/', '-')}/{node.index}",
            address=(node.overlay_address or own) if is_member else own,
            gpus=node.gpus,
            interface=INTERFACE if is_member else None,
            expects_infiniband=is_member,
        )

    def _host(self, cluster: Cluster, node: Node) -> Host:
        name = f"node {node.index} of {cluster.name}"
        target = _target(node)
        if target is None:
            return NoHost(name, _why_not(node))
        return self._ssh().host(target, name)

    def _ssh_options(self) -> SshOptions:
        return SshOptions(ssh_key=Options.of(self.account).ssh_key)

    async def list_workloads(self, clusters: Sequence[Cluster]) -> Listing[Workload]:
        """One status command on each node that can be logged in to."""
        anew = [identity_of(node.node_id) for one in clusters for node in one.nodes if node.phase in _MADE_ANEW]
        await self.forget_host_keys(anew)
        usable = [one for one in clusters if one.phase in _USABLE and self.ssh_targets(one)]
        return await list_all_workloads([self.launcher(cluster) for cluster in usable])


def _why_not(node: Node) -> str:
    if node.address is not None:
        return f"{node.address} is no address of a machine."
    return f"Lium says {node.provider_state}." if node.provider_state else "Lium does not list it."


def _target(node: Node) -> SshTarget | None:
    return ssh_target(f"node-{node.index}", node.address, identity_of(node.node_id), node.index)


def identity_of(pod_id: str) -> str:
    """What a host key belongs to."""
    return f"lium/{pod_id}"
