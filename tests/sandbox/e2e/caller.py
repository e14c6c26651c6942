"""A caller of the simulated service who sends just what a test says."""

from __future__ import annotations

from typing import Any

import httpx

from tests.contracts.fixtures import CheckedSandbox

CLUSTERS = "/distributed_jobs_v2/cluster/"
DELHI: dict[str, Any] = {
    "name": "ocean-twin-01",
    "image_version_id": 57,
    "ssh_key_ids": [7301],
    "security_group_id": 5501,
    "sku_id": 412,
    "no_of_nodes": 2,
    "sku_item_price_id": 8721,
}
"""The smallest order that the usual sandbox takes in Delhi."""


class Caller:
    """One credential, project and location; any of them may be left out of a call or replaced by a query."""

    def __init__(self, sandbox: CheckedSandbox, **usual: Any) -> None:
        self.sandbox = sandbox
        variables = sandbox.variables()
        self.key = usual.get("key", variables["E2E_TIR_API_KEY"])
        self.token = usual.get("token", variables["E2E_TIR_ACCESS_TOKEN"])
        self.project = usual.get("project", variables["E2E_TIR_PROJECT_ID"])
        self.location = usual.get("location", "Delhi")
        url = variables["E2E_TIR_API_HOST"].replace(sandbox.url, usual.get("url", sandbox.url))
        self._client = httpx.Client(base_url=f"{url}api/v1/gpu", timeout=10, verify=False)
        sandbox.at_end.callback(self._client.close)

    def ask(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        content: bytes | None = None,
        content_type: str | None = None,
        leave_out: tuple[str, ...] = (),
        **query: Any,
    ) -> httpx.Response:
        """Send one request with apikey, token, project and location, less what is left out; no redirect is followed."""
        usual = {"apikey": self.key, "project_id": self.project, "location": self.location}
        params = {name: value for name, value in {**usual, **query}.items() if name not in leave_out}
        headers = {} if "token" in leave_out else {"Authorization": f"Bearer {self.token}"}
        if content_type is not None:
            headers["Content-Type"] = content_type
        return self._client.request(method, path, params=params, headers=headers, json=json, content=content)

    def bad(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request that breaks the contract; it is a mistake of the sandbox if it is accepted."""
        with self.sandbox.contract.bad_requests():
            return self.ask(method, path, **options)

    def data(self, method: str, path: str, **options: Any) -> Any:
        """The data of an answer that must be a success."""
        answer = self.ask(method, path, **options)
        body = answer.json()
        assert answer.status_code < 300, body
        assert body["code"] == answer.status_code
        assert body["errors"] == {}
        return body["data"]

    def create(self, **changes: Any) -> dict[str, Any]:
        """A new cluster, as its create call shows it."""
        cluster: dict[str, Any] = self.data("POST", CLUSTERS, json={**DELHI, **changes})
        return cluster

    def running(self, **changes: Any) -> str:
        """The path of a new cluster that is up."""
        path = f"{CLUSTERS}{self.create(**changes)['id']}/"
        self.sandbox.advance(240)
        return path

    def act(self, path: str, action: str, **fields: Any) -> Any:
        """The data of an action's answer."""
        return self.data("PUT", path, json={"action": action, **fields})

    def refused(self, body: dict[str, Any]) -> dict[str, list[str]]:
        """The fields that a create is refused for."""
        answer = self.ask("POST", CLUSTERS, json=body)
        assert answer.status_code == 400, answer.text
        assert set(answer.json()) == {"code", "errors", "message"}
        fields: dict[str, list[str]] = answer.json()["errors"]
        return fields
