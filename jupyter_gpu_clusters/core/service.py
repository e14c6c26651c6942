"""The verbs that every face calls. All async parts run on one event loop.

Building a plan never spends. `Service.create`, `scale` and `submit` take only plans, check the consent and go
through `orders`, so dry run, consent, journal and safe retry are one path for every provider and every face.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from anyio import to_thread
from pydantic import BaseModel, SecretStr

from . import login
from .accounts import Accounts
from .choices import Choice, LookUp
from .errors import GpuClustersError, SettingsError
from .journal import Journal
from .login import Place
from .look import failure_of
from .models import (
    AccountStatus,
    Cluster,
    Details,
    Listing,
    OfferListing,
    State,
    Workload,
)
from .names import match_clusters, match_workloads, only_one
from .nearest import did_you_mean
from .paths import data_dir
from .provider import CreatesClusters, KeepsSshKeys, ListsOffers, LooksUp, Provider, RunsWorkloads, ShowsDetails
from .service_access import AccessVerbs
from .service_clusters import ClusterVerbs
from .service_recovery import RecoveryVerbs
from .service_workloads import WorkloadVerbs
from .ssh_keys import same_key


class Service(ClusterVerbs, WorkloadVerbs, AccessVerbs, RecoveryVerbs):
    """One per process and event loop. Opening it does no I/O beyond reading the accounts file."""

    @classmethod
    def open(cls) -> Service:
        """The service of this user: journal and accounts in Jupyter's own folders.

        Raises
        ------
        SettingsError : the accounts file has mistakes.
        """
        return cls(Journal(data_dir()), Accounts())

    async def aclose(self) -> None:
        """Stop watching, let running writes record their answers (bounded), close everything."""
        await self._watching.aclose()
        await self._orders.aclose()
        await self._accounts.aclose()
        await to_thread.run_sync(self._journal.close)

    # Accounts and what they offer

    def account_names(self) -> tuple[str, ...]:
        """All accounts; ``local`` is always there."""
        return self._accounts.names()

    def provider_class(self, account: str) -> type[Provider]:
        """The provider class of an account (imported at first use).

        Raises
        ------
        SettingsError : no such account; the nearest name is offered.
        """
        return self._accounts.provider_class(account)

    def spec_model(self, account: str) -> type[BaseModel]:
        """The model of what can be asked for in a new cluster.

        Raises
        ------
        NotSupportedError : the provider rents nothing; the message says why.
        """
        return self._accounts.able(account, CreatesClusters, "create").spec_model

    def workload_model(self, account: str) -> type[BaseModel]:
        """The model of what can be asked for in a workload; raises like `spec_model`."""
        return self._accounts.able(account, RunsWorkloads, "workloads").workload_model

    async def check_accounts(self, names: Sequence[str] = ()) -> list[AccountStatus]:
        """Whether these accounts (all by default) work, and where each secret comes from; all are asked at once."""
        return await asyncio.gather(*(self._check(name) for name in names or self.account_names()))

    async def _check(self, name: str) -> AccountStatus:
        try:
            provider = self._accounts.provider(name)
        except SettingsError as exc:
            kind = self._accounts.account(name).provider
            return AccountStatus(account=name, provider=kind, is_usable=False, detail=" ".join(exc.lines()))
        status = await provider.check_account()
        if provider.account.is_sandbox:
            return status.model_copy(update={"detail": f"sandbox; {status.detail}"})
        return status

    async def log_in(
        self,
        name: str,
        provider: str | None,
        options: Mapping[str, str],
        secrets: Mapping[str, SecretStr],
        place: Place | None = None,
    ) -> AccountStatus:
        """Check a secret that was typed and, if it works, store it; parameters as in `login`.

        Raises
        ------
        AuthError : it does not work; nothing was stored.
        SettingsError : the account cannot be like this, or the secret cannot be stored.
        """
        account = login.candidate(name, provider, options, secrets)
        status, origin = await login.check(account)
        before, living = await self._living(name)
        kept = await to_thread.run_sync(login.keep, account, origin, place or login.usual_place())
        changes = {"credential": kept}
        if living and before != (await self._accounts.provider(name).identity()).key:
            changes["detail"] = (
                f"{status.detail} Clusters and open orders under the earlier settings: {living}. They may bill; "
                "what these settings do not show is still told by `%cluster_recover`."
            )
        return status.model_copy(update=changes)

    async def _living(self, name: str) -> tuple[str, int]:
        """The identity of an account as it is now, and how many things of it may cost."""
        if name not in self.account_names():
            return "", 0
        identity = (await self._accounts.provider(name).identity()).key
        clusters = await to_thread.run_sync(self._journal.clusters, [identity])
        orders = await to_thread.run_sync(self._journal.open_orders, identity)
        return identity, sum(not one.is_free for one in clusters) + len(orders)

    async def offers(self, names: Sequence[str] = ()) -> list[OfferListing]:
        """What can be rented now, account by account, all asked at once; a failing one does not hide the others."""
        return await asyncio.gather(*(self._offers_of(name) for name in names or self.account_names()))

    async def _offers_of(self, name: str) -> OfferListing:
        kind = self._accounts.account(name).provider
        try:
            listing = await self._accounts.able(name, ListsOffers, "offers").list_offers()
        except GpuClustersError as exc:
            return OfferListing(account=name, provider=kind, error=failure_of(exc))
        return OfferListing(account=name, provider=kind, offers=listing.items)

    def look_ups(self, account: str) -> Mapping[str, LookUp]:
        """The lists of choices that the account's provider can look up; raises `NotSupportedError`."""
        return self._accounts.able(account, LooksUp, "choices").look_ups

    async def choices(self, account: str, look_up: str, given: Mapping[str, Any]) -> Listing[Choice]:
        """What may be chosen for a field; parameters as in `LooksUp.list_choices`.

        Raises
        ------
        SettingsError : there is no such look-up (the nearest is offered), or something it needs is not filled in.
        """
        provider = self._accounts.able(account, LooksUp, "choices")
        if look_up in provider.look_ups:
            return await provider.list_choices(look_up, given)
        raise SettingsError(
            f"{account} has no list of {look_up!r}.{did_you_mean(look_up, provider.look_ups)}",
            hint=f"It has: {', '.join(provider.look_ups)}.",
        )

    async def ssh_keys(self, account: str) -> Listing[Choice]:
        """The public keys that the account's provider keeps; raises `NotSupportedError`."""
        return await self._accounts.able(account, KeepsSshKeys, "ssh_keys").list_ssh_keys()

    async def add_ssh_key(self, account: str, label: str, public_key: str) -> tuple[Choice, bool]:
        """Let the provider keep one more public key; one that is there already is found, not added.

        Returns
        -------
        The key as a choice, and whether it was added now.
        """
        provider = self._accounts.able(account, KeepsSshKeys, "ssh_keys")
        for choice in (await provider.list_ssh_keys()).items:
            if same_key(str(choice.detail.get("public_key") or ""), public_key):
                return choice, False
        return await provider.add_ssh_key(label, public_key), True

    async def details(self, thing: Cluster | Workload, kind: str) -> Details:
        """One of the provider's own tables about a cluster or a workload.

        Raises
        ------
        SettingsError : there is no such table; the nearest is offered.
        """
        provider = self._accounts.able(thing.account, ShowsDetails, "details")
        kinds = provider.cluster_details if isinstance(thing, Cluster) else provider.workload_details
        if kind in kinds:
            return await provider.show_details(thing, kind)
        raise SettingsError(
            f"{thing.account} has no details {kind!r}.{did_you_mean(kind, kinds)}",
            hint=f"It has: {', '.join(kinds) or 'none'}.",
        )

    # Knowing

    def note_attention(self) -> None:
        """Somebody is looking now: watchers of this process poll at the steady pace for the next minute."""
        self._watching.note_attention()

    def watch(self) -> AsyncGenerator[State, None]:
        """The state now and at every change; the watchers of all accounts run while it is iterated."""
        return self._watching.states()

    def watch_cluster(self, cluster: Cluster) -> AsyncGenerator[Cluster, None]:
        """The cluster now and at every change; ends when it is deleted."""
        return self._watching.cluster(cluster)

    def watch_workload(self, workload: Workload) -> AsyncGenerator[Workload, None]:
        """The workload now and at every change; ends after its final phase."""
        return self._watching.workload(workload)

    async def find_cluster(self, ref: str) -> Cluster:
        """The cluster called `ref` (``demo``, ``local/demo`` or an id); looks again when it is not known.

        Raises
        ------
        NotFoundError : there is none; the nearest name is offered.
        NameTakenError : several; their full names are given.
        """
        state = await self.state()
        if not match_clusters(state, ref):
            state = await self.refresh()
        return only_one(match_clusters(state, ref), ref, "cluster", [c.full_name for c in state.clusters])

    async def find_workload(self, ref: str) -> Workload:
        """The workload called `ref`; of several runs of one name a live one, else the newest. Raises like above."""
        state = await self.state()
        if not match_workloads(state, ref):
            state = await self.refresh()
        found = only_one(match_workloads(state, ref), ref, "workload", [w.full_name for w in state.workloads])
        if found.phase.is_final:
            return found
        return await self._fresh(found)

    async def _fresh(self, workload: Workload) -> Workload:
        launcher, identity = await self._launcher_of(workload)
        answer = await launcher.get_workload(workload.workload_id)
        if answer.item is None:
            return workload
        item = await to_thread.run_sync(self._journal.known_workload, identity, answer.item)
        await to_thread.run_sync(self._journal.put_workload, identity, item)
        return item
