"""The verbs that change workloads, and their output."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from functools import partial

from anyio import to_thread
from pydantic import BaseModel

from . import consent as consents
from .attach import Placement, check_same, place_or_attach
from .consent import Consent
from .errors import NotFoundError, SettingsError
from .log_follow import resumed
from .models import CancelReport, Cluster, ClusterPhase, LogChunk, Lookup, Order, Plan, Submitted, Verb, Workload
from .plans import plan_rest
from .provider import Launcher, RunsWorkloads, SuspendsWorkloads
from .service_base import ServiceBase, out_of_sight


class WorkloadVerbs(ServiceBase):
    """Submit, cancel, suspend, resume, read the output."""

    async def plan_submit(self, cluster: Cluster, name: str | None, spec: BaseModel) -> Plan:
        """What submitting that workload would do. Without a name it gets one and always runs."""
        if cluster.phase is ClusterPhase.CREATING:
            raise SettingsError(
                f"{cluster.name!r} is still being created.", hint=f"Wait for it: %cluster_wait {cluster.name}"
            )
        launcher = self._accounts.able(cluster.account, RunsWorkloads, "workloads").launcher(cluster)
        name = name or f"run-{os.urandom(3).hex()}"
        return await self._planned(name, launcher.plan_workload(name, spec, await self._digest(spec)))

    async def submit(self, plan: Plan, *, consent: Consent | None = None) -> Submitted:
        """Start the planned workload; a live one of that name and spec is attached, a finished one runs again.

        Raises
        ------
        ConsentError, NameTakenError, OutcomeUnknownError : as for `create`.
        """
        consents.require(plan, consent)
        provider = self._accounts.able(plan.account, RunsWorkloads, "workloads")
        identity = await self._same_identity(provider, plan)
        cluster = await to_thread.run_sync(self._journal.cluster, identity, plan.target_id or "")
        if cluster is None or cluster.phase is ClusterPhase.DELETED:
            raise NotFoundError(f"The cluster of {plan.name!r} is gone.", hint="%cluster_list shows what there is.")
        await self._refuse_if_deleting(identity, cluster.cluster_id, plan.name)
        launcher = provider.launcher(cluster)
        if (before := await self._submitted_before(provider, plan)) is not None:
            return before

        async def find(order: Order) -> Lookup[Workload]:
            answer = await launcher.get_workload(order.remote_ids[0] if order.remote_ids else "")
            if answer.item is None:
                return answer
            if answer.item.phase.is_final:
                return answer.model_copy(update={"answer": "absent"})
            item = await to_thread.run_sync(self._journal.known_workload, identity, answer.item)
            return answer.model_copy(update={"item": item})

        placement: Placement[Workload] = await place_or_attach(self._orders, provider, plan, find)
        if placement.existing is not None:
            note = f"{plan.name!r} is running already, from the same spec: attached, nothing was started."
            return Submitted(workload=placement.existing, attached=True, note=note)
        request = partial(launcher.submit_workload, plan, placement.order)
        return Submitted(workload=await self._orders.send(placement.order, request))

    async def _submitted_before(self, provider: RunsWorkloads, plan: Plan) -> Submitted | None:
        """What was submitted by that name under another key and still runs, where the present key shows it.

        Raises
        ------
        NameTakenError : it is from another spec.
        OutcomeUnknownError : it does not show.
        """
        order = await self._order_elsewhere(plan)
        if order is None:
            return None
        await self._look_unless_fresh(provider, plan.identity_key)
        for identity in (plan.identity_key, order.identity_key):
            for remote_id in order.remote_ids:
                workload = await to_thread.run_sync(self._journal.workload, identity, remote_id)
                if workload is not None and workload.phase.is_final:
                    return None
                if workload is not None and identity == plan.identity_key:
                    check_same(plan, order, False)
                    note = f"{plan.name!r} runs already, submitted under another key: attached, nothing was started."
                    return Submitted(workload=workload, attached=True, note=note)
        raise out_of_sight(order)

    async def cancel(self, workload: Workload) -> CancelReport:
        """End every process of the workload on every node; calm when it has ended already."""
        launcher, identity = await self._launcher_of(workload)
        report = await launcher.cancel_workload(workload.workload_id)
        ended = await to_thread.run_sync(self._journal.known_workload, identity, report.workload)
        await to_thread.run_sync(self._journal.put_workload, identity, ended)
        return report.model_copy(update={"workload": ended})

    async def suspend(self, workload: Workload) -> Workload:
        """Let the workload give back what it holds and rest; calm when it rests already.

        Raises
        ------
        NotSupportedError : the provider's workloads cannot rest; the message says why.
        OutcomeUnknownError : the answer was lost, or an earlier one is unresolved.
        """
        provider = self._accounts.able(workload.account, SuspendsWorkloads, "suspend")
        plan = plan_rest(workload, (await provider.identity()).key, Verb.SUSPEND)
        order = await self._placed_alone(provider, plan)
        return await self._orders.send(order, partial(provider.suspend_workload, workload, order))

    async def resume(self, workload: Workload) -> Workload:
        """Let a resting workload go on; raises like `suspend`."""
        provider = self._accounts.able(workload.account, SuspendsWorkloads, "suspend")
        plan = plan_rest(workload, (await provider.identity()).key, Verb.RESUME)
        order = await self._placed_alone(provider, plan)
        return await self._orders.send(order, partial(provider.resume_workload, workload, order))

    async def stream_logs(
        self,
        workload: Workload,
        *,
        ranks: Sequence[int] | None = None,
        offsets: Mapping[int, int] | None = None,
        tail_lines: int | None = None,
        follow: bool = False,
    ) -> AsyncGenerator[LogChunk, None]:
        """Output of the ranks; parameters as in `Launcher.stream_logs`. Followed, it outlives a lost connection."""
        launcher, _ = await self._launcher_of(workload)
        read = partial(launcher.stream_logs, workload.workload_id, ranks=ranks, follow=follow)

        def opened(offsets: Mapping[int, int] | None, tail_lines: int | None) -> AsyncGenerator[LogChunk, None]:
            return read(offsets=offsets, tail_lines=tail_lines)

        chunks = resumed(opened, offsets, tail_lines) if follow else opened(offsets, tail_lines)
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk

    async def _launcher_of(self, workload: Workload) -> tuple[Launcher, str]:
        provider = self._accounts.able(workload.account, RunsWorkloads, "workloads")
        identity = (await provider.identity()).key
        cluster = await to_thread.run_sync(self._journal.cluster, identity, workload.cluster_id)
        if cluster is None:
            raise NotFoundError(
                f"The cluster {workload.cluster_name!r} of {workload.name!r} is not known under this account.",
                hint="%cluster_list shows what there is.",
            )
        return provider.launcher(cluster), identity
