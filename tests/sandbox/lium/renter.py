"""A caller of the simulated Lium, as bare as a shell with curl."""

from __future__ import annotations

from typing import Any

import httpx

from tests.contracts.fixtures import CheckedSandbox

PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMadeUp me@lab"


class Renter:
    """One API key on one sandbox; `api` is the plain HTTP client."""

    def __init__(self, sandbox: CheckedSandbox, secret: str | None = None) -> None:
        variables = sandbox.variables()
        self.sandbox = sandbox
        self.api = httpx.Client(
            base_url=variables["LIUM_BASE_URL"],
            headers={"X-API-Key": secret or variables["LIUM_API_KEY"]},
            timeout=10,
            verify=False,
        )
        sandbox.at_end.callback(self.api.close)

    def nodes(self, fabric: int = 0) -> list[dict[str, Any]]:
        """The free nodes of a fabric."""
        return list(self.api.get("/executors/infiniband-clusters").json()[fabric]["nodes"])

    def body(self, count: int = 2, **more: Any) -> dict[str, Any]:
        """A rent of the first free nodes."""
        ids = [node["id"] for node in self.nodes()[:count]]
        return {"pod_name": "run", "executor_uuids": ids, "user_public_key": [PUBLIC_KEY], **more}

    def order(self, body: dict[str, Any], key: str | None = None, **headers: str) -> httpx.Response:
        """The rent itself."""
        if key is not None:
            headers["Idempotency-Key"] = key
        return self.api.post("/executors/cluster/rent", json=body, headers=headers)

    def rent(self, count: int = 2, **more: Any) -> list[str]:
        """Pod ids of a new cluster."""
        return list(self.order(self.body(count, **more)).json()["pod_ids"])

    def rent_running(self, count: int = 2, **more: Any) -> list[str]:
        """The same, and time passes until all are up."""
        pods = self.rent(count, **more)
        self.sandbox.advance(60)
        return pods

    def pods(self, **query: str) -> list[dict[str, Any]]:
        """The listing."""
        return list(self.api.get("/pods", params=query).json())

    def pod(self, pod_id: str) -> dict[str, Any]:
        """One pod."""
        return dict(self.api.get(f"/pods/{pod_id}").json())

    def books(self) -> dict[str, Any]:
        """The service's page of the sandbox's books."""
        return dict(self.sandbox.books()["services"]["lium"])
