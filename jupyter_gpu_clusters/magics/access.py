"""``%cluster_ssh``: the machines of a cluster."""

from __future__ import annotations

from ..core import bridge
from ..core.errors import SettingsError
from ..core.format import clean
from ..core.service_access import Reached, SshAccess
from .arguments import Ssh
from .blocks import Block, Heading, Note, Table
from .run import Call
from .shown import Shown


def ssh(call: Call[Ssh]) -> Shown:
    """``%cluster_ssh``."""
    wanted, service = call.arguments, bridge.service()
    if wanted.local_port is not None and wanted.forward is None:
        raise SettingsError("--local-port says where --forward listens.", hint="Add --forward PORT.")
    cluster = bridge.call(service.find_cluster, wanted.cluster)
    if wanted.forget:
        bridge.call(service.forget_host_keys, cluster, wanted.node)
    if wanted.forward is not None:
        local = bridge.call(
            service.forward, cluster, wanted.forward, node=wanted.node, local_port=wanted.local_port or 0
        )
        call.keep(local)
        text = f"127.0.0.1:{local} leads to port {wanted.forward} there, until this kernel ends or restarts."
        return Shown("forward", local, [Heading(f"{cluster.full_name}: http://127.0.0.1:{local}"), Note(text)])
    access = bridge.call(service.ssh_access, cluster)
    call.keep(access)
    return _shown(access, wanted.node)


def _shown(access: SshAccess, node: int | None) -> Shown:
    machines = [one for one in access.machines if node is None or one.target.node_index == node]
    rows = [[one.target.name, f"ssh {one.name}", _address(one), one.fingerprint or ""] for one in machines]
    blocks: list[Block] = [
        Heading(f"Machines of {access.cluster.full_name}"),
        Table(["machine", "in a terminal", "address", "host key"], rows),
        *(Note(f"{one.target.name}: {clean(one.problem)}") for one in machines if one.problem is not None),
        Note(f"For `ssh {machines[0].name}` ~/.ssh/config needs this line once, at its top: {access.include_line}"),
    ]
    return Shown("access", access, blocks)


def _address(machine: Reached) -> str:
    target = machine.target
    user = f"{target.user}@" if target.user is not None else ""
    return f"{user}{target.host}:{target.port}"
