"""The ranks launcher: a command becomes processes on nodes that offer no scheduler (this machine, bare nodes).

One supervisor per node does the work and outlives this process (see `launch.supervisor`); here is only asking and
telling. A workload's id is its order's id, so a start that is sent twice happens once.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from pydantic import BaseModel

from ..core.errors import NotFoundError, OutcomeUnknownError, Problem, ProviderError, SpecError, TransportError
from ..core.models import CancelReport, Listing, LogChunk, Lookup, Order, Plan, Verb, Workload, WorkloadPhase
from ..core.processes import is_dead
from ..core.provider import Launcher, RemoteIdentity, Search
from .control import Control, RootLook, key_of
from .logs import LogRequest, read_logs
from .planning import (
    Document,
    RankNode,
    RanksRequest,
    Surroundings,
    build_request,
    check,
    describe_request,
    warnings_for,
)
from .preflight import Needs, judge
from .spec import CommandSpec
from .states import About, NodeLook, Place, merge_workload, parse_entry, refused_workload
from .supervisor.sweep import KILL_S
from .sync import FileSet

__all__ = ["RankNode", "RanksLauncher", "list_all_workloads"]

COPY_TIMEOUT_S = 1800.0


class RanksLauncher(Launcher):
    """Starts commands on the nodes of one cluster.

    Parameters
    ----------
    provider, account, cluster_id, cluster_name : how every workload of the cluster is labelled.
    identity : whom the provider speaks to, copied into plans.
    nodes : all nodes of the cluster; their order is the order of ranks.
    base_env : what every rank's environment begins with, ``None`` for what a login on the node finds; a node's and the
        user's own variables go over it.
    default_workdir : where commands run and relative paths on the nodes begin; ``""`` is where a login begins.
    is_free : whether running here costs nothing.
    control : speaks to the nodes; shared by the launchers of a provider, since it remembers what it has shipped.
    grace_s : between TERM and KILL, seconds.
    start_timeout_s : within this all nodes run a command, or none does.
    rank_fault : why the order of the nodes cannot be trusted: then nothing is started.
    """

    def __init__(
        self,
        *,
        provider: str,
        account: str,
        identity: Callable[[], Awaitable[RemoteIdentity]],
        cluster_id: str,
        cluster_name: str,
        nodes: Sequence[RankNode],
        base_env: Mapping[str, str] | None,
        default_workdir: str,
        is_free: bool,
        control: Control,
        grace_s: float = 5.0,
        start_timeout_s: float = 60.0,
        rank_fault: str | None = None,
    ) -> None:
        self.place = Place(provider, account, cluster_id, cluster_name)
        self.nodes = tuple(sorted(nodes, key=lambda node: node.index))
        self.control = control
        self._identity = identity
        self._rank_fault = rank_fault
        self._around = Surroundings(base_env, default_workdir, default_workdir or os.getcwd(), grace_s, start_timeout_s)
        self._is_free = is_free

    async def plan_workload(self, name: str, spec: BaseModel, digest: str) -> Plan:
        """See `Launcher.plan_workload`. Reads the directories that `spec` names; starts and copies nothing.

        Raises
        ------
        SpecError : with every problem found.
        """
        if not isinstance(spec, CommandSpec):
            raise TypeError(f"a CommandSpec is needed, not {type(spec).__name__}")
        problems, files = await asyncio.to_thread(check, name, spec, self.nodes, self._around)
        if self._rank_fault is not None:
            problems.append(Problem("", self._rank_fault))
        warnings: list[str] = []
        if not problems and not all(node.host.is_local for node in self.nodes):
            problems, warnings = await self._look_before(spec, files)
        if problems:
            raise SpecError(f"The workload cannot be started on {self.place.cluster_name}.", problems=problems)
        request = build_request(name, spec, self.nodes, self._around, files)
        used = len(request.documents)
        return Plan(
            verb=Verb.SUBMIT,
            provider=self.place.provider,
            account=self.place.account,
            identity_key=(await self._identity()).key,
            name=name,
            spec_digest=digest,
            request=request,
            shown=describe_request(spec, request, self.nodes),
            target_id=self.place.cluster_id,
            nodes=used,
            processes=used * (spec.procs_per_node or 1),
            gpus=sum(document["gpus"] for document in request.documents),
            is_free=self._is_free,
            warnings=(*warnings_for(spec, self.nodes), *warnings),
        )

    async def _look_before(self, spec: CommandSpec, files: FileSet | None) -> tuple[list[Problem], list[str]]:
        """What the nodes themselves say against it."""
        nodes = self.nodes[: spec.nodes]
        gpus = spec.gpus_per_node if spec.gpus_per_node is not None else max(node.gpus for node in nodes)
        needs = Needs(gpus=gpus, files_bytes=files.size_bytes if files else 0)
        return judge(nodes, await self.control.check(nodes), needs)

    async def submit_workload(self, plan: Plan, order: Order) -> Workload:
        """Copy files, then start all nodes at once; see `Launcher.submit_workload`.

        Raises
        ------
        ProviderError : definite: the files could not be copied, or no start could even begin.
        OutcomeUnknownError : a start was sent, and what became of it cannot be seen now.
        """
        request = plan.request
        if not isinstance(request, RanksRequest):
            raise TypeError("the plan is not one of the ranks launcher")
        self._check_nodes(request)
        documents = await self._copy_files(request, order)
        starts = (self._start(node, doc) for node, doc in zip(self.nodes, documents, strict=False))
        answers = await asyncio.gather(*starts)
        outcomes = {answer["outcome"] for answer in answers}
        if outcomes == {"started"} or "refused" in outcomes:
            workload = self._merge_answers(order.order_id, answers)
            if workload is not None and workload.phase is not WorkloadPhase.UNKNOWN:
                return workload
        if "refused" in outcomes:
            refusal = next(answer for answer in answers if answer["outcome"] == "refused")
            about = About.model_validate(documents[0]["about"])
            phase = WorkloadPhase(refusal["phase"])
            return refused_workload(self.place, order.order_id, about, phase, refusal["reason"])
        return await self._look_until_settled(order.order_id, answers)

    def _check_nodes(self, request: RanksRequest) -> None:
        """The plan was made for these nodes. Raises ProviderError, definite."""
        here = [(node.index, node.root) for node in self.nodes]
        planned = [(document["node_index"], document["root"]) for document in request.documents]
        if here[: len(planned)] != planned:
            raise ProviderError(
                f"The nodes of {self.place.cluster_name} are not those that were planned for; nothing was started.",
                hint="Submit it again.",
                provider=self.place.provider,
                is_definite=True,
            )

    async def _start(self, node: RankNode, document: Document) -> dict[str, Any]:
        """The answer of one node; a lost one is an answer too, of outcome "lost"."""
        try:
            answer = await self.control.start(node, document)
            return {"outcome": "lost", "reason": None, "entry": None, **answer}
        except TransportError as exc:
            return {"outcome": "lost", "reason": f"node {node.index}: {exc.message}", "entry": None}

    async def _copy_files(self, request: RanksRequest, order: Order) -> list[Document]:
        """The documents of this order; with files to travel, after they are on every node."""
        staged = f".{order.order_id}.files" if request.files else None
        documents = [
            {
                **document,
                "workload_id": order.order_id,
                "about": {**document["about"], "submitted_at": order.created_at.isoformat()},
                "staged": f"{document['root']}/{staged}" if staged else None,
            }
            for document in request.documents
        ]
        if request.files is None:
            return documents
        files, targets = request.files, [document["staged"] for document in documents]
        copies = [
            node.host.put_tree(files.directory, files.files, target, timeout_s=COPY_TIMEOUT_S)
            for node, target in zip(self.nodes, targets, strict=False)
        ]
        failures = [f for f in await asyncio.gather(*copies, return_exceptions=True) if isinstance(f, BaseException)]
        if failures:
            await self._remove_copies(targets)
            raise ProviderError(
                f"The files could not be copied to all nodes, so nothing was started: {failures[0]}",
                provider=self.place.provider,
                is_definite=True,
            ) from failures[0]
        return documents

    async def _remove_copies(self, targets: Sequence[str]) -> None:
        removals = [
            node.host.run(["rm", "-rf", "--", target], timeout_s=COPY_TIMEOUT_S)
            for node, target in zip(self.nodes, targets, strict=False)
        ]
        await asyncio.gather(*removals, return_exceptions=True)

    def _merge_answers(self, workload_id: str, answers: Sequence[Mapping[str, Any]]) -> Workload | None:
        """The workload out of what the starts answered, which saves a look."""
        looks = {
            node.index: NodeLook(parse_entry(answer["entry"]) if answer["entry"] else None)
            for node, answer in zip(self.nodes, answers, strict=False)
        }
        return self._merge(workload_id, looks)

    def _merge(self, workload_id: str, looks: Mapping[int, NodeLook]) -> Workload | None:
        if not any(look.entry for look in looks.values()):
            return None
        return merge_workload(self.place, workload_id, looks)

    async def _look_until_settled(self, workload_id: str, answers: Sequence[Mapping[str, Any]]) -> Workload:
        """For lost answers: the nodes themselves know, at the latest when their start has timed out."""
        around = self._around
        deadline = time.monotonic() + around.start_timeout_s + around.grace_s + KILL_S + 10
        reason = next((answer["reason"] for answer in answers if answer["reason"]), "no node has answered")
        while True:
            found = await self.control.look(self.nodes, workload_id)
            workload = self._merge(
                workload_id, {node.index: found[key_of(node)].at(workload_id) for node in self.nodes}
            )
            if workload and workload.phase not in (WorkloadPhase.PENDING, WorkloadPhase.UNKNOWN):
                return workload
            if workload is None and self._is_proof_of_nothing(found):
                raise ProviderError(
                    f"The workload could not be started: {reason}", provider=self.place.provider, is_definite=True
                )
            if all(look.problem for look in found.values()) or time.monotonic() > deadline:
                raise OutcomeUnknownError(
                    f"Whether the workload was started is not known: {workload.reason if workload else reason}",
                    hint="Look again with %cluster_recover before you submit it once more.",
                    provider=self.place.provider,
                )
            await asyncio.sleep(0.2)

    def _is_proof_of_nothing(self, found: Mapping[tuple[str, str], RootLook]) -> bool:
        """Whether no node has the workload nor can get it from a start that was sent before.

        On another machine a start may still be on the way when its connection is gone already.
        """
        return all(node.host.is_local for node in self.nodes) and not any(
            look.problem or look.may_still_start for look in found.values()
        )

    async def _look(self, workload_id: str) -> dict[int, NodeLook]:
        found = await self.control.look(self.nodes, workload_id)
        return {node.index: found[key_of(node)].at(workload_id) for node in self.nodes}

    async def find_submitted(self, order: Order) -> Search:
        """Look for the folder that a start claims before anything else.

        That it never happened is proven where all of it is on this machine: no node has the folder, no start is
        under way, and the process that would have sent one is dead.
        """
        found = await self.control.look(self.nodes, order.order_id)
        looks = {node.index: found[key_of(node)].at(order.order_id) for node in self.nodes}
        workload = self._merge(order.order_id, looks)
        if workload is not None:
            return Search(workloads=(workload,))
        problems = [look.problem for look in looks.values() if look.problem]
        if problems:
            return Search(reason=f"not all nodes could be asked: {problems[0]}")
        if self._is_proof_of_nothing(found) and is_dead(order.sender):
            return Search(never_happened=True, reason="its sender has ended and no node has ever heard of it")
        return Search(reason="no node knows it, but its start may still be on the way")

    async def get_workload(self, workload_id: str) -> Lookup[Workload]:
        """One workload, fresh; one call per machine."""
        looks = await self._look(workload_id)
        workload = self._merge(workload_id, looks)
        if workload is not None:
            return Lookup(answer="found", item=workload)
        problems = [f"node {index}: {look.problem}" for index, look in looks.items() if look.problem]
        if problems:
            return Lookup(answer="cannot_tell", reason="; ".join(problems))
        return Lookup(answer="absent")

    async def list_workloads(self) -> Listing[Workload]:
        """All workloads of the cluster; one call per machine."""
        return await list_all_workloads([self])

    def merge_all(self, found: Mapping[tuple[str, str], RootLook]) -> list[Workload]:
        """The workloads of this cluster in what a look without an id showed."""
        roots = {node.index: found[key_of(node)] for node in self.nodes}
        ids = sorted({workload_id for root in roots.values() for workload_id in root.entries})
        merged = (self._merge(i, {index: root.at(i) for index, root in roots.items()}) for i in ids)
        return [workload for workload in merged if workload is not None]

    async def cancel_workload(self, workload_id: str) -> CancelReport:
        """End every process on every node: TERM, and KILL after the grace. Takes at most about 20 s.

        A workload that has ended keeps the phase it ended with.

        Raises
        ------
        NotFoundError : no node knows it.
        TransportError : no node could be asked.
        """
        answer = await self.control.cancel(self.nodes, workload_id, self._around.grace_s)
        looks = {node.index: answer.looks[key_of(node)].at(workload_id) for node in self.nodes}
        workload = self._merge(workload_id, looks)
        if workload is not None:
            return CancelReport(workload=workload, left_over=answer.left_over)
        problems = [look.problem for look in looks.values() if look.problem]
        if problems:
            raise TransportError(f"The workload could not be cancelled: {problems[0]}", provider=self.place.provider)
        raise NotFoundError(
            f"No node of {self.place.cluster_name} knows the workload {workload_id}.", provider=self.place.provider
        )

    async def end_leftovers(self) -> tuple[str, ...]:
        """End every process that any workload of this cluster left behind: TERM, and KILL after the grace.

        For a cluster that is about to be deleted, after its workloads were cancelled and before its nodes' folders
        are removed: the workloads are those that have a folder there.

        Returns
        -------
        tuple of str : ``host:pid name`` of what would not end, and a line for every machine that could not be asked.
        """
        return await self.control.end_leftovers(self.nodes, self._around.grace_s)

    async def stream_logs(
        self,
        workload_id: str,
        *,
        ranks: Sequence[int] | None = None,
        offsets: Mapping[int, int] | None = None,
        tail_lines: int | None = None,
        follow: bool = False,
    ) -> AsyncGenerator[LogChunk, None]:
        """See `Launcher.stream_logs`. Chunks have at most 64 KiB; an unfinished line comes within a second.

        Raises
        ------
        NotFoundError : no node knows the workload, or it has no such rank.
        TransportError : a machine could not be read (any more); come back with the last `end` of every rank.
        """
        wanted = None if ranks is None else frozenset(ranks)
        request = LogRequest(workload_id, wanted, offsets or {}, tail_lines, follow)
        async with aclosing(read_logs(self.control, self.nodes, request)) as chunks:
            async for chunk in chunks:
                yield chunk


async def list_all_workloads(launchers: Sequence[RanksLauncher]) -> Listing[Workload]:
    """The workloads of many clusters; one call per machine for all of them together.

    All `launchers` are expected to use the same Python on the machines they share.
    """
    if not launchers:
        return Listing[Workload](items=())
    nodes = [node for launcher in launchers for node in launcher.nodes]
    found = await launchers[0].control.look(nodes)
    items = [workload for launcher in launchers for workload in launcher.merge_all(found)]
    not_seen = [
        f"{launcher.place.cluster_name} node {node.index}: {_gap(found[key_of(node)])}"
        for launcher in launchers
        for node in launcher.nodes
        if _gap(found[key_of(node)])
    ]
    return Listing[Workload](items=tuple(items), is_complete=not not_seen, not_seen=tuple(not_seen))


def _gap(look: RootLook) -> str | None:
    """What a look at a node did not show."""
    if look.problem:
        return look.problem
    return f"its {look.not_shown} oldest workloads are not listed" if look.not_shown else None
