"""Workloads on one cluster: planned, submitted once, found again, looked at, ended."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping, Sequence

from pydantic import BaseModel

from ...core.errors import GpuClustersError, NotFoundError, Problem, ProviderError, SpecError, TransportError
from ...core.http import Body, LostAnswerError
from ...core.models import (
    CancelReport,
    Cluster,
    LogChunk,
    Lookup,
    Order,
    Plan,
    Verb,
    Workload,
    WorkloadPhase,
)
from ...core.names import longest_name
from ...core.provider import Launcher, Search
from .access import Access
from .convert import reason_in, typed_workload_of, workload_of
from .logs import Logs
from .pages import Rows, read_all
from .quota import confirmation, warnings_for
from .request import Draft, Facts, build, sealed, shown
from .resolve import Findings, Resolver, unless_silent
from .spec import RunaiWorkload
from .wire import Distributed, WorkloadRow

LONGEST_NAME, LONGEST_PREFIX = 63, 34
_NAME = re.compile(r"[a-z][a-z0-9-]*", re.ASCII)
_NO_PROOF = "Run:ai does not show it now; it may have just been made, or have been deleted."


class RunaiLauncher(Launcher):
    """Distributed workloads of one cluster."""

    def __init__(self, access: Access, cluster: Cluster) -> None:
        self._access = access
        self._cluster = cluster

    # Planning

    async def plan_workload(self, name: str, spec: BaseModel, digest: str) -> Plan:
        """Check everything, look up what is named, and freeze the request.

        Raises
        ------
        SpecError : with every problem.
        AuthError, TransportError : something had to be looked up and could not be.
        """
        assert isinstance(spec, RunaiWorkload)
        try:
            facts, found = await self._facts(spec)
        except (ProviderError, TransportError):
            self._check_offline(name, spec)
            raise
        draft = build(spec, facts, self._cluster.cluster_id)
        problems = [*_name_problems(name, spec), *found.problems, *draft.problems]
        _require_none(problems)
        return await self._plan(name, spec, digest, facts, draft, found.warnings)

    def _check_offline(self, name: str, spec: RunaiWorkload) -> None:
        """What is wrong whatever a look-up that failed would have said."""
        nothing = Facts(has_policy=False)
        _require_none([*_name_problems(name, spec), *build(spec, nothing, self._cluster.cluster_id).problems])

    async def _facts(self, spec: RunaiWorkload) -> tuple[Facts, Findings]:
        connection = await self._access.connect()
        default = connection.options.project
        resolver = Resolver(connection.client, self._cluster, None if default is None else str(default))
        return await resolver.resolve(spec), resolver.found

    async def _plan(
        self, name: str, spec: RunaiWorkload, digest: str, facts: Facts, draft: Draft, warnings: Sequence[str]
    ) -> Plan:
        trouble = [f"{self._cluster.name}: {self._cluster.reason}"] if self._cluster.reason else []
        return Plan(
            verb=Verb.SUBMIT,
            provider="runai",
            account=self._access.account.name,
            identity_key=(await self._access.identity()).key,
            name=name,
            spec_digest=digest,
            request=sealed(draft.body),
            shown=shown(name, draft.body),
            target_id=self._cluster.cluster_id,
            marks_name=not spec.exact_name,
            nodes=draft.pods,
            processes=draft.pods,
            gpus=draft.whole_gpus,
            is_free=True,
            confirm=confirmation(facts, draft),
            warnings=(*warnings, *trouble, *warnings_for(spec, facts, draft)),
        )

    # Submitting

    async def submit_workload(self, plan: Plan, order: Order) -> Workload:
        """Send it once.

        Raises
        ------
        ProviderError : refused; definite where `errors` says so.
        OutcomeUnknownError : it may exist.
        """
        client = await self._access.client()
        told = await client.create_distributed(Body.from_json({"name": order.remote_name, **plan.request}))
        if not told.workload_id:
            raise LostAnswerError("Run:ai accepted the workload without telling its id.", provider="runai")
        self._access.note(told.workload_id, is_live=True)
        workload = typed_workload_of(told, self._cluster, name=order.name, is_young=True)
        less = _less_than_asked(plan.request, told)
        changes = {"created_here": True, "nodes": plan.nodes or workload.nodes, "reason": less}
        return workload.model_copy(update=changes)

    async def find_submitted(self, order: Order) -> Search:
        """Look for the marked name among all workloads, deleted ones as well; without a mark nothing is adopted."""
        rows: dict[str, WorkloadRow] = {}
        for deleted in (True, False):
            found = await self._rows([f"name=^{order.remote_name}"], deleted=deleted)
            rows |= {row.id: row for row in found.items if row.id and _is_of(row, order)}
        if order.mark not in order.remote_name:
            ids = ", ".join(rows) or "none"
            return Search(reason=f"It was sent without a mark, so it cannot be told from others; of that name: {ids}.")
        workloads = tuple(workload_of(row, self._cluster, is_young=True) for row in rows.values())
        named = tuple(w.model_copy(update={"name": order.name, "created_here": True}) for w in workloads)
        for workload in named:
            self._access.note(workload.workload_id, is_live=not workload.phase.is_final)
        return Search(workloads=named, reason=None if named else _NO_PROOF)

    # Looking

    async def get_workload(self, workload_id: str) -> Lookup[Workload]:
        """The typed read, for the generic one may be refused (contract, gotcha 3); its reason for waiting besides."""
        if not workload_id:
            return Lookup[Workload](answer="cannot_tell", reason="Its id is not known.")
        client = await self._access.client()
        try:
            told = await client.get_distributed(workload_id)
        except NotFoundError:
            return await self._missing(workload_id)
        workload = self._workload(told, workload_id)
        self._access.note(workload_id, is_live=not workload.phase.is_final)
        if workload.phase in (WorkloadPhase.PENDING, WorkloadPhase.UNKNOWN):
            row = await unless_silent(client.get_workload(workload_id))
            reason = reason_in(row) if row is not None else None
            workload = workload.model_copy(update={"reason": reason})
        return Lookup[Workload](answer="found", item=workload)

    def _workload(self, told: Distributed, workload_id: str) -> Workload:
        workload = typed_workload_of(told, self._cluster, is_young=self._access.is_young(workload_id))
        return workload.model_copy(update={"workload_id": workload_id})

    async def _missing(self, workload_id: str) -> Lookup[Workload]:
        """What a 404 means. It is no proof by itself: workloads do not show at once, and a lost role hides them.

        Proof is that this process has known of it for a while, and that complete lists have it neither among the
        workloads nor among the deleted ones.
        """
        self._access.note(workload_id)
        rows, gone = await self._rows(), await self._rows(deleted=True)
        for row in (*rows.items, *gone.items):
            if row.id == workload_id:
                young = self._access.is_young(workload_id)
                return Lookup[Workload](answer="found", item=workload_of(row, self._cluster, is_young=young))
        if self._access.is_young(workload_id) or not (rows.is_complete and gone.is_complete):
            return Lookup[Workload](answer="cannot_tell", reason=_NO_PROOF)
        return Lookup[Workload](answer="absent")

    async def _rows(self, filters: Sequence[str] = (), *, deleted: bool = False) -> Rows[WorkloadRow]:
        client = await self._access.client()
        return await read_all(
            lambda offset: client.list_workloads(filter_by=filters, deleted=deleted, offset=offset), lambda row: row.id
        )

    # Ending

    async def cancel_workload(self, workload_id: str) -> CancelReport:
        """Delete it, which ends all its pods; one that has ended by itself stays as it is."""
        before = await self.get_workload(workload_id)
        if before.item is not None and before.item.phase.is_final:
            return CancelReport(workload=before.item)
        client = await self._access.client()
        failure: GpuClustersError | None = None
        try:
            await client.delete_distributed(workload_id)
        except NotFoundError as exc:
            failure = exc
        except LostAnswerError as exc:
            failure = exc
        after = await self.get_workload(workload_id)
        if after.item is not None and (failure is None or _is_ending(after.item)):
            return CancelReport(workload=after.item)
        known = after.item or before.item
        if failure is not None and (after.answer != "absent" or known is None):
            raise failure
        if known is None:
            raise NotFoundError(f"Run:ai shows no workload {workload_id}.", provider="runai")
        return CancelReport(workload=known.model_copy(update={"phase": WorkloadPhase.CANCELLED}))

    # Output

    async def stream_logs(
        self,
        workload_id: str,
        *,
        ranks: Sequence[int] | None = None,
        offsets: Mapping[int, int] | None = None,
        tail_lines: int | None = None,
        follow: bool = False,
    ) -> AsyncGenerator[LogChunk, None]:
        """Output of the pods, from the cluster itself, while the workload runs; see `logs`."""
        logs = Logs(self._access, self._cluster, workload_id)
        chunks = logs.stream(ranks=ranks, offsets=offsets or {}, tail_lines=tail_lines, follow=follow)
        async for chunk in chunks:
            yield chunk


def _require_none(problems: Sequence[Problem]) -> None:
    if problems:
        raise SpecError(
            f"The workload cannot be submitted like this: {len(problems)} problem{'s' * (len(problems) > 1)}; "
            "nothing was sent.",
            problems=list(dict.fromkeys(problems)),
            provider="runai",
        )


def _name_problems(name: str, spec: RunaiWorkload) -> list[Problem]:
    """Names that the service refuses (contract, section 3.1), the mark counted."""
    problems = []
    limit = LONGEST_PREFIX if spec.useGivenNameAsPrefix else LONGEST_NAME
    longest = limit if spec.exact_name else longest_name(limit)
    if len(name) > longest:
        kind = "a prefix" if spec.useGivenNameAsPrefix else "a name"
        mark = (
            ""
            if spec.exact_name
            else f", of which {limit - longest} are for the mark that tells this order from others"
        )
        problems.append(
            Problem(
                "name", f"has {len(name)} characters and may have {longest}: Run:ai takes {limit} for {kind}{mark}."
            )
        )
    if not _NAME.fullmatch(name):
        text = "must begin with a lower-case letter and have only lower-case letters, digits and '-'."
        problems.append(Problem("name", text))
    return problems


def _is_of(row: WorkloadRow, order: Order) -> bool:
    """Whether a row bears the name that was sent, or that name as a prefix."""
    name = row.name or ""
    return name == order.remote_name or (
        bool(order.shown.get("useGivenNameAsPrefix")) and name.startswith(f"{order.remote_name}-")
    )


def _is_ending(workload: Workload) -> bool:
    return workload.phase.is_final or workload.phase is WorkloadPhase.STOPPING


def _less_than_asked(request: Mapping[str, object], told: Distributed) -> str | None:
    """The service has been seen to grant fewer GPUs than asked for without a word (contract, gotcha 11)."""
    asked = _devices(request.get("spec"))
    granted = _devices(told.spec)
    if asked is None or granted is None or granted >= asked:
        return None
    return f"{asked} GPUs a pod were asked for and Run:ai says {granted}."


def _devices(spec: object) -> int | None:
    compute = spec.get("compute") if isinstance(spec, Mapping) else None
    devices = compute.get("gpuDevicesRequest") if isinstance(compute, Mapping) else None
    return devices if isinstance(devices, int) else None
