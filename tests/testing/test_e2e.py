"""The contract suite against E2E TIR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import pytest

from jupyter_gpu_clusters.core.models import Verb
from jupyter_gpu_clusters.sandbox.e2e import E2E
from jupyter_gpu_clusters.testing import FarSide, Login, ProviderContract, Thing
from jupyter_gpu_clusters.testing.far_side import Block, Spec
from jupyter_gpu_clusters.testing.searching import PLANTED
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox

from .sandbox_side import SandboxSide

_HERE = "Delhi"
_KEY, _GROUP = "suite-key", "suite-group"
_ONE = "/distributed_jobs_v2/cluster/{id}/"


class E2ESide(SandboxSide):
    """A project in Delhi, with a credential whose halves are hard to hide."""

    provider = "e2e"
    settle_s: ClassVar[float] = 400.0
    unknown_id = "Delhi/999999"
    reasons: ClassVar[Mapping[str, str]] = {
        "hiding_member": "E2E lists no nodes.",
        "short_workload": "E2E has no API for jobs.",
    }

    def __init__(self, sandbox: CheckedSandbox) -> None:
        super().__init__(sandbox)
        known = sandbox.variables()
        self._project = int(known["E2E_TIR_PROJECT_ID"])
        self._options = {"base_url": known["E2E_TIR_API_HOST"], "project_id": self._project}
        self._halves = {"api_key": PLANTED, "auth_token": f"{PLANTED}-token"}
        sandbox.setup("e2e", credential={"label": "suite", "api_key": PLANTED, "token": f"{PLANTED}-token"})
        sandbox.setup("e2e", ssh_key={"location": _HERE, "pk": 7399, "label": _KEY})
        sandbox.setup(
            "e2e", security_group={"project_id": self._project, "location": _HERE, "id": 5599, "name": _GROUP}
        )
        sandbox.setup(
            "e2e", security_group={"project_id": self._project, "location": _HERE, "id": 5598, "name": "first"}
        )

    def login(self) -> Login:
        return Login(self._options, self._halves)

    def other_logins(self) -> Mapping[str, Login]:
        return {
            "key": Login(self._options, {**self._halves, "api_key": PLANTED[::-1]}),
            "token": Login(self._options, {**self._halves, "auth_token": PLANTED[::-1]}),
            "project": Login({**self._options, "project_id": self._project + 1}, self._halves),
            "address": Login({**self._options, "base_url": "http://127.0.0.1:9"}, self._halves),
        }

    def wrong_login(self) -> Login:
        return Login(self._options, {**self._halves, "auth_token": PLANTED[::-1]})

    def unreachable_login(self) -> Login:
        return Login({**self._options, "base_url": "http://127.0.0.1:9"}, self._halves)

    def clusters(self) -> Mapping[str, Thing]:
        rows = [row for row in self.books["alive"] if row.get("kind") == "cluster"]
        return {f"{row['location']}/{row['id']}": Thing(row["name"], row["nodes"]) for row in rows}

    def spec(self) -> Spec:
        return {"gpu": "H100", "nodes": 2, "image": "ubuntu-slurm", "ssh_keys": [_KEY], "security_group": "first"}

    def other_spec(self) -> Spec:
        return {**self.spec(), "nodes": 1}

    def impossible_spec(self) -> tuple[Spec, str, Sequence[str]]:
        spec = {**self.spec(), "gpu": "H9000", "image": "ubuntu-slurn", "ssh_keys": ["nobody"]}
        return spec, "No Name", ["name", "gpu", "image", "ssh_keys"]

    def secret_spec(self, secret: str) -> Spec:
        return {**self.spec(), "lifecycle_script": f"#!/bin/sh\nexport TOKEN={secret}\n"}

    def make_foreign(self, name: str) -> str:
        body = {
            "name": f"{name}-zzzz000000",
            "image_version_id": 57,
            "ssh_key_ids": [7399],
            "security_group_id": 5598,
            "sku_id": 412,
            "no_of_nodes": 1,
            "sku_item_price_id": 8721,
        }
        wanted = {"project_id": self._project, "location": _HERE, "body": body}
        return f"{_HERE}/{self.sandbox.setup('e2e', cluster=wanted)['cluster']}"

    def action_specs(self) -> Mapping[str, Spec]:
        (ip,) = [row["id"] for row in self.books["alive"] if row.get("kind") == "reserved_ip"][:1]
        return {
            "restart_workers": {},
            "restart_cluster": {},
            "update_ssh_keys": {"ssh_keys": [_KEY], "replace": True},
            "update_image": {"image_version_id": 58},
            "attach_ip": {"reserved_ip_id": int(ip)},
            "detach_ip": {"reserved_ip_id": int(ip)},
            "add_security_group": {"security_groups": [_GROUP]},
            "remove_security_group": {"security_group": _GROUP},
        }

    def choices_given(self) -> Spec:
        return {"location": _HERE, "sku": "SX.8xH100-224.1800GB"}

    def refusing_writes(self, verb: Verb) -> Block:
        return self.fault(kind="status", status=400, shape="fields", action="create", text="no such image")

    def hiding(self, cluster_id: str) -> Block:
        return self.fault(kind="hide_rows", action="list", ids=[cluster_id.partition("/")[2]])

    def listing_incompletely(self) -> Block:
        """One location shows nothing, the other cannot be read."""
        return self.faults(
            {"kind": "empty_list", "action": "list", "query": {"location": _HERE}},
            {"kind": "status", "status": 501, "action": "list", "query": {"location": "Chennai"}},
        )

    def using_unknown_words(self, word: str) -> Block:
        return self.faults(
            {"kind": "mutate", "action": "list", "ops": [{"op": "set", "path": "/data/*/status", "value": word}]},
            {
                "kind": "mutate",
                "method": "GET",
                "path": _ONE,
                "ops": [{"op": "set", "path": "/data/status", "value": word}],
            },
        )


class TestE2E(ProviderContract):
    @pytest.fixture
    def far_side(self, make_sandbox: MakeSandbox) -> FarSide:
        return E2ESide(make_sandbox(services=[E2E]))
