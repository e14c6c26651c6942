"""Run:ai as the matrix has it: one cluster, distributed workloads of a colleague, and more than one page of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import urlencode

from .cases import KEY, PROJECT, SAME
from .scene import COLLEAGUE, THEIR_MARK, Account, Alive, Making, Scene

_SUBMIT = """%%workload_submit gpu-east --name fire --yes
nodes: 2
gpus_per_node: 1
image: "example/image:1"
command: ["sleep", "600"]"""
_PREFIX = "/runai"
_LIVE = ("Creating", "Pending", "Initializing", "Running", "Degraded", "Updating", "Resuming", "Stopping", "Stopped")
_PROJECT = "4500012"


class RunaiScene(Scene):
    """The far side of a case on Run:ai."""

    service = "runai"
    choices: ClassVar[Mapping[str, str]] = {
        "runai.run_seconds": "1000000",
        "runai.token_seconds": "1000000",
        "runai.one_sided_policy": "works",
        "runai.preemption": "none",
    }

    def __init__(self, case: Any) -> None:
        super().__init__(case)
        known = self.sandbox.variables()
        self._client, self._secret = known["RUNAI_CLIENT_ID"], known["RUNAI_CLIENT_SECRET"]
        self._second = self.sandbox.setup("runai", credential={"client_id": "svc-second"})["credential"]["secret"]
        self._theirs = self.sandbox.setup("runai", credential={"client_id": COLLEAGUE})["credential"]["secret"]

    def accounts(self) -> Mapping[str, Account]:
        options = {"base_url": self.url + _PREFIX, "client_id": self._client, "project": "vision"}
        return {
            SAME: Account(options, self._secret),
            KEY: Account({**options, "client_id": "svc-second"}, self._second),
            PROJECT: Account({**options, "project": "robots"}, self._secret),
        }

    def prepare(self) -> Sequence[str]:
        look = ["%cluster_list"]
        return {
            "submit": look,
            "suspend": [*look, _SUBMIT, "%workload_list"],
            "resume": [*look, _SUBMIT, "%workload_list", "%workload_suspend fire", "%workload_list"],
            "cancel": [*look, _SUBMIT, "%workload_list"],
        }[self.case.verb]

    @property
    def write(self) -> str:
        return _SUBMIT if self.case.verb == "submit" else f"%workload_{self.case.verb} fire"

    def plant(self) -> None:
        for name in ("firefly", f"fire-cold-{THEIR_MARK}", "first-of-all", "second-of-all"):
            self._plant(name)

    def plant_alike(self) -> None:
        self._plant(f"fire-{THEIR_MARK}")

    def _plant(self, name: str) -> None:
        form = {"grant_type": "client_credentials", "client_id": COLLEAGUE, "client_secret": self._theirs}
        inventory: Any = vars(self.sandbox.services["runai"])["_inventory"]
        project = inventory.projects[_PROJECT]
        spec = {"image": "example/image:1", "numWorkers": 1, "distributedFramework": "PyTorch"}
        body = {"name": name, "projectId": _PROJECT, "clusterId": project.cluster.id, "spec": spec}
        self.sandbox.choose({"runai.token_v2": "present"})
        with self.without_faults():
            typed = {"Content-type": "application/x-www-form-urlencoded"}
            told = self.ask("POST", f"{_PREFIX}/api/v2/token", urlencode(form).encode(), typed)
            bearer = {"Authorization": f"Bearer {told['access_token']}"}
            self.ask("POST", f"{_PREFIX}/api/v1/workloads/distributed", body, bearer)

    def alive(self) -> list[Alive]:
        rows = self.sandbox.books()["services"]["runai"]["alive"]
        return [Alive(row["id"], row["name"], row["phase"] in _LIVE) for row in rows]

    def made(self) -> list[Making]:
        return [
            Making(entry["seq"], tuple(entry["made"]))
            for entry in self.entries()
            if entry["action"] == "submit" and entry["made"]
        ]

    def is_done(self, target: str) -> bool:
        phases = {row["id"]: row["phase"] for row in self.sandbox.books()["services"]["runai"]["alive"]}
        return {
            "suspend": phases.get(target) in ("Stopping", "Stopped"),
            "resume": phases.get(target) in ("Resuming", "Pending", "Initializing", "Running"),
            "cancel": phases.get(target) in (None, "Deleting"),
        }[self.case.verb]

    @property
    def action(self) -> str:
        return {"submit": "submit", "cancel": "delete"}.get(self.case.verb, "change")

    def errors_with_id(self) -> list[dict[str, Any]]:
        return [
            {"op": "set", "path": "/error", "value": "internal"},
            {"op": "set", "path": "/message", "value": "Something went wrong"},
        ]
