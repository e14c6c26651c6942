"""One user's machine for one test: folders, an account, kernels that share the journal."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel

from jupyter_gpu_clusters.core import registry
from jupyter_gpu_clusters.core.accounts import Accounts
from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.journal import Journal
from jupyter_gpu_clusters.core.models import Cluster, ClusterPhase, Created, Deleted, Plan, Workload, WorkloadPhase
from jupyter_gpu_clusters.core.paths import accounts_file, data_dir, make_private
from jupyter_gpu_clusters.core.provider import CreatesClusters, Provider, RunsWorkloads
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.settings import Account, Settings
from jupyter_gpu_clusters.core.specs import build_spec

from .far_side import FarSide, Login, Received, Spec
from .searching import everything, found_in, texts_of

P = TypeVar("P", bound=Provider)
E = TypeVar("E", bound=BaseException)
T = TypeVar("T")

NAME = "demo"
_PATIENCE_S = 30.0


class _OneAccount(Accounts):
    """The account under test alone, whatever else this machine is logged in to."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def names(self) -> tuple[str, ...]:
        return (self._name,)


class World:
    """What a test holds: the far side, and this side of it as a user has it.

    `account` is the name of the account; `failures` are the errors that `fails` has caught.
    """

    def __init__(self, far_side: FarSide, folder: Path) -> None:
        self.far_side = far_side
        self.account = far_side.provider
        self.failures: list[BaseException] = []
        self.secrets: set[str] = set()
        self._folder = folder
        self._services: list[Service] = []
        self._providers: list[Provider] = []
        self.log_in(far_side.login())

    # Accounts

    def log_in(self, login: Login) -> None:
        """Write the accounts file anew, the secret into files beside it."""
        make_private(accounts_file().parent)
        table = {"provider": self.far_side.provider, **login.options}
        secret = self._stored(login)
        if secret is not None:
            table["secret"] = secret
        lines = [f"{key} = {_toml(value)}" for key, value in table.items()]
        accounts_file().write_text("\n".join([f"[accounts.{self.account}]", *lines, ""]))
        self.secrets.update(login.secrets)

    def _stored(self, login: Login) -> str | dict[str, str] | None:
        if login.secret is None:
            return None
        if isinstance(login.secret, str):
            return self._secret_file("secret", login.secret)
        return {part: self._secret_file(part, text) for part, text in login.secret.items()}

    def _secret_file(self, name: str, text: str) -> str:
        path = self._folder / f"{name}.secret"
        path.touch(0o600)
        path.write_text(text)
        return f"file:{path}"

    def settings(self) -> Account:
        """The account as the accounts file has it."""
        return Settings.load().account(self.account)

    @property
    def kind(self) -> type[Provider]:
        """The provider's class, through the registry."""
        return registry.load(self.far_side.provider)

    def provider(self, account: Account | None = None) -> Provider:
        """A provider object of its own, closed at the end."""
        made = self.kind(account or self.settings())
        self._providers.append(made)
        return made

    def able(self, base: type[P], ability: str) -> P:
        """The same as one that has an ability; skips the test with the provider's reason where it lacks it."""
        provider = self.provider()
        if not isinstance(provider, base):
            pytest.skip(f"{provider.name} lacks {ability!r}: {provider.why_not(ability)}")
        return provider

    def kernel(self) -> Service:
        """One more process's view of the journal, as far as the core can tell."""
        service = Service(Journal(data_dir()), _OneAccount(self.account))
        self._services.append(service)
        return service

    async def aclose(self) -> None:
        """Close everything that was opened."""
        for service in self._services:
            await service.aclose()
        for provider in self._providers:
            await provider.aclose()

    # Ways through the core

    def cluster_spec(self, data: Spec | None = None) -> BaseModel:
        """A spec as a face would build it."""
        provider = self.able(CreatesClusters, "create")
        return build_spec(provider.spec_model, data if data is not None else self.far_side.spec())

    async def planned(self, service: Service, name: str = NAME, data: Spec | None = None) -> Plan:
        """A plan of a new cluster."""
        return await service.plan_create(self.account, name, self.cluster_spec(data))

    async def create(
        self, service: Service, name: str = NAME, data: Spec | None = None, *, new: bool = False
    ) -> Created:
        """Plan, agree, create."""
        plan = await self.planned(service, name, data)
        return await service.create(plan, consent=consent_to(plan), new=new)

    async def a_cluster(self, service: Service) -> Cluster:
        """A cluster that is up: a new one where the provider rents them, else the first one it lists."""
        if issubclass(self.kind, CreatesClusters):
            await self.create(service)

        async def look() -> Cluster | None:
            self.far_side.settle()
            state = await service.refresh()
            assert all(view.error is None for view in state.accounts), state.accounts
            ready = (ClusterPhase.RUNNING, ClusterPhase.DEGRADED)
            up = [cluster for cluster in state.clusters if cluster.phase in ready]
            return next((cluster for cluster in up if self.far_side.given_cluster in (None, cluster.name)), None)

        return await self.until(look)

    async def end(self, service: Service, cluster: Cluster) -> Deleted:
        """Delete until it is gone; whenever that is claimed the books must agree."""

        async def once() -> Deleted | None:
            deleted = await service.delete(cluster)
            if deleted.is_gone:
                assert cluster.cluster_id not in self.far_side.clusters()
                return deleted
            assert deleted.note, "a delete that is not confirmed must say why"
            self.far_side.settle()
            return None

        return await self.until(once)

    async def submit(self, service: Service, cluster: Cluster, spec: Spec, name: str = "train") -> Workload:
        """Plan, agree, submit."""
        model = self.able(RunsWorkloads, "workloads").workload_model
        plan = await service.plan_submit(cluster, name, build_spec(model, spec))
        return (await service.submit(plan, consent=consent_to(plan))).workload

    async def in_phase(self, service: Service, workload: Workload, *phases: WorkloadPhase) -> Workload:
        """The workload once it is in one of these phases."""

        async def look() -> Workload | None:
            self.far_side.settle()
            state = await service.refresh()
            return next(
                (w for w in state.workloads if w.workload_id == workload.workload_id and w.phase in phases), None
            )

        return await self.until(look)

    # Watching

    def made(self, verb: str) -> list[Received]:
        """The writes of one kind that reached the far side."""
        return [one for one in self.far_side.received() if one.verb == verb]

    async def fails(self, kind: type[E], work: Awaitable[object]) -> E:
        """The error that `work` ends with. Its traceback begins here, so that it shows no variables of the test."""
        try:
            await work
        except kind as exc:
            self.failures.append(exc)
            return exc
        raise AssertionError(f"no {kind.__name__} was raised")

    async def until(self, look: Callable[[], Awaitable[T | None]]) -> T:
        """The first answer that is not ``None``; fails the test after 30 s."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            answer = await look()
            if answer is not None:
                return answer
            assert time.monotonic() < deadline, f"not within {_PATIENCE_S:.0f} s: {look.__qualname__}"
            await asyncio.sleep(0.05)

    def files(self) -> dict[Path, str]:
        """What this package wrote, as text."""
        return dict(texts_of(data_dir(), but=self.far_side.folders()))

    def leaks(self, lines: list[str], files: Mapping[Path, str]) -> list[str]:
        """Where secrets of accounts can be seen: in log lines, in files, in tracebacks with all their variables."""
        found = [f"log: {form}" for form in found_in("\n".join(lines), self.secrets)]
        for path, text in files.items():
            found += [f"{path.name}: {form}" for form in found_in(text, self.secrets)]
        for exc in self.failures:
            found += [f"{type(exc).__name__}: {form}" for form in found_in(everything(exc), self.secrets)]
        return found


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)
