"""The life of a write that must not happen twice: claimed, sent once, its outcome recorded or left open.

From claim to recorded answer a write runs in a task of its own, so that an interrupt ends the wait and not the
request. Every outcome starts as open; only a refusal that the provider calls definite, or proof, closes it.
"""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from typing import Any, TypeVar

from anyio import to_thread

from .errors import GpuClustersError, JournalError, OutcomeUnknownError
from .journal import Journal
from .models import Cluster, Lookup, Order, OrderState, Plan, Verb, Workload, WorkloadPhase
from .names import mark_of, marked_name
from .plans import plan_delete
from .processes import is_dead, this_process
from .provider import ActsOnClusters, CreatesClusters, Provider, RunsWorkloads, ScalesClusters, Search

T = TypeVar("T")

_AT_WORK: set[str] = set()
"""Orders that this process has claimed or is sending now."""

SETTLE_WAIT_S = 120.0
SENDER_GIVEN_UP_AFTER_S = 180.0
"""After so long somebody else may look for an order whose sender cannot be proven dead (it ran on another host)."""

_CLOSE_GRACE_S = 10.0
_AT_REST = (WorkloadPhase.STOPPING, WorkloadPhase.STOPPED)


class Orders:
    """Orders of one process, on one event loop."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._sending: set[asyncio.Task[Any]] = set()
        self._retries: dict[str, tuple[float, float]] = {}
        self._first_seen: dict[str, float] = {}

    def is_retry_due(self, order: Order) -> bool:
        """Whether a repeatable write (a delete) should be sent again now; the gaps grow from 5 s to 300 s."""
        now = asyncio.get_running_loop().time()
        due_at, gap = self._retries.get(order.order_id, (now, 5.0))
        if now < due_at:
            return False
        self._retries[order.order_id] = (now + gap, min(gap * 2, 300.0))
        return True

    async def aclose(self) -> None:
        """Give running requests a moment to record their answers."""
        if self._sending:
            await asyncio.wait(self._sending, timeout=_CLOSE_GRACE_S)

    async def place(self, plan: Plan) -> tuple[Order, bool]:
        """Make the intent durable; returns the order that holds the name and whether it is a new one.

        Raises
        ------
        JournalError : no durable intent, so nothing may be sent.
        """
        placing = asyncio.ensure_future(to_thread.run_sync(self._place, plan))
        try:
            return await asyncio.shield(placing)
        except asyncio.CancelledError:
            self._keep(asyncio.ensure_future(self._take_back(placing)))
            raise

    async def _take_back(self, placing: asyncio.Future[tuple[Order, bool]]) -> None:
        """The wait was interrupted while the intent was being written: nothing was sent, and nothing will be."""
        order, is_mine = await placing
        if is_mine:
            await self.close(order, "Interrupted before anything was sent.")
            _AT_WORK.discard(order.order_id)

    async def see_through(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for `work`, which goes on when the wait is interrupted."""
        task = asyncio.ensure_future(work)
        self._keep(task)
        return await asyncio.shield(task)

    def _keep(self, task: asyncio.Task[Any]) -> None:
        """See a task through, whoever stops waiting for it."""
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def holder(self, plan: Plan) -> Order | None:
        """The order that holds the name the plan would claim."""
        await to_thread.run_sync(self._journal.restore_orders)
        return await to_thread.run_sync(lambda: self._journal.claims.holder(self._new_order(plan)))

    def _place(self, plan: Plan) -> tuple[Order, bool]:
        self._journal.restore_orders()
        order = self._new_order(plan)
        _AT_WORK.add(order.order_id)
        holder = self._journal.claims.claim(order)
        if holder.order_id != order.order_id:
            _AT_WORK.discard(order.order_id)
            return holder, False
        try:
            self._journal.put_order(order)
        except JournalError:
            self._journal.claims.release(order)
            _AT_WORK.discard(order.order_id)
            raise
        return order, True

    def _new_order(self, plan: Plan) -> Order:
        order_id = base64.b32encode(os.urandom(10)).decode().lower()
        mark = mark_of(self._journal.journal_id(), order_id)
        return Order(
            order_id=order_id,
            verb=plan.verb,
            provider=plan.provider,
            account=plan.account,
            identity_key=plan.identity_key,
            name=plan.name,
            remote_name=marked_name(plan.name, mark) if plan.marks_name else plan.name,
            mark=mark,
            idempotency_key=order_id,
            spec_digest=plan.spec_digest,
            shown=plan.shown,
            target_id=plan.target_id,
            action=plan.action,
            baseline=plan.baseline,
            price_per_hour=plan.price_per_hour,
            commitment=plan.commitment,
            nodes=plan.nodes,
            max_hours=plan.max_hours,
            sender=this_process(),
        )

    async def send(self, order: Order, request: Callable[[], Awaitable[T]]) -> T:
        """Send a placed order once; cancelling the caller does not cancel the request.

        Raises
        ------
        GpuClustersError : a definite refusal, or certainly nothing was sent; the order is closed.
        OutcomeUnknownError : anything else; the order stays open.
        """
        return await self.see_through(self._at_work(order, request))

    async def _at_work(self, order: Order, request: Callable[[], Awaitable[T]]) -> T:
        try:
            return await self._complete(order, request)
        finally:
            _AT_WORK.discard(order.order_id)

    async def _complete(self, order: Order, request: Callable[[], Awaitable[T]]) -> T:
        try:
            result = await request()
        except GpuClustersError as exc:
            if exc.is_definite and not (order.verb is Verb.DELETE and order.note is not None):
                await self._record_refusal(order, exc)
                raise
            raise await self._leave_open(order, exc, exc.ids) from exc
        except Exception as exc:
            raise await self._leave_open(order, exc, ()) from exc
        try:
            await self._record(order, result)
        except JournalError as exc:
            raise OutcomeUnknownError(
                f"{order.verb} {order.name!r} was answered ({_describe(result)}), but the answer could not be "
                f"recorded: {exc.message}",
                hint="Do not order it again; make room, then run %cluster_recover.",
                provider=order.provider,
            ) from exc
        return result

    async def _record_refusal(self, order: Order, exc: GpuClustersError) -> None:
        try:
            await self._finish(order, OrderState.REFUSED, (), exc.message)
        except JournalError as failure:
            exc.hint = f"{exc.hint or ''} The journal could not record the refusal: {failure.message}".strip()

    async def _record(self, order: Order, result: object) -> None:
        match result:
            case Cluster():
                done = await self._finish(order, OrderState.DONE, (result.cluster_id,), None, result.member_ids)
                await to_thread.run_sync(self._journal.put_cluster, order.identity_key, result)
                if done.on_sight:
                    await self.place(plan_delete(result, order.identity_key))
                if order.verb is not Verb.CREATE:
                    await self.free(order)
                elif order.max_hours is not None:
                    ends_at = order.created_at + timedelta(hours=order.max_hours)
                    await to_thread.run_sync(self._journal.set_timer, order.identity_key, result.cluster_id, ends_at)
            case Workload():
                await self._finish(order, OrderState.DONE, (result.workload_id,), None)
                await to_thread.run_sync(self._journal.put_workload, order.identity_key, result)
                if order.verb is not Verb.SUBMIT:
                    await self.free(order)
            case Lookup(answer="absent"):
                await self._finish(order, OrderState.DONE, (), None)
                await self.free(order)
            case Lookup():
                await self._finish(order, OrderState.OPEN, (), result.reason)
            case _:
                raise TypeError(f"unexpected answer {type(result).__name__}")

    async def _leave_open(self, order: Order, exc: Exception, ids: tuple[str, ...]) -> OutcomeUnknownError:
        text = exc.message if isinstance(exc, GpuClustersError) else f"{type(exc).__name__}: {exc}"
        try:
            await self._finish(order, OrderState.OPEN, ids, text)
        except JournalError as failure:
            text += f" The journal could not record that: {failure.message}"
        return OutcomeUnknownError(
            f"No usable answer to {order.verb} {order.name!r}: {text}",
            hint="It may exist. Do not order it again; run %cluster_recover, which only looks.",
            provider=order.provider,
        )

    async def _finish(
        self,
        order: Order,
        state: OrderState,
        ids: tuple[str, ...],
        note: str | None,
        members: tuple[str, ...] = (),
    ) -> Order:
        changes = {
            "state": state,
            "remote_ids": ids or order.remote_ids,
            "members": members or order.members,
            "note": note,
        }
        return await to_thread.run_sync(self._journal.finish_order, order.model_copy(update=changes))

    async def free(self, order: Order) -> None:
        """Its work is over: give the name back."""
        latest = await to_thread.run_sync(self._journal.order, order.order_id)
        await to_thread.run_sync(self._journal.release, latest or order)

    async def close(self, order: Order, note: str) -> Order:
        """Close an order for good, by proof or by the user's statement."""
        return await self._finish(order, OrderState.CLOSED, (), note)

    async def adopt(self, order: Order, found: Cluster | Workload, note: str | None = None) -> Order:
        """What was found is what the order made; `note` says how that is known, where its mark does not."""
        await self._record(order, found)
        done = await to_thread.run_sync(self._journal.order, order.order_id) or order
        if note is None:
            return done
        return await self._finish(done, OrderState.DONE, (), note)

    async def settle(self, order: Order, found: Cluster | Workload) -> None:
        """What was found, under whatever key, is what the order made."""
        remote_id, members = (
            (found.cluster_id, found.member_ids) if isinstance(found, Cluster) else (found.workload_id, ())
        )
        await self._finish(order, OrderState.DONE, (remote_id,), None, members)

    async def wish_gone(self, order: Order) -> Order:
        """Record that what an open order made is to be deleted as soon as it shows."""
        wished = order.model_copy(update={"on_sight": True})
        now = await to_thread.run_sync(self._journal.finish_order, wished)
        for remote_id in now.remote_ids if now.state is OrderState.DONE else ():
            made = await to_thread.run_sync(self._journal.cluster, now.identity_key, remote_id)
            if made is not None:
                await self.place(plan_delete(made, now.identity_key))
        return now

    async def fulfil_deletes(self, identity: str, cluster_id: str) -> bool:
        """A cluster is proven gone: its open wishes to delete are fulfilled; whether there was one."""
        open_orders = await to_thread.run_sync(self._journal.open_orders, identity)
        wishes = [order for order in open_orders if order.verb is Verb.DELETE and order.target_id == cluster_id]
        for order in wishes:
            await self._finish(order, OrderState.DONE, (), None)
            await self.free(order)
        return bool(wishes)

    async def settled(self, order: Order) -> Order | None:
        """Wait while another process still sends this order; ``None`` when the name is free again.

        Bounded: after 120 s, or when the sender is proven dead, the order is returned as it is.
        """
        deadline = asyncio.get_running_loop().time() + SETTLE_WAIT_S
        while True:
            holder = await to_thread.run_sync(self._journal.claims.holder, order)
            if holder is None or holder.order_id != order.order_id:
                return None
            late = asyncio.get_running_loop().time() > deadline
            if not holder.state.is_open or _has_ended(holder) or late:
                return holder
            await asyncio.sleep(0.25)

    async def resolve(self, provider: Provider, order: Order) -> Order:
        """Find out by reading only what became of an open order whose sender is gone or gave up.

        Found: adopted. Proven not to have happened: closed. Otherwise "not seen", and it stays.
        """
        has_ended = _has_ended(order)
        if not has_ended and not self._is_old(order):
            return order
        search = await self.search(provider, order)
        found: tuple[Cluster | Workload, ...] = search.found or search.workloads
        if len(found) == 1:
            return await self.adopt(order, found[0])
        if search.never_happened and has_ended:
            return await self.close(order, search.reason or "It never happened.")
        note = _not_seen(search)
        if order.state is OrderState.NOT_SEEN and order.note == note:
            return order
        return await self._finish(order, OrderState.NOT_SEEN, (), note)

    def _is_old(self, order: Order) -> bool:
        """Whether this process has known it for longer than any request takes."""
        now = asyncio.get_running_loop().time()
        return now - self._first_seen.setdefault(order.order_id, now) > SENDER_GIVEN_UP_AFTER_S

    async def search(self, provider: Provider, order: Order) -> Search:
        """Look at the provider for what an order did. Reads only."""
        if order.verb is Verb.CREATE and isinstance(provider, CreatesClusters):
            return await provider.find_created(order)
        if order.verb is Verb.SCALE and isinstance(provider, ScalesClusters):
            return await provider.find_scaled(order)
        if order.verb is Verb.ACT and isinstance(provider, ActsOnClusters):
            return await provider.find_acted(order)
        if order.verb is Verb.SUBMIT and isinstance(provider, RunsWorkloads):
            cluster = await provider.get_cluster(order.target_id or "")
            if cluster.item is not None:
                return await provider.launcher(cluster.item).find_submitted(order)
            return Search(never_happened=cluster.answer == "absent", reason="Its cluster is gone.")
        if order.verb in (Verb.SUSPEND, Verb.RESUME) and isinstance(provider, RunsWorkloads):
            return await self._search_at_rest(provider, order)
        return Search(reason="This provider cannot look for it.")

    async def _search_at_rest(self, provider: RunsWorkloads, order: Order) -> Search:
        """Whether a workload is now as a suspend or resume wanted it."""
        workload = await to_thread.run_sync(self._journal.workload, order.identity_key, order.target_id or "")
        cluster = await provider.get_cluster(workload.cluster_id) if workload is not None else None
        if workload is None or cluster is None or cluster.item is None:
            return Search(reason="Its workload cannot be looked at.")
        now = (await provider.launcher(cluster.item).get_workload(workload.workload_id)).item
        if now is not None and (now.phase.is_final or (now.phase in _AT_REST) == (order.verb is Verb.SUSPEND)):
            return Search(workloads=(now,))
        return Search(reason=f"It does not show yet that the {order.verb} took effect.")


def _has_ended(order: Order) -> bool:
    """Whether its sender will do no more for it."""
    if order.note is not None or is_dead(order.sender):
        return True
    return order.sender == this_process() and order.order_id not in _AT_WORK


def _not_seen(search: Search) -> str:
    found = search.found or search.workloads
    if len(found) > 1:
        ids = ", ".join(one.cluster_id if isinstance(one, Cluster) else one.workload_id for one in found)
        return f"{len(found)} things carry its mark: {ids}. Delete those you do not want, or adopt one."
    told = search.reason or "The provider does not show it; it may still appear."
    if not search.candidates:
        return told
    ids = ", ".join(one.cluster_id for one in search.candidates)
    return f"{told} This may be it: {ids}."


def _describe(result: object) -> str:
    match result:
        case Cluster():
            return f"cluster {result.cluster_id}"
        case Workload():
            return f"workload {result.workload_id}"
        case _:
            return "done"
