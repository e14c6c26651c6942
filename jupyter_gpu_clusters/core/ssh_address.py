"""``user@host:port`` and what it means."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .models import SshTarget

DEFAULT_PORT = 22
_OF_DOCUMENTATION = ("192.0.2.", "198.51.100.", "203.0.113.")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._-]")
_ADDRESS = re.compile(
    r"(?:(?P<user>[A-Za-z_][A-Za-z0-9_.-]*)@)?"
    r"(?P<host>[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])"
    r"(?::(?P<port>[0-9]{1,5}))?"
)


def plain_name(text: str) -> str:
    """`text` with a hyphen for all that has a meaning in OpenSSH's configuration."""
    return _NOT_PLAIN.sub("-", text).lstrip("-.") or "cluster"


def ssh_names(cluster: str, target: SshTarget, targets: Sequence[SshTarget]) -> list[str]:
    """What ``ssh`` calls a machine: ``CLUSTER-node-0``, and the first one of a cluster before that just ``CLUSTER``."""
    full = f"{plain_name(cluster)}-{target.name}"
    return [plain_name(cluster), full] if target == targets[0] else [full]


def ssh_target(name: str, address: str | None, identity: str, node_index: int | None = None) -> SshTarget | None:
    """Where an address of a cluster or a node leads; ``None`` where it is none, or one of documentation (RFC 5737).

    Such addresses have no machine behind them anywhere; simulated nodes have them.

    Parameters
    ----------
    address : ``user@host:port``, user and port may be left out, an IPv6 address is in brackets.
    """
    found = _ADDRESS.fullmatch(address or "")
    port = int(found["port"] or DEFAULT_PORT) if found is not None else 0
    if found is None or not 0 < port <= 65535 or found["host"].startswith(_OF_DOCUMENTATION):
        return None
    return SshTarget(
        name=name,
        host=found["host"].strip("[]"),
        port=port,
        user=found["user"],
        identity=identity,
        node_index=node_index,
    )
