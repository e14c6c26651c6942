"""The magics about what is not certain, what nobody here ordered, and when things end."""

from __future__ import annotations

from ..core import bridge
from ..core.errors import NotFoundError, SettingsError
from ..core.format import age_of, clean, hourly_text, plural
from ..core.models import Cluster
from ..core.reports import Orphan, Recovered
from .arguments import Extend, Orphans, Recover
from .asking import agree, confirm
from .blocks import Heading, Note, Table
from .clusters import looked_up
from .run import Call
from .shown import Shown
from .views import cluster_view, plan_view
from .waiting import sending

_HEADERS = ["order", "what", "name", "account", "since", "may cost", "what is known"]
_WAYS = "`%cluster_recover ORDER` with `--adopt CLUSTER_ID`, `--delete` (on sight) or `--close STATEMENT` settles one."


def recover(call: Call[Recover]) -> Shown:
    """``%cluster_recover``."""
    arguments = call.arguments
    ways = [arguments.adopt is not None, arguments.delete, arguments.close is not None]
    if sum(ways) > 1:
        raise SettingsError("--adopt, --delete and --close exclude each other; nothing was changed.")
    if any(ways) and arguments.order is None:
        raise SettingsError("It needs the id of an order; nothing was changed.", hint="`%cluster_recover` lists them.")
    with sending("look for open orders"):
        found = bridge.call(bridge.service().recover)
    if arguments.order is not None:
        found = [_the_one(found, arguments.order)]
    if any(ways):
        return _settle(call, found[0])
    call.keep(found)
    if not found:
        return Shown("orders", [], [Note("No open orders: every request that was sent has a known outcome.")])
    return Shown("orders", found, [Table(_HEADERS, [_row(one) for one in found]), *_evidence(found), Note(_WAYS)])


def _the_one(found: list[Recovered], ref: str) -> Recovered:
    by_id = [one for one in found if one.order.order_id.startswith(ref)]
    matches = by_id or [one for one in found if ref in _names(one)]
    if len(matches) == 1:
        return matches[0]
    problem = "no open order" if not matches else "several open orders"
    raise NotFoundError(f"There is {problem} {ref!r}.", hint="`%cluster_recover` lists the open ones.")


def _names(one: Recovered) -> tuple[str, ...]:
    more = () if one.cluster is None else (one.cluster.cluster_id,)
    return one.name, f"{one.account}/{one.name}", *more


def _settle(call: Call[Recover], one: Recovered) -> Shown:
    arguments, service, order = call.arguments, bridge.service(), one.order
    if arguments.close is not None and one.kind == "vanished" and one.cluster is not None:
        bridge.call(service.close_vanished, one.cluster, arguments.close)
        return Shown("order", order, [Heading(f"Cluster {one.cluster.full_name}: closed"), Note(arguments.close)])
    if arguments.close is not None:
        closed = bridge.call(service.close_order, order.order_id, arguments.close)
        call.keep(closed)
        return Shown("order", closed, [Heading(f"Order {closed.order_id}: {closed.state}"), Note(closed.note or "")])
    if arguments.adopt is not None:
        evidence = next((c for c in one.candidates if c.cluster_id == arguments.adopt), None)
        about = "" if evidence is None else f" ({_cluster_text(evidence)})"
        text = f"Take {clean(arguments.adopt)}{about} for what order {order.order_id} made?"
        _confirm_unless(arguments.yes, text, "adopt")
        cluster = bridge.call(service.adopt, order.order_id, arguments.adopt)
        call.keep(cluster)
        return cluster_view(cluster, notes=[f"Adopted as what order {order.order_id} made."])
    text = f"Delete what order {order.order_id} ({order.verb} {clean(order.name)}) made, as soon as it shows?"
    _confirm_unless(arguments.yes, text, "delete")
    wished = bridge.call(service.delete_on_sight, order.order_id)
    call.keep(wished)
    note = (
        "It is deleted as soon as it shows: by this notebook, another, or the Jupyter server. It stays open until then."
    )
    return Shown("order", wished, [Heading(f"Order {wished.order_id}: delete on sight"), Note(note)])


def _confirm_unless(yes: bool, text: str, what: str) -> None:
    if not yes:
        confirm(text, hint=f"Pass --yes to {what} without being asked.")


def _row(one: Recovered) -> list[str]:
    price = hourly_text(one.price_per_hour, is_free=False)
    what = one.kind if one.kind == "vanished" else f"{one.order.verb}: {one.kind}"
    note = f"Deleted on sight. {one.note}" if one.order.on_sight else one.note
    return [one.order.order_id, what, one.name, one.account, age_of(one.since), price, note]


def _evidence(found: list[Recovered]) -> list[Note]:
    return [
        Note(f"Order {one.order.order_id} may have made {candidate.cluster_id}: {_cluster_text(candidate)}.")
        for one in found
        for candidate in one.candidates
    ]


def _cluster_text(cluster: Cluster) -> str:
    size = plural(cluster.node_count, "node")
    return (
        f"{clean(cluster.name)}, {cluster.phase}, {size}, created {age_of(cluster.created_at) or 'at an unknown time'}"
    )


def orphans(call: Call[Orphans]) -> Shown:
    """``%cluster_orphans``."""
    report = bridge.call(bridge.service().orphans)
    call.keep(report)
    notes = [Note(f"Not looked at: {what}.") for what in report.not_seen]
    if not report.items:
        none = Note("No orphans: everything that may cost was ordered here and is listed.")
        return Shown("orphans", report, [none, *notes])
    rows = [_orphan_row(one) for one in report.items]
    headers = ["name", "account", "why", "since", "price", "id", "next step"]
    return Shown("orphans", report, [Table(headers, rows), *notes])


def _orphan_row(one: Orphan) -> list[str]:
    price = hourly_text(one.price_per_hour, one.is_free)
    return [one.name, one.account, one.why, age_of(one.since), price, one.ref, one.next_step]


def extend(call: Call[Extend]) -> Shown:
    """``%cluster_extend``."""
    service, hours = bridge.service(), call.arguments.hours
    cluster, _ = looked_up(call.arguments.cluster)
    plan = bridge.call(service.plan_extend, cluster, hours)
    if plan is None:
        cluster = bridge.call(service.keep_end, cluster, hours)
        call.keep(cluster)
        return cluster_view(cluster, notes=[f"It is to be deleted {hours:g} h from now."])
    if call.arguments.dry_run:
        call.keep(plan)
        return plan_view(plan, ["Dry run: nothing was sent."])
    consent = agree(plan, yes=call.arguments.yes)
    with sending(f"{plan.action} {plan.name!r}"):
        cluster = bridge.call(service.act, plan, consent=consent)
    call.keep(cluster)
    return cluster_view(cluster)
