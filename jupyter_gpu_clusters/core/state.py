"""The last known state of all accounts, put together from the journal. Never touches a provider."""

from __future__ import annotations

from anyio import to_thread

from .accounts import Accounts
from .errors import SettingsError
from .journal import Journal, Look
from .models import AccountView, Cluster, ClusterPhase, Failure, Order, State, Verb, utc_now
from .provider import ABILITIES, Provider, abilities_of
from .settings import Account


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
    orders = [order for order in journal.open_orders() if order.identity_key in keys]
    return State(
        accounts=tuple(_view(name, providers[name], journal.look(key)) for name, key in identities.items()),
        clusters=tuple(_with_wishes(journal.clusters(keys), orders)),
        workloads=tuple(journal.workloads(keys)),
        orders=tuple(orders),
        notices=journal.notices(),
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


def _with_wishes(clusters: list[Cluster], orders: list[Order]) -> list[Cluster]:
    """A cluster with an unconfirmed delete is shown as deleting, whatever the provider's word."""
    wished = {order.target_id: order for order in orders if order.verb is Verb.DELETE}
    return [
        c.model_copy(update={"phase": ClusterPhase.DELETING, "reason": wished[c.cluster_id].note or c.reason})
        if c.cluster_id in wished
        else c
        for c in clusters
    ]
