"""Through the service and the magics: account, clusters, submit, run all twice, lost answers, recovery, the end."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.errors import (
    AuthError,
    ConflictError,
    ConsentError,
    NameTakenError,
    OutcomeUnknownError,
    SpecError,
)
from jupyter_gpu_clusters.core.login import Place
from jupyter_gpu_clusters.core.models import OrderState, Submitted, WorkloadPhase
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from jupyter_gpu_clusters.providers.runai.spec import RunaiWorkload, WorkerSpec
from jupyter_gpu_clusters.widgets.shapes import shapes_of
from tests.contracts.fixtures import CheckedSandbox

from .conftest import TRAIN

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def variables(sandbox: CheckedSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in sandbox.variables().items():
        monkeypatch.setenv(name, value)


@pytest.fixture
async def service(variables: None) -> AsyncIterator[Service]:
    service = Service.open()
    yield service
    await service.aclose()


def alive(sandbox: CheckedSandbox) -> list[str]:
    return [row["id"] for row in sandbox.books()["services"]["runai"]["alive"]]


def bodies(sandbox: CheckedSandbox) -> list[dict[str, Any]]:
    rows = [row for row in sandbox.requests() if row["method"] == "POST"]
    return [json.loads(row["body"]) for row in rows if row["path"].endswith("/workloads/distributed")]


def submits(sandbox: CheckedSandbox) -> int:
    return len(bodies(sandbox))


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def submit(service: Service, spec: dict[str, Any] | None = None, name: str = "train") -> Submitted:
    cluster = await service.find_cluster("gpu-east")
    model = service.workload_model("runai")
    plan = await service.plan_submit(cluster, name, build_spec(model, spec or TRAIN))
    return await service.submit(plan, consent=consent_to(plan))


async def test_nothing_is_sent_without_consent(service: Service, sandbox: CheckedSandbox) -> None:
    cluster = await service.find_cluster("runai/gpu-east")
    plan = await service.plan_submit(cluster, "train", build_spec(service.workload_model("runai"), TRAIN))
    with pytest.raises(ConsentError, match="16 GPUs"):
        await service.submit(plan)
    assert submits(sandbox) == 0


async def test_run_all_twice_is_one_workload(service: Service, sandbox: CheckedSandbox) -> None:
    first, second = await submit(service), await submit(service)
    assert (first.attached, second.attached) == (False, True)
    assert first.workload.workload_id == second.workload.workload_id
    assert (submits(sandbox), len(alive(sandbox))) == (1, 1)
    with pytest.raises(NameTakenError, match="numWorkers"):
        await submit(service, {**TRAIN, "nodes": 3})
    sandbox.advance(700)
    third = await submit(service)
    assert not third.attached
    assert third.workload.workload_id != first.workload.workload_id


async def test_lists_know_their_own_and_those_of_others(service: Service, sandbox: CheckedSandbox) -> None:
    made = (await submit(service)).workload
    sandbox.advance(60)
    state = await service.refresh(["runai"])
    (seen,) = state.workloads
    assert (seen.name, seen.created_here, seen.phase) == ("train", True, WorkloadPhase.RUNNING)
    found = await service.find_workload("gpu-east/train")
    assert found.workload_id == made.workload_id
    assert {cluster.name for cluster in state.clusters} == {"gpu-east", "gpu-attic"}


@pytest.mark.parametrize("kind", ["drop_after", "status_after", "html", "truncated", "cut_body"])
@pytest.mark.parametrize("prefix", [False, True])
async def test_lost_answer_stays_open_and_is_found(
    service: Service, sandbox: CheckedSandbox, kind: str, prefix: bool
) -> None:
    spec = {**TRAIN, "useGivenNameAsPrefix": True} if prefix else TRAIN
    sandbox.fault(service="runai", action="submit", kind=kind)
    with pytest.raises(OutcomeUnknownError):
        await submit(service, spec)
    (recovered,) = await service.recover()
    assert recovered.order.state is OrderState.DONE
    assert list(recovered.order.remote_ids) == alive(sandbox)
    again = await submit(service, spec)
    assert again.attached
    assert submits(sandbox) == 1


async def test_late_commit_stays_open_until_it_shows(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.fault(service="runai", action="submit", kind="commit_late", status=504, shape="html", seconds=60)
    with pytest.raises(OutcomeUnknownError):
        await submit(service)
    (recovered,) = await service.recover()
    assert recovered.order.state is OrderState.NOT_SEEN
    with pytest.raises(OutcomeUnknownError):
        await submit(service)
    assert submits(sandbox) == 1
    sandbox.advance(90)
    (recovered,) = await service.recover()
    assert recovered.order.state is OrderState.DONE
    assert list(recovered.order.remote_ids) == alive(sandbox)


async def test_a_definite_refusal_gives_the_name_back(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.fault(service="runai", action="submit", kind="status", status=409, shape="error", text="already exists")
    with pytest.raises(ConflictError):
        await submit(service)
    assert not (await submit(service)).attached
    assert len(alive(sandbox)) == 1


async def test_workload_just_made_and_not_shown_yet_is_not_ordered_again(
    service: Service, sandbox: CheckedSandbox
) -> None:
    sandbox.choose({"runai.after_create": "not-found"})
    await submit(service)
    other = Service.open()
    with pytest.raises(OutcomeUnknownError):
        await submit(other)
    sandbox.advance(10)
    assert (await submit(other)).attached
    assert submits(sandbox) == 1
    await other.aclose()


async def test_suspend_resume_cancel(service: Service, sandbox: CheckedSandbox) -> None:
    workload = (await submit(service)).workload
    sandbox.advance(60)
    assert (await service.suspend(workload)).phase is WorkloadPhase.STOPPING
    sandbox.advance(10)
    resting = await service.find_workload("train")
    assert resting.phase is WorkloadPhase.STOPPED
    assert (await service.resume(resting)).phase is WorkloadPhase.PENDING
    report = await service.cancel(resting)
    assert report.workload.phase is WorkloadPhase.STOPPING
    sandbox.advance(60)
    await service.refresh(["runai"])
    assert [w.phase for w in (await service.state()).workloads] == [WorkloadPhase.CANCELLED]
    assert alive(sandbox) == []
    assert not (await submit(service)).attached


async def test_suspend_whose_answer_is_lost_is_settled_by_looking(service: Service, sandbox: CheckedSandbox) -> None:
    workload = (await submit(service)).workload
    sandbox.advance(60)
    sandbox.fault(service="runai", path="*/suspend", kind="drop_after")
    with pytest.raises(OutcomeUnknownError):
        await service.suspend(workload)
    (recovered,) = await service.recover()
    assert recovered.order.state is OrderState.DONE


async def test_outage_keeps_what_was_known(service: Service, sandbox: CheckedSandbox) -> None:
    await submit(service)
    await service.refresh(["runai"])
    sandbox.fault(service="runai", path="*", kind="status", status=503, times=None)
    state = await service.refresh(["runai"])
    assert [w.name for w in state.workloads] == ["train"]
    assert len(state.clusters) == 2
    (view,) = [view for view in state.accounts if view.account == "runai"]
    assert view.error is not None


async def test_spec_problems_have_the_fields_of_the_user(service: Service) -> None:
    with pytest.raises(SpecError) as caught:
        await submit(service, {**TRAIN, "spec": {"environmentVariables": [{"value": "x"}], "tty": True}})
    assert {problem.field for problem in caught.value.problems} == {"spec.environmentVariables[0].name", "spec.tty"}


async def test_planted_secrets_are_in_no_file(service: Service, sandbox: CheckedSandbox, jupyter_folders: Path) -> None:
    secret = 'pl%nt+ed&"secret'
    await submit(service, {**TRAIN, "env": {"TOKEN": secret}})
    sandbox.fault(service="runai", action="submit", kind="status_after", status=500, shape="error", text=f"no {secret}")
    with pytest.raises(OutcomeUnknownError) as caught:
        await submit(service, {**TRAIN, "env": {"TOKEN": secret}}, "second")
    await service.refresh()
    own = sandbox.variables()["RUNAI_CLIENT_SECRET"]
    hidden = [text.encode() for value in (secret, own) for text in (value, json.dumps(value)[1:-1])]
    for file, content in contents(jupyter_folders).items():
        assert not any(text in content for text in hidden), file
    assert "pl%nt" not in str(caught.value) + repr(caught.value)


async def test_login_is_checked_and_kept(sandbox: CheckedSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    known = sandbox.variables()
    monkeypatch.delenv("RUNAI_URL")
    service = Service.open()
    options = {"base_url": known["RUNAI_URL"] + "/api/v1", "client_id": known["RUNAI_CLIENT_ID"], "project": "vision"}
    secrets = {"client_secret": SecretStr(known["RUNAI_CLIENT_SECRET"])}
    with pytest.raises(AuthError, match="not one of"):
        await service.log_in("lab", "runai", {**options, "project": "nowhere"}, secrets, Place.FILE)
    status = await service.log_in("lab", "runai", options, secrets, Place.FILE)
    assert status.is_usable
    cluster = await service.find_cluster("lab/gpu-east")
    spec = {name: value for name, value in TRAIN.items() if name != "project"}
    plan = await service.plan_submit(cluster, "train", build_spec(service.workload_model("lab"), spec))
    assert plan.shown["projectId"] == "4500012"
    await service.aclose()


# The form


def test_every_field_has_a_place_in_the_form() -> None:
    shapes = {shape.key: shape for shape in shapes_of(RunaiWorkload)}
    assert set(shapes) == set(RunaiWorkload.model_fields)
    assert {field.key for field in shapes["spec"].fields} == set(WorkerSpec.model_fields)


# The magics


@pytest.fixture
def shell(jupyter_folders: Path) -> Iterator[Any]:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "jupyter_gpu_clusters")
    yield shell
    shell.run_line_magic("unload_ext", "jupyter_gpu_clusters")
    InteractiveShell.clear_instance()


def test_line_form(shell: Any, sandbox: CheckedSandbox) -> None:
    line = "gpu-east --nodes 2 --project vision --image pytorch:2.6 --name line --yes -- python train.py --lr '0.1 2'"
    shown = shell.run_line_magic("workload_submit", line)
    assert "line" in repr(shown)
    (body,) = bodies(sandbox)
    assert (body["spec"]["command"], body["spec"]["args"]) == ("python", "train.py --lr '0.1 2'")
    assert (body["masterSpecSameAsWorker"], body["spec"]["numWorkers"]) == (True, 1)
    assert re.fullmatch(r"line-[a-z0-9]{10}", body["name"])


def test_line_form_without_an_image_says_what_is_missing(shell: Any, sandbox: CheckedSandbox) -> None:
    with pytest.raises(SpecError) as caught:
        shell.run_line_magic("workload_submit", "gpu-east --nodes 2 --project vision --yes -- python train.py")
    assert [problem.field for problem in caught.value.problems] == ["image"]


def test_cell_form_with_the_whole_request(shell: Any, sandbox: CheckedSandbox) -> None:
    body = """
name: cell
project: vision
spec:
  distributedFramework: PyTorch
  numWorkers: 1
  image: pytorch:2.6
  command: torchrun
  args: --nproc-per-node=8 train.py
  compute: {gpuDevicesRequest: 8, largeShmRequest: true}
  storage:
    pvc: [{claimName: shared-data, existingPvc: true, path: /data}]
masterSpecSameAsWorker: true
"""
    shell.run_cell_magic("workload_submit", "gpu-east --yes", body)
    (sent,) = bodies(sandbox)
    assert sent["spec"]["storage"]["pvc"] == [{"claimName": "shared-data", "existingPvc": True, "path": "/data"}]


def test_problems_of_a_cell_have_their_lines(shell: Any) -> None:
    body = "project: vision\nnodes: 2\nimage: a\nspec:\n  tty: true\n  environmentVariables:\n    - {value: x}\n"
    with pytest.raises(SpecError) as caught:
        shell.run_cell_magic("workload_submit", "gpu-east --yes", body)
    lines = {problem.field: problem.line for problem in caught.value.problems}
    assert lines["spec.tty"] == 5
    assert set(lines) == {"spec.tty", "spec.environmentVariables[0].name"}
