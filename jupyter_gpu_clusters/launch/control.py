"""Sub-commands of the supervisor, run on the machines of nodes: one call per machine, however many nodes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from ..core.errors import GpuClustersError, TransportError
from .hosts import ByteReader, Host
from .planning import Document, RankNode
from .preflight import Checked, Measured
from .shipping import LOCAL_PROGRAM, archive_name, build_archive
from .states import Entry, NodeLook, parse_entry
from .supervisor.status import command_status
from .supervisor.sweep import KILL_S

STATUS_TIMEOUT_S = 30.0
COPY_TIMEOUT_S = 60.0
_CANNOT_OPEN = 2
"""Python's exit code where the program's file is not there."""

Key = tuple[str, str]
"""Machine and folder: where a node is."""


def key_of(node: RankNode) -> Key:
    """Where a node is; no two nodes share it."""
    return node.host.name, node.root


@dataclass(frozen=True)
class RootLook:
    """What a look showed of one node's folder."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    problem: str | None = None
    not_shown: int = 0
    may_still_start: bool = False

    def at(self, workload_id: str) -> NodeLook:
        """The part about one workload."""
        return NodeLook(self.entries.get(workload_id), self.problem)


@dataclass(frozen=True)
class CancelAnswer:
    """What a cancel left behind, per node and per machine."""

    looks: Mapping[Key, RootLook]
    left_over: tuple[str, ...]


class Control:
    """Speaks to the supervisor on machines, and brings it along where it is not there yet.

    Parameters
    ----------
    python : the Python (3.8 or newer) on the machines that runs it.
    """

    def __init__(self, python: str) -> None:
        self._python = python
        self._shipped: set[str] = set()

    async def check(self, nodes: Sequence[RankNode]) -> dict[int, Checked]:
        """What each node has, all asked at once; one that cannot be asked is a problem."""
        checks = await asyncio.gather(*map(self._check, nodes))
        return {node.index: checked for node, checked in zip(nodes, checks, strict=True)}

    async def _check(self, node: RankNode) -> Checked:
        asked_at, began = time.time(), time.monotonic()
        request = {"root": node.root, "interface": node.interface}
        try:
            answer = await self._ask(node.host, node.root, ["check"], request, STATUS_TIMEOUT_S)
            measured = Measured.model_validate(answer)
        except GpuClustersError as exc:
            return Checked(problem=" ".join(exc.lines()))
        except ValidationError:
            return Checked(problem="its answer has another shape.")
        return Checked(measured, asked_at, time.monotonic() - began)

    async def start(self, node: RankNode, document: Document) -> dict[str, Any]:
        """Start one node's part and wait until all nodes run it or none does. Raises TransportError."""
        timeout_s = document["start_timeout_s"] + document["grace_s"] + KILL_S + 30
        return await self._ask(node.host, node.root, ["start", document["workload_id"]], document, timeout_s)

    async def look(self, nodes: Sequence[RankNode], workload_id: str | None = None) -> dict[Key, RootLook]:
        """What is known under the nodes' folders, all or one workload; one call per machine, all at once.

        Never raises for a machine that cannot be asked: that is the `problem` of its nodes.
        """
        groups = _by_host(nodes)
        answers = await asyncio.gather(*(self._look_at(host, roots, workload_id) for host, roots in groups))
        return {key: look for answer in answers for key, look in answer.items()}

    async def _look_at(self, host: Host, roots: list[str], workload_id: str | None) -> dict[Key, RootLook]:
        request = {"roots": roots, "id": workload_id}
        try:
            if host.is_local:
                # The same code without a process of its own: a watcher asks every few seconds.
                answer = await asyncio.to_thread(command_status, request)
            else:
                answer = await self._ask(host, roots[0], ["status"], request, STATUS_TIMEOUT_S)
            return _parse_roots(host, roots, answer)
        except GpuClustersError as exc:
            return {(host.name, root): RootLook(problem=exc.message) for root in roots}

    async def cancel(self, nodes: Sequence[RankNode], workload_id: str, grace_s: float) -> CancelAnswer:
        """End a workload on all machines at once; what could not be asked is a problem of its nodes."""
        groups = _by_host(nodes)
        answers = await asyncio.gather(*(self._cancel_on(host, roots, workload_id, grace_s) for host, roots in groups))
        looks = {key: look for answer in answers for key, look in answer.looks.items()}
        return CancelAnswer(looks, tuple(line for answer in answers for line in answer.left_over))

    async def _cancel_on(self, host: Host, roots: list[str], workload_id: str, grace_s: float) -> CancelAnswer:
        wait_s = grace_s + KILL_S + 2
        request = {"roots": roots, "wait_s": wait_s, "grace_s": grace_s}
        try:
            timeout_s = wait_s + grace_s + KILL_S + 30
            answer = await self._ask(host, roots[0], ["cancel", workload_id], request, timeout_s)
            return CancelAnswer(_parse_roots(host, roots, answer), tuple(map(str, answer.get("left_over", ()))))
        except GpuClustersError as exc:
            looks = {(host.name, root): RootLook(problem=exc.message) for root in roots}
            return CancelAnswer(looks, (f"{host.name}: not known, {exc.message}",))

    async def end_leftovers(self, nodes: Sequence[RankNode], grace_s: float) -> tuple[str, ...]:
        """End what carries the marks of any workload under the nodes' folders; what is left, or could not be asked."""
        groups = _by_host(nodes)
        answers = await asyncio.gather(*(self._end_leftovers_on(host, roots, grace_s) for host, roots in groups))
        return tuple(line for answer in answers for line in answer)

    async def _end_leftovers_on(self, host: Host, roots: list[str], grace_s: float) -> tuple[str, ...]:
        request = {"roots": roots, "grace_s": grace_s}
        try:
            answer = await self._ask(host, roots[0], ["end-leftovers"], request, grace_s + KILL_S + 30)
            return tuple(map(str, answer.get("left_over", ())))
        except GpuClustersError as exc:
            return (f"{host.name}: not known, {exc.message}",)

    async def open_log(
        self, host: Host, roots: Sequence[str], workload_id: str, request: Mapping[str, Any]
    ) -> AbstractAsyncContextManager[ByteReader]:
        """The frames of "read-log" on one machine. Raises TransportError."""
        argv = await self._argv(host, roots[0], ["read-log", workload_id])
        return host.stream(argv, stdin=_encode({**request, "roots": list(roots)}))

    async def _ask(
        self, host: Host, root: str, words: list[str], request: Mapping[str, Any], timeout_s: float
    ) -> dict[str, Any]:
        done = await host.run(await self._argv(host, root, words), stdin=_encode(request), timeout_s=timeout_s)
        if done.code == _CANNOT_OPEN and self._forget(host):
            # The file went away, and nothing has run: a container that was made anew has another disk.
            done = await host.run(await self._argv(host, root, words), stdin=_encode(request), timeout_s=timeout_s)
        if done.code in (126, 127):
            raise TransportError(
                f"{self._python} cannot be run on {host.name}.", hint="Install Python 3.8 or newer there, as python3."
            )
        if done.code != 0:
            last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"exit code {done.code}"]
            raise TransportError(f"{words[0]} failed on {host.name}: {last[0]}.")
        try:
            answer = json.loads(done.stdout)
        except ValueError as exc:
            raise TransportError(f"{words[0]} on {host.name} gave an answer that cannot be read.") from exc
        if not isinstance(answer, dict):
            raise TransportError(f"{words[0]} on {host.name} gave an answer of another shape.")
        return answer

    async def _argv(self, host: Host, root: str, words: list[str]) -> list[str]:
        """``-I -S``: neither the user's variables nor installed packages can change what it does."""
        isolated = [self._python, "-I", "-S", "-X", "utf8"]
        if host.is_local:
            return [*isolated, "-c", LOCAL_PROGRAM, *words]
        return [*isolated, await self._ship(host, root), *words]

    def _forget(self, host: Host) -> bool:
        """Take nothing for shipped to a machine any more; whether anything was."""
        places = {place for place in self._shipped if place.startswith(f"{host.name}:")}
        self._shipped -= places
        return bool(places)

    async def _ship(self, host: Host, root: str) -> str:
        """Bring the supervisor to a machine where it is not there yet; looked for once per process of ours."""
        path = f"{root}/{await asyncio.to_thread(archive_name)}"
        if (place := f"{host.name}:{path}") not in self._shipped:
            looked = await host.run(["test", "-s", path], timeout_s=STATUS_TIMEOUT_S)
            if looked.code != 0:
                await host.put(build_archive(), path, timeout_s=COPY_TIMEOUT_S)
            self._shipped.add(place)
        return path


def _encode(request: Mapping[str, Any]) -> bytes:
    return json.dumps(request).encode() + b"\n"


def _by_host(nodes: Sequence[RankNode]) -> list[tuple[Host, list[str]]]:
    """Machines with the folders of their nodes."""
    groups: dict[str, tuple[Host, list[str]]] = {}
    for node in nodes:
        groups.setdefault(node.host.name, (node.host, []))[1].append(node.root)
    return list(groups.values())


def _parse_roots(host: Host, roots: Sequence[str], answer: Mapping[str, Any]) -> dict[Key, RootLook]:
    """Raises TransportError for an answer that leaves out a folder or has another shape."""
    looks = {}
    for root in roots:
        try:
            raw = answer["roots"][root]
            entries = {entry.id: entry for entry in map(parse_entry, raw["entries"])}
            problem, not_shown = raw["problem"], int(raw["not_shown"])
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise TransportError(f"The answer of {host.name} about {root} has another shape.") from exc
        looks[host.name, root] = RootLook(entries, problem, not_shown, bool(answer.get("may_still_start")))
    return looks
