"""Run All twice: a name that is live or open from the same spec is attached to, never ordered again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from .errors import NameTakenError, OutcomeUnknownError
from .models import Cluster, Lookup, Order, OrderState, Plan, Verb, Workload
from .orders import Orders
from .plans import difference
from .provider import Provider

T = TypeVar("T", Cluster, Workload)

_TRIES = 5


@dataclass(frozen=True)
class Placement(Generic[T]):
    """Either the order is ours to send (`existing` is ``None``), or somebody's thing is attached to."""

    order: Order
    existing: T | None = None


async def place_or_attach(
    orders: Orders,
    provider: Provider,
    plan: Plan,
    find: Callable[[Order], Awaitable[Lookup[T]]],
    *,
    is_new: bool = False,
) -> Placement[T]:
    """Claim the plan's name, or find out what holds it.

    Parameters
    ----------
    find : looks up what a settled order made; "absent" means that the name may be used again.
    is_new : whatever is live under the name is an error.

    Raises
    ------
    NameTakenError : it is live or open with another spec, or `is_new`.
    OutcomeUnknownError : an earlier order of that name is unresolved.
    """
    for _ in range(_TRIES):
        order, is_mine = await orders.place(plan)
        if is_mine:
            return Placement(order)
        holder = await _settle(orders, provider, order)
        if holder is None:
            continue
        answer = await find(holder)
        if answer.answer == "absent":
            await orders.free(holder)
            continue
        check_same(plan, holder, is_new)
        if answer.item is not None:
            return Placement(holder, answer.item)
        raise _unknown(holder, answer.reason)
    raise NameTakenError(f"{plan.name!r} is being used by others right now.", hint="Try it again in a moment.")


async def _settle(orders: Orders, provider: Provider, order: Order) -> Order | None:
    """The holder of the name once its outcome is known; ``None`` when the name is free again."""
    holder = await orders.settled(order)
    if holder is not None and holder.state.is_open:
        holder = await orders.resolve(provider, holder)
        if holder.state is OrderState.DONE:
            return await orders.settled(holder)
    if holder is None or holder.state in (OrderState.CLOSED, OrderState.REFUSED):
        return None
    if holder.state.is_open:
        raise _unknown(holder, holder.note)
    return holder


def check_same(plan: Plan, holder: Order, is_new: bool) -> None:
    """Whether what `holder` made may be attached to.

    Raises
    ------
    NameTakenError : it is from another spec (the difference is given), or `is_new`.
    """
    what = "a workload" if plan.verb is Verb.SUBMIT else "a cluster"
    if is_new:
        raise NameTakenError(f"There is {what} {plan.name!r} already.", hint="Choose another --name.")
    if plan.spec_digest != holder.spec_digest:
        raise NameTakenError(
            f"There is {what} {plan.name!r} already, from another spec ({difference(holder.shown, plan.shown)}).",
            hint="Choose another --name, or end the old one first.",
        )


def _unknown(holder: Order, reason: str | None) -> OutcomeUnknownError:
    return OutcomeUnknownError(
        f"An earlier {holder.verb} of {holder.name!r} (order {holder.order_id}) has no known outcome: "
        f"{reason or 'its sender is still at work.'}",
        hint="Nothing was sent now. Run %cluster_recover to find out.",
        provider=holder.provider,
    )
