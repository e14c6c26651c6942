"""A caller of the simulated service who sends just what a test says."""

from __future__ import annotations

from itertools import count
from typing import Any

import httpx

from tests.contracts.fixtures import CheckedSandbox

DISTRIBUTED = "/api/v1/workloads/distributed"
WORKLOADS = "/api/v1/workloads"
VISION, SPEECH, ROBOTS, MUSEUM, VAULT = "4500012", "4500013", "4500014", "4500015", "4500099"
"""Projects: the usual one, a strict policy, a one-sided policy, an old cluster, one that nobody here may see."""
PENDING_S, RUNNING_S, COMPLETED_S = 5.0, 15.0, 600.0
"""From create to the queue, from there to running, from there to the end."""


class Caller:
    """One service account."""

    def __init__(self, sandbox: CheckedSandbox, client_id: str | None = None, secret: str | None = None) -> None:
        self.sandbox = sandbox
        variables = sandbox.variables()
        self.client_id = client_id or variables["RUNAI_CLIENT_ID"]
        self.secret = secret or variables["RUNAI_CLIENT_SECRET"]
        self.http = httpx.Client(base_url=variables["RUNAI_URL"], timeout=10, verify=False)
        sandbox.at_end.callback(self.http.close)
        self._names = count(1)
        self._clusters: dict[str, str] = {}
        self.log_in()

    def log_in(self) -> None:
        """Get a token and use it from now on."""
        self.http.headers["Authorization"] = f"Bearer {self.token()}"

    def token(self) -> str:
        """A new token."""
        form = {"grant_type": "client_credentials", "client_id": self.client_id, "client_secret": self.secret}
        answer = self.http.post("/api/v2/token", data=form)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["access_token"])

    def bad(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request that may break the contract; it is a mistake of the sandbox if one is accepted."""
        with self.sandbox.contract.bad_requests():
            return self.http.request(method, path, **options)

    def get(self, path: str, **params: Any) -> Any:
        """The body of a read that must succeed."""
        answer = self.http.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def cluster_of(self, project: str) -> str:
        """The cluster of a project."""
        if not self._clusters:
            rows = self.get("/api/v1/org-unit/projects", limit=500)["projects"]
            self._clusters = {row["id"]: row["clusterId"] for row in rows}
        return self._clusters[project]

    def body(self, *, project: str = VISION, name: str | None = None, **changes: Any) -> dict[str, Any]:
        """The smallest body that is accepted, with changes; those of ``spec`` are merged in, `None` takes away."""
        spec = {"distributedFramework": "PyTorch", "numWorkers": 1, "image": "registry.example.org/ddp:1"}
        spec.update(changes.pop("spec", {}))
        body = {
            "name": name or f"work-{next(self._names)}",
            "projectId": project,
            "clusterId": self.cluster_of(project),
            "spec": {field: value for field, value in spec.items() if value is not None},
            **changes,
        }
        return {field: value for field, value in body.items() if value is not None}

    def submit(self, **changes: Any) -> dict[str, Any]:
        """A new workload, as its create call shows it."""
        answer = self.http.post(DISTRIBUTED, json=self.body(**changes))
        assert answer.status_code == 202, answer.text
        made: dict[str, Any] = answer.json()
        return made

    def gpu_job(self, workers: int, gpus: int = 8, **changes: Any) -> str:
        """The id of a new workload of that size, without a master."""
        spec = {"numWorkers": workers, "compute": {"gpuDevicesRequest": gpus}, **changes.pop("spec", {})}
        return str(self.submit(spec=spec, **changes)["workloadId"])

    def running(self, **changes: Any) -> dict[str, Any]:
        """A new workload that has come to run."""
        made = self.submit(**changes)
        self.sandbox.advance(PENDING_S + RUNNING_S)
        assert self.phase(made["workloadId"]) == "Running"
        return made

    def phase(self, workload: str) -> str:
        """The phase of the typed read."""
        return str(self.get(f"{DISTRIBUTED}/{workload}")["actualPhase"])

    def detail(self, workload: str) -> dict[str, Any]:
        """The generic read."""
        body: dict[str, Any] = self.get(f"{WORKLOADS}/{workload}")
        return body

    def refusal(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body of a 400 on create."""
        answer = self.bad("POST", DISTRIBUTED, json=body)
        assert answer.status_code == 400, answer.text
        refused: dict[str, Any] = answer.json()
        return refused

    def act(self, workload: str, action: str) -> None:
        """Suspend, resume or delete, which must be accepted."""
        path = f"{DISTRIBUTED}/{workload}"
        answer = self.http.delete(path) if action == "delete" else self.http.post(f"{path}/{action}")
        assert (answer.status_code, answer.json()["code"]) == (202, 202)
