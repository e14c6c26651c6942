"""E2E as the matrix has it: a project with clusters of a colleague, and more than one page of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from .cases import KEY, LOCATION, PROJECT, SAME
from .scene import COLLEAGUE, THEIR_MARK, Account, Alive, Making, Scene

_SPEC = "gpu: H100\nnodes: 2\nimage: ubuntu-slurm\nssh_keys: [spare]\nsecurity_group: ssh-only"
_CREATE = f"%%cluster_create e2e --name fire --yes\n{_SPEC}"
_PREFIX = "/e2e/myaccount/api/v1/gpu"


class E2EScene(Scene):
    """The far side of a case on E2E."""

    service = "e2e"
    choices: ClassVar[Mapping[str, str]] = {
        "e2e.no_slash": "redirect",
        "e2e.names": "free",
        "e2e.name_rule": "safe",
        "e2e.delete_while_creating": "allowed",
    }
    totals: ClassVar[Sequence[str]] = ("/total_count", "/total_page_number")
    listed_place: ClassVar[Mapping[str, Any]] = {"query": {"location": "Delhi"}}

    def __init__(self, case: Any) -> None:
        super().__init__(case)
        known = self.sandbox.variables()
        self._project = int(known["E2E_TIR_PROJECT_ID"])
        self._halves = {"api_key": known["E2E_TIR_API_KEY"], "auth_token": known["E2E_TIR_ACCESS_TOKEN"]}
        self.sandbox.setup("e2e", credential={"label": "second", "api_key": "second-key", "token": "second-token"})
        self.sandbox.setup("e2e", credential={"label": COLLEAGUE, "api_key": "their-key", "token": "their-token"})
        self._ip: str | None = None

    def accounts(self) -> Mapping[str, Account]:
        options = {"base_url": self.url + _PREFIX, "project_id": self._project}
        second = {"api_key": "second-key", "auth_token": "second-token"}
        return {
            SAME: Account(options, self._halves),
            KEY: Account(options, second),
            PROJECT: Account({**options, "project_id": self._project + 1}, self._halves),
            LOCATION: Account({**options, "locations": ["Chennai"]}, self._halves),
        }

    def prepare(self) -> Sequence[str]:
        if self.case.verb == "attach IP":
            with self.without_faults():
                self._ip = str(self._theirs("POST", "/reserved_ips/")["data"]["id"])
        return [] if self.case.verb == "create" else [_CREATE]

    def _theirs(self, method: str, path: str) -> Any:
        place = f"project_id={self._project}&location=Delhi&apikey=their-key"
        return self.ask(method, f"{_PREFIX}{path}?{place}", headers={"Authorization": "Bearer their-token"})

    @property
    def write(self) -> str:
        return {
            "create": _CREATE,
            "scale": "%cluster_scale fire --nodes 3 --yes",
            "attach IP": f"%cluster_action fire attach_ip --reserved-ip-id {self._ip} --yes",
            "delete": "%cluster_delete fire --yes --timeout 0",
        }[self.case.verb]

    def plant(self) -> None:
        for name in ("firefly", f"fire-cold-{THEIR_MARK}", "first-of-all", "second-of-all"):
            self._plant(name)

    def plant_alike(self) -> None:
        self._plant(f"fire-{THEIR_MARK}")

    def _plant(self, name: str) -> None:
        body = {"name": name, "image_version_id": 57, "ssh_key_ids": [7301], "security_group_id": 5501}
        body |= {"sku_id": 412, "no_of_nodes": 1, "sku_item_price_id": 8721}
        wanted = {"project_id": self._project, "location": "Delhi", "body": body}
        self.sandbox.setup("e2e", cluster=wanted)

    def alive(self) -> list[Alive]:
        books = self.sandbox.books()["services"]["e2e"]
        billed = {row["id"] for row in books["bill"]["rows"] if row["kind"] == "cluster" and row["is_billing"]}
        return [
            Alive(f"{row['location']}/{row['id']}", row["name"], row["id"] in billed, row["nodes"])
            for row in books["alive"]
            if row["kind"] == "cluster"
        ]

    def made(self) -> list[Making]:
        return [
            Making(entry["seq"], tuple(f"{entry['note']['location']}/{one}" for one in entry["made"]))
            for entry in self.entries()
            if entry["action"] == "create" and entry["made"]
        ]

    def is_done(self, target: str) -> bool:
        if self.case.verb == "attach IP":
            return any(
                entry["worked"] and entry["note"].get("action") == "attach_ip" and entry["status"] != 412
                for entry in self.entries()
            )
        sizes = {one.id: one.size for one in self.alive() if one.is_billed}
        return target not in sizes if self.case.verb == "delete" else sizes.get(target) == 3

    @property
    def action(self) -> str:
        return {"create": "create", "delete": "delete"}.get(self.case.verb, "change")

    def errors_with_id(self) -> list[dict[str, Any]]:
        return [
            {"op": "set", "path": "/errors", "value": {"name": ["could not be set up"]}},
            {"op": "set", "path": "/message", "value": "Something went wrong"},
        ]
