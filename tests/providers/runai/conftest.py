"""The provider against the simulated service, on a real port, every request and answer held to the contract."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import SecretStr

from jupyter_gpu_clusters.core.models import Cluster, Order, Plan, Workload
from jupyter_gpu_clusters.core.names import marked_name
from jupyter_gpu_clusters.core.processes import this_process
from jupyter_gpu_clusters.core.settings import Account
from jupyter_gpu_clusters.core.specs import build_spec
from jupyter_gpu_clusters.providers.runai.launcher import RunaiLauncher
from jupyter_gpu_clusters.providers.runai.provider import RunaiProvider
from jupyter_gpu_clusters.providers.runai.spec import RunaiWorkload
from jupyter_gpu_clusters.sandbox.runai import Runai
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox, make_sandbox, switchboard

__all__ = ["make_sandbox", "switchboard"]

VISION, SPEECH, MUSEUM, VAULT = "4500012", "4500013", "4500015", "4500099"
SMALL: dict[str, Any] = {"project": "vision", "nodes": 2, "gpus_per_node": 8, "image": "pytorch:2.6"}
TRAIN: dict[str, Any] = {**SMALL, "command": ["python", "train.py"]}


class Runner:
    """A provider in front of a sandbox, and short ways to use it."""

    def __init__(self, sandbox: CheckedSandbox, **changes: Any) -> None:
        self.sandbox = sandbox
        known = sandbox.variables()
        options = {"base_url": known["RUNAI_URL"], "client_id": known["RUNAI_CLIENT_ID"], **changes}
        account = Account(name="runai", provider="runai", options={k: v for k, v in options.items() if v is not None})
        self.account = account.with_secret(SecretStr(known["RUNAI_CLIENT_SECRET"]))
        self.provider = RunaiProvider(self.account)

    async def cluster(self, name: str = "gpu-east") -> Cluster:
        found = await self.provider.list_clusters()
        return next(cluster for cluster in found.items if cluster.name == name)

    async def launcher(self, name: str = "gpu-east") -> RunaiLauncher:
        return self.provider.launcher(await self.cluster(name))

    async def plan(self, spec: dict[str, Any], name: str = "train", on: str = "gpu-east") -> Plan:
        launcher = await self.launcher(on)
        return await launcher.plan_workload(name, build_spec(RunaiWorkload, spec), "digest")

    async def submit(self, spec: dict[str, Any] | None = None, name: str = "train") -> tuple[Workload, Order]:
        plan = await self.plan(TRAIN if spec is None else spec, name)
        order = order_of(plan)
        return await (await self.launcher()).submit_workload(plan, order), order

    async def running(self, **changes: Any) -> Workload:
        workload, _ = await self.submit({**TRAIN, **changes})
        self.sandbox.advance(60)
        return workload

    def books(self) -> dict[str, Any]:
        found: dict[str, Any] = self.sandbox.books()["services"]["runai"]
        return found

    def alive(self) -> list[str]:
        return [row["id"] for row in self.books()["alive"]]

    def sent(self, method: str, ending: str = "") -> list[dict[str, Any]]:
        rows = self.sandbox.requests()
        return [row for row in rows if row["method"] == method and row["path"].endswith(ending)]

    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(row["body"]) for row in self.sent("POST", "/workloads/distributed")]


def order_of(plan: Plan, mark: str = "ab12cdefgh") -> Order:
    return Order(
        order_id="order1",
        verb=plan.verb,
        provider=plan.provider,
        account=plan.account,
        identity_key=plan.identity_key,
        name=plan.name,
        remote_name=marked_name(plan.name, mark) if plan.marks_name else plan.name,
        mark=mark,
        idempotency_key="order1",
        spec_digest=plan.spec_digest,
        shown=plan.shown,
        target_id=plan.target_id,
        sender=this_process(),
    )


@pytest.fixture
def sandbox(make_sandbox: MakeSandbox) -> CheckedSandbox:
    return make_sandbox(services=[Runai], start=time.time())


@pytest.fixture
async def runai(sandbox: CheckedSandbox) -> AsyncIterator[Runner]:
    runner = Runner(sandbox)
    yield runner
    await runner.provider.aclose()
