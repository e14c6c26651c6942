"""What all verbs of the service stand on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import TypeVar

from anyio import to_thread
from pydantic import BaseModel

from .accounts import Accounts
from .errors import ConflictError, GpuClustersError, OutcomeUnknownError, SettingsError, SpecError
from .journal import Journal
from .look import look
from .models import Order, Plan, Verb, utc_now
from .names import name_problems
from .orders import Orders
from .plans import digest_of
from .provider import Provider
from .spend import Spend, spend_of
from .watching import Watching

T = TypeVar("T")

_FRESH_FOR = timedelta(seconds=30)
_ONE_AT_A_TIME = (Verb.SCALE, Verb.ACT, Verb.SUSPEND, Verb.RESUME)


class ServiceBase:
    """The parts of one process's service, and the checks that every write makes."""

    def __init__(self, journal: Journal, accounts: Accounts) -> None:
        self._journal = journal
        self._accounts = accounts
        self._orders = Orders(journal)
        self._watching = Watching(journal, self._orders, accounts)

    async def _refuse_if_deleting(self, identity: str, cluster_id: str, name: str) -> None:
        """A wish to delete never lapses, so nothing may be built on what it is about."""
        for order in await to_thread.run_sync(self._journal.open_orders, identity):
            if order.verb is Verb.DELETE and order.target_id == cluster_id:
                raise ConflictError(
                    f"The cluster of {name!r} is being deleted.",
                    hint="Wait until %cluster_list no longer shows it, or use another.",
                    provider=order.provider,
                )

    async def _look_unless_fresh(self, provider: Provider, identity: str) -> None:
        seen = await to_thread.run_sync(self._journal.look, identity)
        age = utc_now() - seen.observed_at if seen.observed_at is not None else None
        if age is None or not timedelta() <= age < _FRESH_FOR or seen.failure is not None:
            with suppress(GpuClustersError):
                await look(provider, self._journal, self._orders)

    async def _order_elsewhere(self, plan: Plan) -> Order | None:
        """The order of this account that holds the plan's name under another key, project or location."""
        what = (plan.verb, plan.provider, plan.account, plan.name, plan.target_id)
        for order in await to_thread.run_sync(self._journal.held_orders):
            is_same = (order.verb, order.provider, order.account, order.name, order.target_id) == what
            if is_same and order.identity_key != plan.identity_key:
                return order
        return None

    async def _placed_alone(self, provider: Provider, plan: Plan) -> Order:
        """The order of a write of which there can be one at a time on its target.

        Raises
        ------
        OutcomeUnknownError : an earlier one is unresolved, also one that was sent under another key.
        """
        for other in await to_thread.run_sync(self._journal.open_orders):
            is_same = other.provider == plan.provider and other.target_id == plan.target_id
            if is_same and other.identity_key != plan.identity_key and other.verb in _ONE_AT_A_TIME:
                raise _unresolved(other)
        order, is_mine = await self._orders.place(plan)
        if not is_mine and order.state.is_open:
            order = await self._orders.resolve(provider, order)
            if not order.state.is_open:
                order, is_mine = await self._orders.place(plan)
        if is_mine:
            return order
        raise _unresolved(order)

    async def _planned(self, name: str, planning: Awaitable[Plan]) -> Plan:
        """The provider's plan for something that gets a name.

        Raises
        ------
        SpecError : with every problem, also of a name that would break full names.
        """
        problems = name_problems(name)
        try:
            plan = await planning
        except SpecError as exc:
            told = {problem.field for problem in exc.problems}
            exc.problems = (*(problem for problem in problems if problem.field not in told), *exc.problems)
            raise
        if problems:
            raise SpecError("It cannot be called that.", problems=problems)
        return await self._marked(plan)

    async def _marked(self, plan: Plan) -> Plan:
        """The plan, with a word on it where nothing is real, and what it would exceed."""
        notes: tuple[str, ...] = ()
        if self._accounts.account(plan.account).is_sandbox:
            notes = ("This account is a sandbox: nothing real is rented or billed.",)
        limits = self._accounts.settings.limits
        if limits.touch(plan):
            spend, orders = await self._spent()
            notes += limits.problems(plan, spend, orders)
        return plan.model_copy(update={"warnings": (*notes, *plan.warnings)}) if notes else plan

    async def _spent(self) -> tuple[Spend, list[Order]]:
        """What all accounts cost so far and now, and the orders that may cost besides."""
        spans, commitments, orders = await to_thread.run_sync(self._journal.costs)
        return spend_of(spans, commitments, utc_now()), orders

    async def _within_limits(self, plan: Plan, order: Order, request: Callable[[Plan, Order], Awaitable[T]]) -> T:
        """Send a placed order unless it would exceed the user's limits.

        The order is there already, so that of two at once at least one sees the other.

        Raises
        ------
        LimitError : with every limit; nothing was sent.
        """
        limits = self._accounts.settings.limits
        if limits.touch(plan):
            spend, orders = await self._spent()
            limits.require(plan, spend, [one for one in orders if one.order_id != order.order_id])
        return await request(plan, order)

    async def _digest(self, spec: BaseModel) -> str:
        return digest_of(spec, await to_thread.run_sync(self._journal.salt))

    async def _same_identity(self, provider: Provider, plan: Plan) -> str:
        identity = (await provider.identity()).key
        if identity != plan.identity_key:
            raise SettingsError(
                f"The account {plan.account!r} speaks to another service or project than when {plan.verb} "
                f"{plan.name!r} was planned; nothing was sent.",
                hint="Plan it again.",
            )
        return identity


def _unresolved(order: Order) -> OutcomeUnknownError:
    return OutcomeUnknownError(
        f"An earlier {order.action or order.verb} of {order.name!r} (order {order.order_id}) has no known outcome.",
        hint="Nothing was sent now. Wait for it, or run %cluster_recover.",
        provider=order.provider,
    )


def out_of_sight(order: Order) -> OutcomeUnknownError:
    """What was ordered under another key, and does not show under the present one, may still bill."""
    return OutcomeUnknownError(
        f"{order.name!r} was ordered from {order.account} before, under another key, project or location (order "
        f"{order.order_id}, {order.state}); whether it still bills cannot be seen with the present one.",
        hint="Nothing was sent. Go back to the earlier settings and end it there, close it with "
        f'`%cluster_recover {order.order_id} --close "..."`, or choose another --name.',
        provider=order.provider,
    )
