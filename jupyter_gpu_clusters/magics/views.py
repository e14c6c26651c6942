"""How clusters, workloads, plans, offers and accounts look: pure functions from models to `Shown`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from decimal import Decimal

from ..core.choices import Choice
from ..core.format import (
    age_of,
    age_text,
    bytes_text,
    exit_text,
    gpus_text,
    hourly_text,
    money_text,
    phase_shape,
    phase_text,
    plural,
    workload_time_text,
)
from ..core.models import (
    AccountStatus,
    AccountView,
    Billing,
    Cluster,
    ClusterPhase,
    Details,
    Listing,
    Offer,
    OfferListing,
    Order,
    Plan,
    State,
    Workload,
    WorkloadPhase,
)
from .blocks import Block, Facts, Heading, Note, Table
from .shown import Shown

_MAX_RANKS = 64
_MAX_ROWS = 1000


def clusters_view(state: State, accounts: Sequence[str] = ()) -> Shown:
    """All clusters of `accounts` (all by default), what could not be looked at, and what is still open."""
    clusters = [c for c in state.clusters if not accounts or c.account in accounts]
    blocks: list[Block] = []
    if clusters:
        blocks.append(_cluster_table(clusters))
    else:
        blocks.append(Note("No clusters. `%cluster_create local --name demo --nodes 2` makes one on this machine."))
    blocks += _more(len(clusters))
    looked_at = [account for account in state.accounts if not accounts or account.account in accounts]
    ages = [f"{a.account} {age_text(a.age_s)}" for a in looked_at if a.error is None and a.observed_at]
    blocks += [Note(f"Looked at: {', '.join(ages)}.")] if ages else []
    blocks += [note for account in looked_at for note in _account_notes(account)]
    blocks += [Note(_order_text(order)) for order in state.orders if not accounts or order.account in accounts]
    blocks += [Note(notice) for notice in state.notices]
    return Shown("clusters", clusters, blocks)


def cluster_view(cluster: Cluster, workloads: Sequence[Workload] = (), notes: Iterable[str | None] = ()) -> Shown:
    """One cluster: facts, nodes, workloads."""
    blocks: list[Block] = [
        Heading(f"Cluster {cluster.full_name}: {_phase(cluster)}"),
        Facts(
            [
                ("reason", cluster.reason or ""),
                ("nodes", str(cluster.node_count)),
                ("GPUs", gpus_text(cluster.gpu_count, cluster.gpu_type)),
                ("price", hourly_text(cluster.price_per_hour, cluster.is_free)),
                ("billing", "" if cluster.is_free else str(cluster.billing)),
                ("region", cluster.region or ""),
                ("created", age_of(cluster.created_at)),
                ("ends", "" if cluster.ends_at is None else f"{cluster.ends_at:%Y-%m-%d %H:%M} UTC"),
                ("log in", f"ssh {cluster.login_address}" if cluster.login_address else ""),
                ("page", cluster.provider_url or ""),
                ("id", cluster.cluster_id),
            ]
        ),
    ]
    if cluster.nodes:
        blocks.append(_node_table(cluster))
    if workloads:
        blocks.append(_workload_table(workloads))
    blocks += [Note(note) for note in (*notes, "" if cluster.created_here else "It was not created here.") if note]
    return Shown("cluster", cluster, blocks)


def workloads_view(workloads: Sequence[Workload]) -> Shown:
    """Many workloads, as given."""
    if not workloads:
        return Shown("workloads", [], [Note("No workloads.")])
    return Shown("workloads", list(workloads), [_workload_table(workloads), *_more(len(workloads))])


def workload_view(workload: Workload, notes: Iterable[str | None] = ()) -> Shown:
    """One workload: facts and ranks."""
    processes = "once per node" if workload.procs_per_node is None else f"{workload.procs_per_node} per node"
    blocks: list[Block] = [
        Heading(f"Workload {workload.full_name}: {_phase(workload)}"),
        Facts(
            [
                ("reason", workload.reason or ""),
                ("command", _command_text(workload)),
                ("runs", f"on {plural(workload.nodes, 'node')}, {processes}"),
                ("exit", exit_text(workload.exit_code)),
                ("submitted", age_of(workload.submitted_at)),
                ("time", workload_time_text(workload)),
                ("log", bytes_text(workload.log_bytes) if workload.log_bytes else ""),
            ]
        ),
    ]
    if workload.ranks:
        blocks.append(_rank_table(workload))
    if len(workload.ranks) > _MAX_RANKS:
        blocks.append(Note(f"The first {_MAX_RANKS} of {len(workload.ranks)} ranks are shown, failed ones first."))
    blocks += [Note(note) for note in notes if note]
    return Shown("workload", workload, blocks)


def plan_view(plan: Plan, notes: Iterable[str] = ()) -> Shown:
    """What a write would do, with the masked request."""
    price = money_text(None, plan.is_free) if plan.is_free else hourly_text(plan.price_per_hour)
    blocks: list[Block] = [
        Heading(f"Plan: {plan.action or plan.verb} {plan.name} on {plan.account}"),
        Facts(
            [
                ("nodes", str(plan.nodes) if plan.nodes else ""),
                ("processes", str(plan.processes) if plan.processes else ""),
                ("GPUs", str(plan.gpus)),
                ("price", price),
                ("commitment", "" if plan.commitment is None else f"{plan.commitment} in all, also if deleted early"),
                ("note", plan.confirm or ""),
                *((f"request.{key}", _value_text(value)) for key, value in plan.shown.items()),
            ]
        ),
        *(Note(f"Warning: {warning}") for warning in plan.warnings),
        *(Note(note) for note in notes),
    ]
    return Shown("plan", plan, blocks)


def offers_view(listings: Sequence[OfferListing]) -> Shown:
    """Offers in the given order of all listings together, then what could not be had."""
    offers = [offer for listing in listings for offer in listing.offers]
    offers.sort(key=_offer_order)
    rows = [_offer_row(offer) for offer in offers[:_MAX_ROWS]]
    headers = [
        "offer",
        "account",
        "GPU",
        "GPUs/node",
        "CPUs",
        "memory",
        "free nodes",
        "node-hour",
        "GPU-hour",
        "region",
    ]
    headers += ["network", "term"]
    numbers = frozenset({"GPUs/node", "CPUs", "memory", "free nodes", "node-hour", "GPU-hour"})
    blocks: list[Block] = [Table(headers, rows, numbers)] if rows else [Note("No offers.")]
    blocks += _more(len(offers))
    blocks += [Note(f"{entry.account}: {entry.error.message}") for entry in listings if entry.error]
    return Shown("offers", offers, blocks)


def accounts_view(statuses: Sequence[AccountStatus]) -> Shown:
    """Which accounts work and where each secret is kept."""
    rows = [
        [
            status.account,
            status.provider,
            "✔ works" if status.is_usable else "✖ does not work",
            status.credential,
            "" if status.expires_at is None else f"{status.expires_at:%Y-%m-%d %H:%M} UTC",
            "" if status.balance is None else str(status.balance),
            status.detail,
        ]
        for status in statuses
    ]
    headers = ["account", "provider", "state", "secret", "expires", "balance", "detail"]
    return Shown("accounts", list(statuses), [Table(headers, rows, frozenset({"balance"}))])


def choices_view(title: str, listing: Listing[Choice], note: str | None = None) -> Shown:
    """What may be chosen, with whatever else the service tells of it."""
    choices = listing.items
    columns = list(dict.fromkeys(key for choice in choices for key in choice.detail))
    rows = [
        [str(c.value), c.label, *(_cell(c.detail.get(column)) for column in columns), c.why_not or ""]
        for c in choices[:_MAX_ROWS]
    ]
    blocks: list[Block] = [Heading(title)]
    blocks += [Table(["value", "label", *columns, "not now, because"], rows)] if rows else [Note("Nothing to choose.")]
    blocks += _more(len(choices))
    if not listing.is_complete:
        blocks.append(Note(f"The list may be incomplete: could not see {', '.join(listing.not_seen) or 'all of it'}."))
    return Shown("choices", list(choices), [*blocks, *([Note(note)] if note else [])])


def details_view(thing: Cluster | Workload, details: Details) -> Shown:
    """A provider's own table."""
    rows = [[_cell(row.get(column)) for column in details.columns] for row in details.rows[:_MAX_ROWS]]
    blocks: list[Block] = [Heading(f"{details.title}: {thing.full_name}")]
    blocks += [Table(details.columns, rows)] if rows else [Note("Nothing there.")]
    blocks += _more(len(details.rows))
    return Shown("details", details, [*blocks, *([Note(details.note)] if details.note else [])])


def _cell(value: str | int | float | None) -> str:
    return "" if value is None else str(value)


def _cluster_table(clusters: Sequence[Cluster]) -> Table:
    rows = [
        [
            cluster.name,
            cluster.account,
            _phase(cluster),
            str(cluster.node_count),
            gpus_text(cluster.gpu_count, cluster.gpu_type),
            hourly_text(cluster.price_per_hour, cluster.is_free),
            "unknown" if cluster.billing is Billing.UNKNOWN and not cluster.is_free else "",
            age_of(cluster.created_at),
            "" if cluster.created_here else "not created here",
        ]
        for cluster in clusters[:_MAX_ROWS]
    ]
    headers = ["name", "account", "phase", "nodes", "GPUs", "price", "billing", "created", "note"]
    return Table(headers, rows, frozenset({"nodes"}))


def _node_table(cluster: Cluster) -> Table:
    rows = [
        [
            str(node.index),
            node.node_id,
            _mark(node.phase, node.provider_state),
            node.address or "",
            str(node.gpus or ""),
        ]
        for node in cluster.nodes[:_MAX_ROWS]
    ]
    return Table(["node", "id", "phase", "address", "GPUs"], rows, frozenset({"node", "GPUs"}))


def _workload_table(workloads: Sequence[Workload]) -> Table:
    rows = [
        [
            workload.name,
            f"{workload.account}/{workload.cluster_name}",
            _phase(workload),
            str(workload.nodes),
            str(len(workload.ranks) or ""),
            exit_text(workload.exit_code),
            workload_time_text(workload),
            age_of(workload.submitted_at),
            _command_text(workload),
        ]
        for workload in workloads[:_MAX_ROWS]
    ]
    headers = ["workload", "cluster", "phase", "nodes", "ranks", "exit", "time", "submitted", "command"]
    return Table(headers, rows, frozenset({"nodes", "ranks"}))


def _rank_table(workload: Workload) -> Table:
    ranks = workload.ranks
    if len(ranks) > _MAX_RANKS:
        ranks = tuple(sorted(ranks, key=lambda rank: (rank.phase is not WorkloadPhase.FAILED, rank.rank)))
    rows = [
        [str(r.rank), str(r.node_index), _mark(r.phase, None), str(r.pid or ""), exit_text(r.exit_code), r.reason or ""]
        for r in ranks[:_MAX_RANKS]
    ]
    return Table(["rank", "node", "phase", "pid", "exit", "reason"], rows, frozenset({"rank", "node", "pid"}))


def _offer_row(offer: Offer) -> list[str]:
    price = offer.price_per_node_hour
    per_gpu = price.times(Decimal(1) / offer.gpus_per_node) if price and offer.gpus_per_node else None
    return [
        offer.title,
        offer.account,
        offer.gpu_type or "",
        str(offer.gpus_per_node or ""),
        "" if offer.cpus_per_node is None else str(offer.cpus_per_node),
        "" if offer.memory_gib_per_node is None else f"{offer.memory_gib_per_node:.0f} GiB",
        "" if offer.nodes_available is None else str(offer.nodes_available),
        "" if offer.term_price is not None else money_text(price, offer.is_free),
        str(per_gpu or ""),
        offer.region or "",
        offer.interconnect or "",
        _term_text(offer),
    ]


def _term_text(offer: Offer) -> str:
    if offer.commitment_days is None:
        return ""
    return f"{offer.commitment_days} days" + (f", {offer.term_price} a node" if offer.term_price else "")


def _offer_order(offer: Offer) -> tuple[int, str, float, str]:
    price = offer.price_per_node_hour
    if offer.is_free:
        return (0, "", 0.0, offer.title)
    return (2, "", 0.0, offer.title) if price is None else (1, price.currency, float(price.amount), offer.title)


def _more(count: int) -> list[Note]:
    return [Note(f"The first {_MAX_ROWS} of {count} are shown.")] if count > _MAX_ROWS else []


def _account_notes(account: AccountView) -> list[Note]:
    notes = []
    if account.error is not None:
        seen = f"last seen {age_text(account.age_s)}" if account.observed_at else "never seen yet"
        notes.append(Note(f"{account.account}: could not look ({seen}). {account.error.message}"))
    elif not account.is_complete:
        notes.append(Note(f"{account.account}: the list may be incomplete."))
    if account.not_seen:
        notes.append(Note(f"{account.account}: could not see {', '.join(account.not_seen)}."))
    return notes


def _order_text(order: Order) -> str:
    note = f" {order.note}" if order.note else ""
    return (
        f"Open order {order.order_id}: {order.verb} {order.name} on {order.account}, {age_of(order.created_at)}.{note} "
        "`%cluster_recover` looks for what became of it."
    )


def _phase(item: Cluster | Workload) -> str:
    return _mark(item.phase, item.provider_state)


def _mark(phase: ClusterPhase | WorkloadPhase, provider_state: str | None) -> str:
    return f"{phase_shape(phase)} {phase_text(phase, provider_state)}"


def _command_text(workload: Workload) -> str:
    return " ".join(workload.command)


def _value_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
