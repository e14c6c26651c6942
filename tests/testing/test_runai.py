"""The contract suite against Run:ai: clusters are given, workloads are started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import pytest

from jupyter_gpu_clusters.core.models import Verb
from jupyter_gpu_clusters.sandbox.runai import Runai
from jupyter_gpu_clusters.testing import FarSide, Login, ProviderContract, Thing
from jupyter_gpu_clusters.testing.far_side import Block, Spec
from jupyter_gpu_clusters.testing.searching import PLANTED
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox

from .sandbox_side import SandboxSide

_SMALL: Spec = {"nodes": 2, "gpus_per_node": 1, "image": "pytorch:2.6", "command": ["python", "train.py"]}
_OVER = ("Completed", "Failed", "Deleting", "Deleted")
_FOR_EVER_S = "100000000"


class RunaiSide(SandboxSide):
    """A control plane with a service account whose secret is hard to hide."""

    provider = "runai"
    settle_s: ClassVar[float] = 25.0
    no_writes = ("/api/v1/token", "/api/v2/token")
    unknown_id = "00000000-0000-4000-8000-000000000000"
    given_cluster = "gpu-east"
    reasons: ClassVar[Mapping[str, str]] = {
        "hiding_member": "nodes of a cluster are not its members: they come and go.",
        "listing_incompletely": "the listing of clusters is one answer, whole or an error.",
    }

    def __init__(self, sandbox: CheckedSandbox) -> None:
        super().__init__(sandbox)
        known = sandbox.variables()
        self._options = {"base_url": known["RUNAI_URL"], "client_id": "suite", "project": "vision"}
        sandbox.setup("runai", credential={"client_id": "suite", "secret": PLANTED})

    def login(self) -> Login:
        return Login(self._options, PLANTED)

    def other_logins(self) -> Mapping[str, Login]:
        return {
            "secret": Login(self._options, PLANTED[::-1]),
            "client": Login({**self._options, "client_id": "other"}, PLANTED),
            "address": Login({**self._options, "base_url": "http://127.0.0.1:9/other"}, PLANTED),
        }

    def wrong_login(self) -> Login:
        return Login(self._options, PLANTED[::-1])

    def unreachable_login(self) -> Login:
        return Login({**self._options, "base_url": "http://127.0.0.1:9"}, PLANTED)

    def clusters(self) -> Mapping[str, Thing]:
        service = self.sandbox.services["runai"]
        assert isinstance(service, Runai)
        return {cluster.id: Thing(cluster.name) for cluster in service._inventory.clusters.values()}

    def choices_given(self) -> Spec:
        return {"project": "vision"}

    def workloads(self) -> Mapping[str, Thing]:
        return {row["id"]: Thing(row["name"]) for row in self.books["alive"] if row["phase"] not in _OVER}

    def long_workload(self) -> Spec:
        return _SMALL

    def short_workload(self) -> tuple[Spec, str]:
        return {**_SMALL, "command": ["python", "short.py"]}, "step"

    def finish_workloads(self) -> None:
        for workload_id in self.workloads():
            self.sandbox.setup("runai", finish={"id": workload_id})

    def secret_workload(self, secret: str) -> Spec:
        return {**_SMALL, "command": None, "script": f"#!/bin/sh\n# {secret}\ntrue\n", "env": {"TOKEN": secret}}

    def refusing_writes(self, verb: Verb) -> Block:
        return self.fault(kind="status", status=400, action="submit", text="no such image")

    def failing_listings(self) -> Block:
        return self.fault(kind="status", status=501, method="GET", path="/api/v1/*")

    def hiding(self, cluster_id: str) -> Block:
        return self.fault(kind="hide_rows", path="/api/v1/clusters*", id_key="uuid", ids=[cluster_id])

    def using_unknown_words(self, word: str) -> Block:
        ops = [
            {"op": "set", "path": path, "value": word}
            for path in ("/workloads/*/phase", "/*/status/state", "/clusters/*/status/state", "/status/state")
        ]
        return self.fault(kind="mutate", ops=ops)


class TestRunai(ProviderContract):
    @pytest.fixture
    def far_side(self, make_sandbox: MakeSandbox) -> FarSide:
        return RunaiSide(make_sandbox(services=[Runai], choices={"runai.run_seconds": _FOR_EVER_S}))
