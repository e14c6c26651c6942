"""Only this service, on a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from jupyter_gpu_clusters.sandbox import Sandbox
from jupyter_gpu_clusters.sandbox.runai import Runai
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox
from tests.sandbox.runai.caller import Caller


@pytest.fixture
def sandbox(make_sandbox: MakeSandbox) -> CheckedSandbox:
    return make_sandbox(services=[Runai])


@pytest.fixture
def runai(sandbox: CheckedSandbox) -> Caller:
    return Caller(sandbox)


@pytest.fixture
def make_free() -> Any:
    """Posts to a sandbox whose contract nobody watches, for what goes beyond the contract on purpose."""

    @contextmanager
    def make(choices: dict[str, str]) -> Iterator[Any]:
        with Sandbox(speed=0, services=[Runai], choices=choices).serve() as sandbox:
            known = sandbox.variables()
            with httpx.Client(base_url=known["RUNAI_URL"], verify=False) as client:
                login = {"grantType": "client_credentials", "clientID": known["RUNAI_CLIENT_ID"]}
                token = client.post(
                    "/api/v1/token", json={**login, "clientSecret": known["RUNAI_CLIENT_SECRET"]}
                ).json()
                client.headers["Authorization"] = f"Bearer {token['accessToken']}"
                project = client.get("/api/v1/org-unit/projects").json()["projects"][0]
                usual = {"distributedFramework": "PyTorch", "numWorkers": 1, "image": "x"}

                def post(changes: dict[str, Any]) -> Any:
                    body = {"name": "free", "projectId": project["id"], "clusterId": project["clusterId"], **changes}
                    body["spec"] = {**usual, **changes.get("spec", {})}
                    answer = client.post("/api/v1/workloads/distributed", json=body)
                    assert answer.status_code == 202, answer.text
                    return answer.json()

                yield post

    return make
