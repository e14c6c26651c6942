"""Lium as the matrix has it: a fabric of eight nodes, of which others rent some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from .cases import KEY, SAME
from .scene import COLLEAGUE, THEIR_MARK, Account, Alive, Making, Scene

_PUBLIC = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample me"
_CREATE = f"""%%cluster_create lium --name fire --yes
gpu: H100
nodes: 2
user_public_key: ["{_PUBLIC}"]
termination_hours: 48"""
_PREFIX = "/lium/api"


class LiumScene(Scene):
    """The far side of a case on Lium."""

    service = "lium"
    hidden_member: ClassVar[int] = 1
    choices: ClassVar[Mapping[str, str]] = {
        "lium.nodes": "8",
        "lium.names": "free",
        "lium.pod_polls_per_minute": "1000000",
        "lium.zero_balance": "keep",
    }

    def __init__(self, case: Any) -> None:
        super().__init__(case)
        self.sandbox.setup("lium", balance=100000)
        self._key = self.sandbox.variables()["LIUM_API_KEY"]
        self._theirs = self.sandbox.setup("lium", key={"name": COLLEAGUE})["key"]["secret"]
        self._strange = self.sandbox.setup("lium", account="Eve", balance=100000, key={"name": "own"})["key"]["secret"]

    def accounts(self) -> Mapping[str, Account]:
        options = {"base_url": self.url + _PREFIX}
        return {SAME: Account(options, self._key), KEY: Account(options, self._strange)}

    def prepare(self) -> Sequence[str]:
        return [] if self.case.verb == "create" else [_CREATE]

    @property
    def write(self) -> str:
        return {
            "create": _CREATE,
            "schedule removal": "%cluster_action fire schedule_removal --at 2100-01-01T00:00:00Z --yes",
            "delete": "%cluster_delete fire --yes --timeout 0",
        }[self.case.verb]

    def plant(self) -> None:
        self._plant("firefly", [one for one in self._hosts() if one.gpu_count == 1])

    def plant_alike(self) -> None:
        members = self._state.inventory.fabrics[0].members
        self._plant(f"fire-{THEIR_MARK}", [one for one in members if self._state.free_gpus(one)][-2:])

    def _hosts(self) -> list[Any]:
        return list(self._state.inventory.executors.values())

    @property
    def _state(self) -> Any:
        return vars(self.sandbox.services["lium"])["state"]

    def _plant(self, name: str, hosts: Sequence[Any]) -> None:
        body: dict[str, Any] = {"pod_name": name, "user_public_key": [_PUBLIC]}
        path = f"/executors/{hosts[0].id}/rent"
        if len(hosts) > 1:
            path, body["executor_uuids"] = "/executors/cluster/rent", [one.id for one in hosts]
        with self.without_faults():
            self.ask("POST", _PREFIX + path, body, {"X-API-Key": self._theirs})

    def alive(self) -> list[Alive]:
        groups: dict[str, list[dict[str, Any]]] = {}
        for row in self.sandbox.books()["services"]["lium"]["alive"]:
            groups.setdefault(row["cluster_id"] or f"pod/{row['id']}", []).append(row)
        return [
            Alive(one, pods[0]["name"], any(pod["billing"] for pod in pods), len(pods)) for one, pods in groups.items()
        ]

    def made(self) -> list[Making]:
        pods = self._state.pods
        return [
            Making(entry["seq"], tuple(sorted({pods[one].cluster_id or f"pod/{one}" for one in entry["made"]})))
            for entry in self.entries()
            if entry["action"] == "create" and entry["made"]
        ]

    def parts(self, target: str) -> Sequence[str]:
        return [target, *(one.id for one in self._state.pods.values() if one.cluster_id == target)]

    def is_done(self, target: str) -> bool:
        rows = [row for row in self.sandbox.books()["services"]["lium"]["alive"] if row["cluster_id"] == target]
        if self.case.verb == "delete":
            return not any(row["billing"] for row in rows)
        ends = [row["removal_at"] for row in rows]
        return bool(ends) and all(end is not None and end > 4_000_000_000 for end in ends)

    @property
    def action(self) -> str:
        return {"create": "create", "delete": "delete"}.get(self.case.verb, "change")

    def errors_with_id(self) -> list[dict[str, Any]]:
        return [
            {"op": "set", "path": "/success", "value": False},
            {"op": "set", "path": "/message", "value": "Something went wrong"},
        ]
