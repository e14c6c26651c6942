"""The login node of a training cluster. Source: contract, section 5."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.models import Cluster, Order, Plan, SshTarget
from ...core.ssh_address import ssh_target
from ...launch.ssh import OverSsh, SshOptions
from .changing import Changing
from .options import Options


class Reaching(OverSsh, Changing):
    """The part of the adapter that logs in."""

    def ssh_targets(self, cluster: Cluster) -> Sequence[SshTarget]:
        """The login node; compute nodes have no address of their own."""
        target = ssh_target("login", cluster.login_address, self._machine(cluster.cluster_id))
        return () if target is None else (target,)

    def _machine(self, cluster_id: str) -> str:
        """What the login node's host key belongs to."""
        return f"{Options.of(self.account).base_url}/{cluster_id}"

    async def act(self, plan: Plan, order: Order) -> Cluster:
        """Send it once; with another image the login node has another host key."""
        cluster = await super().act(plan, order)
        if plan.action == "update_image":
            await self.forget_host_keys([self._machine(cluster.cluster_id)])
        return cluster

    def _ssh_options(self) -> SshOptions:
        return SshOptions(ssh_key=Options.of(self.account).ssh_key)
