"""From what the user wrote to what every node is told. Pure, but for looking at local directories."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.errors import Problem
from .hosts import Host
from .spec import CommandSpec
from .sync import FileSet, collect

Document = dict[str, Any]
"""What one node's supervisor gets to start its part (see `launch.supervisor`)."""

TOPOLOGY_VARIABLES = frozenset(
    {
        *("MASTER_ADDR", "MASTER_PORT", "NNODES", "NODE_RANK", "NPROC_PER_NODE"),
        *("WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
        *("PET_MASTER_ADDR", "PET_MASTER_PORT", "PET_NNODES", "PET_NODE_RANK", "PET_NPROC_PER_NODE"),
    }
)
"""What says who is which rank; a user's own value for one of these is not used."""

_INTERFACE_VARIABLES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")

WORKLOAD_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")

DEVICES_VARIABLE = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True)
class RankNode:
    """One node as the ranks launcher needs it.

    Parameters
    ----------
    index : the provider's own, contiguous from 0: the rank order.
    host : the machine; several nodes may be on one.
    root : folder for workloads on that machine, of this node alone.
    address : how the other nodes reach it.
    gpus : how many GPUs are this node's.
    env : variables of this node, for example ``CUDA_VISIBLE_DEVICES``.
    interface : name of the network interface that has `address`, where ranks must be told which one to use.
    expects_infiniband : whether it was rented for its fabric.
    """

    index: int
    host: Host
    root: str
    address: str = "127.0.0.1"
    gpus: int = 0
    env: Mapping[str, str] = field(default_factory=dict)
    interface: str | None = None
    expects_infiniband: bool = False


@dataclass(frozen=True)
class Surroundings:
    """What a provider adds to every command.

    ``env`` is the base of every rank's environment, ``None`` for that of a login on the node; ``workdir`` is where
    commands run and relative paths on the nodes begin (``""``: where a login begins), ``here`` where relative paths
    on this machine begin; ``grace_s`` lies between TERM and KILL; within ``start_timeout_s`` all nodes run it or none
    does.
    """

    env: Mapping[str, str] | None = field(repr=False)
    workdir: str
    here: str
    grace_s: float
    start_timeout_s: float


@dataclass(frozen=True, repr=False)
class RanksRequest:
    """A frozen start: what every node will be told, and which files go there before. Holds secrets; has no repr."""

    documents: tuple[Document, ...]
    files: FileSet | None


def check(
    name: str, spec: CommandSpec, nodes: Sequence[RankNode], around: Surroundings
) -> tuple[list[Problem], FileSet | None]:
    """Everything that can be seen to be wrong before anything starts. Reads local directories; may block."""
    problems = _check_name(name) + _check_nodes(spec, nodes)
    files: FileSet | None = None
    if spec.sync is not None:
        found = collect(Path(_local_path(spec.sync, around.here)))
        if isinstance(found, FileSet):
            files = found
        else:
            problems.append(found)
    if spec.workdir is not None and all(node.host.is_local for node in nodes):
        base = around.here if files is None else str(files.directory)
        workdir = _local_path(spec.workdir, base)
        if not os.path.isdir(workdir):
            problems.append(Problem("workdir", f"{workdir} is not a directory"))
    return problems, files


def _check_name(name: str) -> list[Problem]:
    if WORKLOAD_NAME.fullmatch(name):
        return []
    rule = "needs 1 to 63 characters: letters (a-z, A-Z), digits, '.', '_' and '-', beginning with a letter or digit"
    return [Problem("name", rule)]


def _check_nodes(spec: CommandSpec, nodes: Sequence[RankNode]) -> list[Problem]:
    problems = []
    if missing := sorted(set(range(len(nodes))) - {node.index for node in nodes}):
        problems.append(Problem("", f"node {missing[0]} of the cluster is missing or not unique"))
    if not nodes:
        problems.append(Problem("", "the cluster has no nodes"))
    elif spec.nodes is not None and spec.nodes > len(nodes):
        problems.append(Problem("nodes", f"{spec.nodes} asked for, the cluster has {len(nodes)}"))
    for node in nodes[: spec.nodes]:
        if spec.gpus_per_node is not None and spec.gpus_per_node > node.gpus:
            text = f"{spec.gpus_per_node} asked for, node {node.index} has {node.gpus}"
            problems.append(Problem("gpus_per_node", text))
    return problems


def _local_path(path: str, base: str) -> str:
    return os.path.normpath(os.path.join(base, os.path.expanduser(path)))


def build_request(
    name: str, spec: CommandSpec, nodes: Sequence[RankNode], around: Surroundings, files: FileSet | None
) -> RanksRequest:
    """The start of a checked `spec` on the first nodes of the cluster. Has a fresh token: no two are equal."""
    used = nodes[: spec.nodes]
    token = secrets.token_hex(32)
    shared: Document = {
        "nodes": len(used),
        "procs_per_node": spec.procs_per_node,
        "master_addr": used[0].address,
        "token": token,
        "command": spec.command,
        "script": spec.script,
        "workdir": _workdir(spec, around, files),
        "inherits": around.env is None,
        "hosts": [f"{node.address} slots={spec.procs_per_node or _gpus(spec, node) or 1}" for node in used],
        "grace_s": around.grace_s,
        "start_timeout_s": around.start_timeout_s,
        "about": {
            "name": name,
            "command": shown_command(spec),
            "nodes": len(used),
            "procs_per_node": spec.procs_per_node,
        },
    }
    documents = tuple(
        {
            **shared,
            "node_index": node.index,
            "root": node.root,
            "gpus": _gpus(spec, node),
            "env": _environment(spec, node, around),
        }
        for node in used
    )
    return RanksRequest(documents, files)


def _workdir(spec: CommandSpec, around: Surroundings, files: FileSet | None) -> str | None:
    """With files to copy, a relative path is inside the copy, wherever that will be; ``~`` is the node's."""
    if files is not None:
        return spec.workdir
    if around.env is None:
        workdir = spec.workdir or ""
        return workdir if workdir.startswith("~") else os.path.join(around.workdir, workdir)
    return around.workdir if spec.workdir is None else _local_path(spec.workdir, around.workdir)


def _gpus(spec: CommandSpec, node: RankNode) -> int:
    return node.gpus if spec.gpus_per_node is None else spec.gpus_per_node


def _environment(spec: CommandSpec, node: RankNode, around: Surroundings) -> dict[str, str]:
    """Base, node, user, in this order; and a node's GPUs are the node's word.

    A host that has its own name as 127.0.0.1 makes NCCL and Gloo announce that, unless they are told the interface.
    """
    named = dict.fromkeys(_INTERFACE_VARIABLES, node.interface) if node.interface else {}
    env = {**(around.env or {}), **named, **node.env, **spec.env}
    if node.gpus:
        devices = [item for item in node.env.get(DEVICES_VARIABLE, "").split(",") if item]
        devices = devices or [str(index) for index in range(node.gpus)]
        env[DEVICES_VARIABLE] = ",".join(devices[: _gpus(spec, node)])
    return env


def shown_command(spec: CommandSpec) -> list[str]:
    """The command for lists; of a script, which may hold anything, only its size."""
    if spec.command is not None:
        return list(spec.command)
    return [f"<script of {len((spec.script or '').encode())} bytes>"]


def describe_request(spec: CommandSpec, request: RanksRequest, nodes: Sequence[RankNode]) -> dict[str, Any]:
    """The request for people and for the journal: values of variables masked, of a script no line but ``#!``."""
    shown: dict[str, Any] = {
        "command": spec.command,
        "script": None,
        "nodes": len(request.documents),
        "procs_per_node": spec.procs_per_node,
        "gpus_per_node": spec.gpus_per_node,
        "env": dict.fromkeys(spec.env, "***"),
        "workdir": request.documents[0]["workdir"],
        "sync": f"{request.files.directory} ({request.files})" if request.files else None,
        "placement": [f"node {n.index}: {n.host.name}, {n.root}" for n in nodes[: len(request.documents)]],
    }
    if spec.script is not None:
        first_line = spec.script.splitlines()[0][:120]
        runs_as = f", {first_line}" if first_line.startswith("#!") else ""
        shown["script"] = f"{len(spec.script.encode())} bytes{runs_as}"
    return {key: value for key, value in shown.items() if value not in (None, {})}


def warnings_for(spec: CommandSpec, nodes: Sequence[RankNode]) -> tuple[str, ...]:
    """What is not wrong but will surprise."""
    fixed = TOPOLOGY_VARIABLES | ({DEVICES_VARIABLE} if any(node.gpus for node in nodes[: spec.nodes]) else set())
    return tuple(f"{name} is set by the launcher; your value is not used." for name in sorted(fixed & set(spec.env)))
