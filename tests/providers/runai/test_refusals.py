"""Every way in which a submit can fail, and what it means for the order."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from jupyter_gpu_clusters.core.errors import (
    AuthError,
    ConflictError,
    GpuClustersError,
    InvalidRequestError,
    NotFoundError,
    ProviderError,
    RateLimitedError,
)
from jupyter_gpu_clusters.core.http import Answer, LostAnswerError
from jupyter_gpu_clusters.providers.runai.errors import read_error
from jupyter_gpu_clusters.providers.runai.provider import RunaiProvider
from tests.contracts.fixtures import CheckedSandbox

from .conftest import SPEECH, TRAIN, Runner, order_of

pytestmark = pytest.mark.anyio


async def refusal(runai: Runner, spec: dict[str, Any] | None = None) -> GpuClustersError:
    """What a submit that fails raises; it was sent at most once."""
    plan, launcher = await runai.plan(TRAIN if spec is None else spec), await runai.launcher()
    with pytest.raises(GpuClustersError) as caught:
        await launcher.submit_workload(plan, order_of(plan))
    return caught.value


@pytest.mark.parametrize(
    ("status", "shape", "kind", "definite"),
    [
        (400, "error", InvalidRequestError, True),
        (400, "bare", InvalidRequestError, True),
        (400, "compliance", InvalidRequestError, True),
        (401, "error", AuthError, True),
        (403, "error", AuthError, True),
        (404, "error", NotFoundError, True),
        (405, "error", ProviderError, True),
        (409, "error", ConflictError, True),
        (429, "error", RateLimitedError, False),
        (500, "error", LostAnswerError, False),
        (501, "error", LostAnswerError, False),
        (502, "html", LostAnswerError, False),
        (502, "empty", LostAnswerError, False),
        (503, "error", LostAnswerError, False),
        (504, "html", LostAnswerError, False),
        (408, "empty", LostAnswerError, False),
        (400, "html", LostAnswerError, False),
        (403, "html", LostAnswerError, False),
        (403, "empty", AuthError, False),
        (409, "empty", ConflictError, False),
    ],
)
async def test_what_a_refused_submit_means(
    runai: Runner, status: int, shape: str, kind: type[GpuClustersError], definite: bool
) -> None:
    runai.sandbox.fault(service="runai", action="submit", kind="status", status=status, shape=shape, times=None)
    error = await refusal(runai)
    assert isinstance(error, kind)
    assert error.is_definite is definite
    assert len(runai.bodies()) == (2 if status == 401 else 1)
    assert runai.alive() == []


async def test_a_502_may_be_permanent_and_says_so(runai: Runner) -> None:
    runai.sandbox.choose({"runai.one_sided_policy": "502"})
    error = await refusal(runai, {**TRAIN, "project": "robots"})
    assert isinstance(error, LostAnswerError)
    assert "502" in error.message


@pytest.mark.parametrize("status", ["409", "400"])
async def test_a_name_that_is_taken(runai: Runner, status: str) -> None:
    runai.sandbox.choose({"runai.duplicate_name": status})
    await runai.submit()
    error = await refusal(runai)
    assert isinstance(error, ConflictError)
    assert error.is_definite
    assert "--name" in str(error.hint)


async def test_every_issue_of_a_policy_is_named(runai: Runner) -> None:
    spec = {**TRAIN, "project": SPEECH, "spec": {"imagePullPolicy": "Never", "security": {"hostNetwork": True}}}
    error = await refusal(runai, spec)
    assert isinstance(error, InvalidRequestError)
    fields = {problem.field for problem in error.problems}
    assert {"compute.gpuDevicesRequest", "imagePullPolicy", "security.hostNetwork", "nodeType"} <= fields
    assert error.is_definite


async def test_a_cluster_that_is_too_old(runai: Runner) -> None:
    launcher = await runai.launcher("gpu-attic")
    plan = await runai.plan({**TRAIN, "project": "museum"}, on="gpu-attic")
    with pytest.raises(InvalidRequestError, match="too old") as caught:
        await launcher.submit_workload(plan, order_of(plan))
    assert caught.value.is_definite


async def test_an_account_that_may_only_read(sandbox: CheckedSandbox) -> None:
    sandbox.setup("runai", credential={"client_id": "svc-viewer", "role": "viewer", "secret": "viewer-secret-value"})
    runner = Runner(sandbox, client_id="svc-viewer")
    runner.provider = RunaiProvider(runner.account.with_secret(SecretStr("viewer-secret-value")))
    error = await refusal(runner)
    assert isinstance(error, AuthError)
    assert "only read" in error.message
    await runner.provider.aclose()


@pytest.mark.parametrize(
    ("body", "ids"),
    [
        ({"code": 400, "message": "failed under 200"}, False),
        ({"code": "503", "message": "failed under 200"}, False),
        ({"error": "server_error", "error_description": "failed under 200"}, False),
        ({}, False),
        ([], False),
        ({"workloadId": None}, False),
        ("text", False),
    ],
)
async def test_a_2xx_without_a_workload_stays_open(runai: Runner, body: Any, ids: bool) -> None:
    ops = [{"op": "set", "path": "", "value": body}]
    runai.sandbox.fault(service="runai", action="submit", kind="mutate", ops=ops)
    error = await refusal(runai)
    assert not error.is_definite
    assert len(runai.alive()) == 1


@pytest.mark.parametrize(
    "ops",
    [
        [{"op": "remove", "path": f"/{name}"}]
        for name in ("name", "requestedName", "projectId", "createdAt", "actualPhase", "spec", "desiredPhase")
    ]
    + [
        [{"op": "set", "path": "/actualPhase", "value": None}],
        [{"op": "list", "path": "/actualPhase"}],
        [{"op": "set", "path": "/spec", "value": "x"}],
        [{"op": "text", "path": "/spec/numWorkers"}],
        [{"op": "set", "path": "/new", "value": {"a": [None]}}],
        [{"op": "set", "path": "/createdAt", "value": 17}],
    ],
)
async def test_an_odd_answer_with_an_id_is_a_workload(runai: Runner, ops: list[dict[str, Any]]) -> None:
    plan, launcher = await runai.plan(TRAIN), await runai.launcher()
    runai.sandbox.fault(service="runai", action="submit", kind="mutate", ops=ops)
    workload = await launcher.submit_workload(plan, order_of(plan))
    assert [workload.workload_id] == runai.alive()
    assert (workload.name, workload.nodes, workload.phase.is_final) == ("train", 2, False)


async def test_status_200_is_as_good_as_202(runai: Runner) -> None:
    runai.sandbox.choose({"runai.create_status": "200"})
    workload, _ = await runai.submit()
    assert runai.alive() == [workload.workload_id]


async def test_secrets_of_the_request_are_cut_out_of_refusals(runai: Runner) -> None:
    secret = 'pl%nt+ed&"secret'
    runai.sandbox.fault(
        service="runai", action="submit", kind="status", status=400, shape="error", text=f"bad {secret}"
    )
    error = await refusal(runai, {**TRAIN, "env": {"TOKEN": secret}})
    assert "pl%nt" not in str(error) + repr(error)


@pytest.mark.parametrize(
    "content", [b"", b"null", b"[]", b"7", b'"x"', b"<html>", b'{"message": {"a": 1}}', b"\xff\xfe"]
)
@pytest.mark.parametrize("status", [200, 400, 404, 502])
def test_any_body_can_be_read(content: bytes, status: int) -> None:
    read_error(Answer(status, {"content-type": "application/json"}, content))


@pytest.mark.parametrize(
    ("status", "kind"), [(500, ProviderError), (503, ProviderError), (404, NotFoundError), (400, InvalidRequestError)]
)
async def test_reads_say_what_the_service_says(runai: Runner, status: int, kind: type[ProviderError]) -> None:
    runai.sandbox.fault(
        service="runai",
        path="/api/v1/clusters",
        kind="status",
        status=status,
        shape="error",
        text="because of x",
        times=3,
    )
    with pytest.raises(kind, match="because of x"):
        await runai.provider.list_clusters()


async def test_a_passing_failure_of_a_read_is_repeated(runai: Runner) -> None:
    runai.sandbox.fault(service="runai", path="/api/v1/clusters", kind="status", status=503, times=1)
    assert len((await runai.provider.list_clusters()).items) == 2
