"""The contract suite against Lium."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest

from jupyter_gpu_clusters.core.models import Verb
from jupyter_gpu_clusters.sandbox.lium import Lium
from jupyter_gpu_clusters.testing import FarSide, Login, ProviderContract, Thing
from jupyter_gpu_clusters.testing.far_side import Block, Spec
from jupyter_gpu_clusters.testing.searching import PLANTED
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox
from tests.sandbox.lium.renter import PUBLIC_KEY, Renter

from .sandbox_side import SandboxSide


class LiumSide(SandboxSide):
    """A market with one fabric of six nodes, and an API key that is hard to hide."""

    provider = "lium"
    settle_s: ClassVar[float] = 120.0
    unknown_id = "00000000-0000-4000-8000-000000000000"
    reasons: ClassVar[Mapping[str, str]] = {
        "listing_incompletely": "a listing of pods has no sign by which it could say so.",
        **dict.fromkeys(
            ("workloads", "short_workload", "long_workload", "secret_workload"),
            "its pods have no machines behind them; tests/engines rents some that have.",
        ),
    }

    def __init__(self, sandbox: CheckedSandbox) -> None:
        super().__init__(sandbox)
        self._options = {"base_url": sandbox.variables()["LIUM_BASE_URL"]}
        sandbox.setup("lium", key={"name": "suite", "secret": PLANTED})

    def login(self) -> Login:
        return Login(self._options, PLANTED)

    def other_logins(self) -> Mapping[str, Login]:
        return {
            "key": Login(self._options, PLANTED[::-1]),
            "address": Login({"base_url": "http://127.0.0.1:9/lium/api"}, PLANTED),
        }

    def wrong_login(self) -> Login:
        return Login(self._options, PLANTED[::-1])

    def unreachable_login(self) -> Login:
        return Login({"base_url": "http://127.0.0.1:9/lium/api"}, PLANTED)

    def _members(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        found: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for pod in self.books["alive"]:
            found[pod["cluster_id"] or f"pod/{pod['id']}"].append(pod)
        return found

    def clusters(self) -> Mapping[str, Thing]:
        return {cluster_id: Thing(pods[0]["name"], len(pods)) for cluster_id, pods in self._members().items()}

    def spec(self) -> Spec:
        return {"gpu": "H100", "nodes": 2, "user_public_key": [PUBLIC_KEY]}

    def other_spec(self) -> Spec:
        return {**self.spec(), "termination_hours": 5}

    def impossible_spec(self) -> tuple[Spec, str, Sequence[str]]:
        spec = {**self.spec(), "gpu": "H9000", "template": "no-such-template", "volume": "no-such-volume"}
        return spec, "x" * 300, ["name", "nodes", "template", "volume"]

    def secret_spec(self, secret: str) -> Spec:
        return {**self.spec(), "nodes": 1, "dockerfile_content": f"FROM scratch\nENV TOKEN={secret}\n"}

    def make_foreign(self, name: str) -> str:
        before = set(self.clusters())
        key = self.sandbox.setup("lium", key={"name": "colleague"})["key"]
        Renter(self.sandbox, key["secret"]).rent(2, pod_name=f"{name}-zzzz000000")
        (made,) = set(self.clusters()) - before
        return made

    def action_specs(self) -> Mapping[str, Spec]:
        return {
            "schedule_removal": {"hours": 5},
            "cancel_removal": {},
            "feedback": {"feedback_text": "fine", "rating": 5},
            "install_jupyter": {"jupyter_internal_port": 8888},
            "backup": {"name": "suite"},
            "restore": {"backup_id": self._backup(), "restore_path": "/root/restored"},
            "reset_gpu": {"node": 0},
            "switch_template": {"template": self._template()},
            "reboot": {"node": 1},
        }

    def _backup(self) -> str:
        rows = Renter(self.sandbox, PLANTED).api.get("/backup-logs/").json()
        found = rows if isinstance(rows, list) else next(value for value in rows.values() if isinstance(value, list))
        return str(found[0]["id"]) if found else self.unknown_id

    def _template(self) -> str:
        return str(Renter(self.sandbox, PLANTED).api.get("/templates").json()[0]["id"])

    def choices_given(self) -> Spec:
        return self.spec()

    def refusing_writes(self, verb: Verb) -> Block:
        return self.fault(kind="status", status=400, shape="in_band", action="create", text="no such image")

    def hiding(self, cluster_id: str) -> Block:
        return self.fault(kind="hide_rows", action="list", ids=[pod["id"] for pod in self._members()[cluster_id]])

    def hiding_member(self, cluster_id: str) -> Block:
        return self.fault(kind="hide_rows", action="list", ids=[self._members()[cluster_id][-1]["id"]])

    def using_unknown_words(self, word: str) -> Block:
        ops = [{"op": "set", "path": "/*/status", "value": word}]
        one = [{"op": "set", "path": "/status", "value": word}]
        return self.faults(
            {"kind": "mutate", "action": "list", "ops": ops},
            {"kind": "mutate", "method": "GET", "path": "/pods/{id}", "ops": one},
        )


class TestLium(ProviderContract):
    @pytest.fixture
    def far_side(self, make_sandbox: MakeSandbox) -> FarSide:
        return LiumSide(make_sandbox(services=[Lium], choices={"lium.nodes": "6"}))
