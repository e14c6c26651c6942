"""The last known state of all accounts, put together from the journal. Never touches a provider."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from anyio import to_thread

from .accounts import Accounts
from .errors import SettingsError
from .format import plural
from .journal import Journal
from .journal_seen import Look
from .models import AccountView, Cluster, ClusterPhase, Failure, Order, State, Verb, Workload, utc_now
from .provider import ABILITIES, Provider, abilities_of
from .settings import Account

_DELETE_TAKES = timedelta(minutes=15)


async def read_state(journal: Journal, accounts: Accounts) -> State:
    """Everything last known, with the age of each account's list."""
    providers, broken = accounts.usable()
    identities = {name: (await provider.identity()).key for name, provider in providers.items()}
    state = await to_thread.run_sync(_assemble, journal, providers, identities)
    views = {view.account: view for view in state.accounts}
    views |= {name: _broken_view(accounts.account(name), exc) for name, exc in broken.items()}
    return state.model_copy(update={"accounts": tuple(views[name] for name in accounts.names() if name in views)})


def _broken_view(account: Account, exc: SettingsError) -> AccountView:
    failure = Failure(message=exc.message, hint=exc.hint, code=exc.code)
    return AccountView(account=account.name, provider=account.provider, title=account.provider, error=failure)


def _assemble(journal: Journal, providers: dict[str, Provider], identities: dict[str, str]) -> State:
    keys = set(identities.values())
    seq = journal.seq()
    all_open = journal.open_orders()
    orders = [order for order in all_open if order.identity_key in keys]
    clusters = _with_ends(journal, identities, _with_wishes(journal.clusters(keys), orders))
    workloads = journal.workloads(keys)
    return State(
        accounts=tuple(_view(name, providers[name], journal.look(key)) for name, key in identities.items()),
        clusters=tuple(clusters),
        workloads=tuple(workloads),
        orders=tuple(orders),
        notices=(
            *journal.notices(),
            *_late(journal, clusters, workloads),
            *_elsewhere([order for order in all_open if order.identity_key not in keys], "open order"),
            *_elsewhere(_unseen(journal.clusters_elsewhere(keys), clusters), "cluster"),
        ),
        seq=seq,
    )


def _view(name: str, provider: Provider, look: Look) -> AccountView:
    can = abilities_of(type(provider))
    return AccountView(
        account=name,
        provider=provider.name,
        title=f"{provider.title} (sandbox)" if provider.account.is_sandbox else provider.title,
        can=tuple(sorted(can)),
        why_not={ability: provider.why_not(ability) for ability in ABILITIES if ability not in can},
        observed_at=look.observed_at,
        age_s=max(0.0, (utc_now() - look.observed_at).total_seconds()) if look.observed_at else None,
        is_complete=look.is_complete,
        not_seen=look.not_seen,
        error=look.failure,
    )


def tell_cluster(journal: Journal, identity: str, cluster_id: str) -> Cluster | None:
    """One cluster as last known, also one that is gone, with what is wished of it."""
    cluster = journal.cluster(identity, cluster_id)
    if cluster is None or cluster.phase is ClusterPhase.DELETED:
        return cluster
    (wished,) = _with_wishes([cluster], journal.open_orders(identity))
    return _with_end(wished, journal.timers().get((identity, cluster_id)), identity in journal.kept())


def _with_wishes(clusters: list[Cluster], orders: list[Order]) -> list[Cluster]:
    """A cluster with an unconfirmed delete is shown as deleting, whatever the provider's word."""
    wished = {order.target_id: order for order in orders if order.verb is Verb.DELETE}
    return [
        c.model_copy(update={"phase": ClusterPhase.DELETING, "reason": _wish_text(wished[c.cluster_id], c)})
        if c.cluster_id in wished
        else c
        for c in clusters
    ]


def _wish_text(order: Order, cluster: Cluster) -> str | None:
    told = order.note or cluster.reason
    age = utc_now() - order.created_at
    if age < _DELETE_TAKES:
        return told
    since = f"Asked to go at {order.created_at:%Y-%m-%d %H:%M} UTC and still not confirmed gone: it may bill on."
    return f"{since} {told or ''}".strip()


def _with_ends(journal: Journal, identities: Mapping[str, str], clusters: list[Cluster]) -> list[Cluster]:
    """Clusters with the end times that we keep; an end that nobody is there to keep is none."""
    timers = journal.timers()
    if not timers:
        return clusters
    kept = journal.kept()
    told = []
    for cluster in clusters:
        identity = identities.get(cluster.account, "")
        told.append(_with_end(cluster, timers.get((identity, cluster.cluster_id)), identity in kept))
    return told


def _with_end(cluster: Cluster, ends_at: datetime | None, is_kept: bool) -> Cluster:
    if ends_at is None:
        return cluster
    if is_kept:
        return cluster.model_copy(update={"ends_at": ends_at})
    text = f"NO END TIME: nobody who runs now would delete it at {ends_at:%Y-%m-%d %H:%M} UTC; start a Jupyter server."
    return cluster.model_copy(update={"reason": f"{cluster.reason or ''} {text}".strip()})


def _late(journal: Journal, clusters: list[Cluster], workloads: list[Workload]) -> Iterator[str]:
    """What appeared although its order had been closed, while it is there."""
    known = {c.cluster_id: c.full_name for c in clusters} | {
        w.workload_id: w.full_name for w in workloads if not w.phase.is_final
    }
    for order in journal.late_arrivals():
        for remote_id in order.remote_ids:
            if remote_id in known:
                yield f"{known[remote_id]} is there, although its order {order.order_id} was closed. {order.note or ''}"


def _unseen(clusters: list[Cluster], shown: list[Cluster]) -> list[Cluster]:
    """Those that may bill and that no present key shows."""
    ids = {one.cluster_id for one in shown}
    return [one for one in clusters if one.created_here and not one.is_free and one.cluster_id not in ids]


def _elsewhere(things: Sequence[Order | Cluster], what: str) -> Iterator[str]:
    """What nobody can look for with the present keys, projects and locations."""
    for account, number in sorted(Counter(thing.account for thing in things).items()):
        yield (
            f"{plural(number, what)} of {account} belong to another key, project or location and cannot be seen with "
            "the present one, but may bill; `%cluster_recover` shows what they are."
        )
