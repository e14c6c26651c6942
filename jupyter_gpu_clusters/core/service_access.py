"""The verbs that lead a user to the machines of a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from anyio import to_thread

from .errors import GpuClustersError, NotFoundError
from .models import Cluster, ClusterPhase, Frozen, SshTarget
from .provider import ReachesMachines
from .service_base import ServiceBase
from .ssh_address import ssh_names


class Reached(Frozen):
    """One machine of a cluster: the name that ``ssh`` knows it by, its host key, or why it cannot be logged in to."""

    name: str
    target: SshTarget
    fingerprint: str | None = None
    problem: str | None = None


class SshAccess(Frozen):
    """The machines of a cluster, and the line that ``~/.ssh/config`` needs once."""

    cluster: Cluster
    machines: tuple[Reached, ...]
    include_line: str


class AccessVerbs(ServiceBase):
    """Log in, forward a port, forget a host key."""

    async def ssh_access(self, cluster: Cluster) -> SshAccess:
        """Log in to every machine once, and write them down for the ``ssh`` program.

        Raises
        ------
        NotSupportedError : the provider gives no way to log in.
        NotFoundError : no address is known (yet).
        """
        provider, targets = self._machines_of(cluster)
        problems = await asyncio.gather(*(_problem(provider, cluster, target) for target in targets))
        keys = await provider.host_keys(targets)
        identity = (await provider.identity()).key
        known = await to_thread.run_sync(self._journal.clusters, [identity])
        living = {one.name: one for one in [*known, cluster] if one.phase is not ClusterPhase.DELETED}
        line = await provider.write_ssh_config({name: provider.ssh_targets(one) for name, one in living.items()})
        machines = [
            Reached(
                name=ssh_names(cluster.name, target, targets)[0],
                target=target,
                fingerprint=keys.get(target.name),
                problem=problem,
            )
            for target, problem in zip(targets, problems, strict=True)
        ]
        return SshAccess(cluster=cluster, machines=tuple(machines), include_line=line)

    async def forward(self, cluster: Cluster, port: int, *, node: int | None = None, local_port: int = 0) -> int:
        """Make a port of a machine (the first one unless `node` says which) one of this machine, until the end of
        this process; 0 is any free port.

        Returns
        -------
        The port on 127.0.0.1.
        """
        provider, targets = self._machines_of(cluster, node)
        return await provider.forward(targets[0], _name(cluster, targets[0]), port, local_port)

    async def forget_host_keys(self, cluster: Cluster, node: int | None = None) -> None:
        """The next contact with its machines, or one of them, is a first one."""
        provider, targets = self._machines_of(cluster, node)
        await provider.forget_host_keys([target.identity for target in targets])

    def _machines_of(self, cluster: Cluster, node: int | None = None) -> tuple[ReachesMachines, Sequence[SshTarget]]:
        provider = self._accounts.able(cluster.account, ReachesMachines, "ssh")
        targets = provider.ssh_targets(cluster)
        if not targets:
            raise NotFoundError(
                f"No machine of {cluster.name!r} shows an address to log in to.",
                hint=f"It is {cluster.phase}; wait for it: %cluster_wait {cluster.name}",
            )
        wanted = [target for target in targets if node is None or target.node_index == node]
        if not wanted:
            known = ", ".join(str(target.node_index) for target in targets)
            raise NotFoundError(f"{cluster.name!r} has no node {node} to log in to.", hint=f"There is: {known}.")
        return provider, wanted


async def _problem(provider: ReachesMachines, cluster: Cluster, target: SshTarget) -> str | None:
    try:
        await provider.meet(target, _name(cluster, target))
    except GpuClustersError as exc:
        return " ".join(exc.lines())
    return None


def _name(cluster: Cluster, target: SshTarget) -> str:
    return f"{target.name} of {cluster.name}"
