"""Forms of the three services against the sandbox, as a person fills them in; the sandbox's books are the witness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from jupyter_gpu_clusters.core import bridge
from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.models import Cluster, Workload
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.widgets import cluster_form, workload_form
from jupyter_gpu_clusters.widgets.actions import Actions
from jupyter_gpu_clusters.widgets.create_form import CreateForm
from jupyter_gpu_clusters.widgets.submit_form import SubmitForm
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox, make_sandbox, switchboard

from ..until import until
from .driving import control, planned, states_in
from .test_actions import is_asking, submit
from .test_submit_form import make_cluster

__all__ = ["make_sandbox", "switchboard"]


@pytest.fixture
def sandbox(make_sandbox: MakeSandbox, monkeypatch: pytest.MonkeyPatch) -> CheckedSandbox:
    sandbox = make_sandbox()
    for name, value in sandbox.variables().items():
        monkeypatch.setenv(name, value)
    return sandbox


@pytest.fixture
def service(sandbox: CheckedSandbox) -> Iterator[Service]:
    """Closed while its accounts are still there: cards and watchers work until the end."""
    yield bridge.service()
    bridge.close()


def entries(sandbox: CheckedSandbox, name: str, *actions: str) -> list[dict[str, Any]]:
    """What the books say was done at a service."""
    books: list[dict[str, Any]] = sandbox.books()["services"][name]["entries"]
    return [entry for entry in books if entry["action"] in actions]


def field(form: CreateForm | SubmitForm, key: str) -> Any:
    return form.root.field(key)


def options_of(form: CreateForm | SubmitForm, key: str) -> tuple[str, ...]:
    """The labels offered for a field, once there are any."""
    box = field(form, key).box
    until(lambda: box.options)
    labels: tuple[str, ...] = box.options
    return labels


def choose(form: CreateForm | SubmitForm, key: str, part: str) -> None:
    """Choose the option that has `part` in its label."""
    label = next(label for label in options_of(form, key) if part in label)
    editor = field(form, key)
    editor.box.value = label
    if editor.box is not editor.control:
        editor.add_button.click()


def press_often(form: CreateForm | SubmitForm) -> None:
    for _ in range(5):
        form.send_button.click()
    until(lambda: form.card.children or "✖" in form.outcome.value)
    for _ in range(5):
        form.send_button.click()
    assert form.card.children, form.outcome.value


@pytest.fixture
def e2e_form(service: Service) -> CreateForm:
    return cluster_form("e2e")


def test_e2e_is_ordered_once_from_looked_up_choices(sandbox: CheckedSandbox, e2e_form: CreateForm) -> None:
    form = e2e_form
    form.name.value = "train"
    choose(form, "sku", "SX.4xL40S-64.384GB")
    choose(form, "image", "Ubuntu Slurm v3")
    choose(form, "security_group", "ssh-only")
    choose(form, "ssh_keys", "lab-desktop")
    control(form, "nodes").value = "2"
    planned(form)
    assert form.agree.description == "I agree to pay 841.00 INR per hour until it is deleted"
    form.agree.value = True
    press_often(form)
    assert len(entries(sandbox, "e2e", "create")) == 1
    secrets = [value for name, value in sandbox.variables().items() if name.endswith(("KEY", "TOKEN", "SECRET"))]
    assert len(secrets) >= 4
    assert [secret for secret in secrets if secret in repr(states_in(form.widget))] == []


def test_e2e_prices_follow_the_node_type(sandbox: CheckedSandbox, e2e_form: CreateForm) -> None:
    prices = options_of(e2e_form, "sku_item_price_id")
    choose(e2e_form, "sku", "SX.4xL40S-64.384GB")
    until(lambda: 0 < len(field(e2e_form, "sku_item_price_id").box.options) < len(prices))
    choose(e2e_form, "sku_item_price_id", "hourly")
    control(e2e_form, "nodes").value = "2"
    e2e_form.cell_button.click()
    sent = [line for line in e2e_form.cell.value.splitlines() if line.startswith("sku_item_price_id: ")]
    assert sent[0].partition(": ")[2].isdecimal(), "the id, not the label"


def test_e2e_choices_follow_the_location(sandbox: CheckedSandbox, e2e_form: CreateForm) -> None:
    before = options_of(e2e_form, "sku")
    control(e2e_form, "location").label = "Chennai"
    until(lambda: field(e2e_form, "sku").box.options not in ((), before))


def test_an_e2e_restart_asks_and_is_sent_once(sandbox: CheckedSandbox, service: Service) -> None:
    wanted = {"sku": "SX.4xL40S-64.384GB", "nodes": 2, "image": "Ubuntu Slurm"}
    cluster = created(sandbox, service, "e2e", {**wanted, "ssh_keys": ["lab-desktop"], "security_group": "ssh-only"})
    actions = Actions(cluster)
    assert actions.area is not None
    actions.area.buttons["restart_cluster"].click()
    form = actions.area.form
    assert form is not None
    planned(form)
    assert form.send_button.disabled
    form.agree.value = True
    for _ in range(5):
        form.send_button.click()
    until(lambda: "sent and accepted" in form.outcome.value)
    puts = [row for row in sandbox.requests() if row["method"] == "PUT"]
    assert len(puts) == 1
    assert "restart_cluster" in puts[0]["body"]


def created(sandbox: CheckedSandbox, service: Service, account: str, fields: dict[str, Any]) -> Cluster:
    """A running cluster, created through the service."""
    spec = service.spec_model(account)(**fields)

    async def create() -> Cluster:
        plan = await service.plan_create(account, "train", spec)
        return (await service.create(plan, consent=consent_to(plan))).cluster

    cluster = bridge.call(create)
    sandbox.advance(3600)
    found = bridge.call(service.refresh, [account]).clusters
    return next(one for one in found if one.cluster_id == cluster.cluster_id)


def test_lium_is_rented_once_and_its_choices_follow_the_gpu(sandbox: CheckedSandbox, service: Service) -> None:
    form = cluster_form("lium")
    form.name.value = "rented"
    everything = options_of(form, "executor_uuids")
    assert any("RTX 4090" in label for label in everything)
    control(form, "gpu").value = "H100"
    box = field(form, "executor_uuids").box
    until(lambda: box.options and not any("RTX 4090" in label for label in box.options))
    control(form, "nodes").value = "2"
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB0000000000000000000000000000000000000000001 me@example.org"
    control(form, "user_public_key").value = key
    planned(form)
    assert "33.68 USD per hour" in form.agree.description
    form.agree.value = True
    press_often(form)
    assert len(entries(sandbox, "lium", "create")) == 1


def test_a_list_that_fails_blocks_nothing_and_comes_back(sandbox: CheckedSandbox, service: Service) -> None:
    number = sandbox.fault(service="lium", kind="status", status=501, path="/templates", times=None)
    form = cluster_form("lium")
    until(lambda: "No list:" in field(form, "template").line.value)
    control(form, "template").value = "written by hand"
    sandbox.clear_faults(number)
    field(form, "template").again_button.click()
    assert options_of(form, "template")
    assert control(form, "template").value == "written by hand"


@pytest.fixture
def runai_form(service: Service) -> SubmitForm:
    bridge.call(service.refresh, ["runai"])
    return workload_form("gpu-east")


def test_runai_takes_a_nested_request_and_one_workload_is_submitted(
    sandbox: CheckedSandbox, service: Service, runai_form: SubmitForm
) -> None:
    form = runai_form
    form.name.value = "train"
    choose(form, "project", "vision")
    control(form, "nodes").value = "2"
    control(form, "gpus_per_node").value = "8"
    control(form, "image").value = "pytorch:2.6"
    control(form, "command").value = "train.sh"
    spec = field(form, "spec")
    spec.switch.value = True
    variables = spec.field("environmentVariables")
    variables.add()
    variables.entries[0].field("name").control.value = "TOKEN"
    variables.entries[0].field("value").control.value = "planted-secret"
    planned(form)
    assert "<b>16</b>" in form.plan_view.value
    assert "16 GPUs of the quota of project vision" in form.agree.description
    form.cell_button.click()
    assert "planted-secret" not in form.cell.value
    assert "TOKEN = ..." in form.cell.value
    assert form.send_button.disabled
    form.agree.value = True
    press_often(form)
    submits = entries(sandbox, "runai", "submit")
    assert len(submits) == 1
    (request,) = [r for r in sandbox.requests() if r["method"] == "POST" and "/workloads/distributed" in r["path"]]
    assert '"planted-secret"' in request["body"]


def test_runai_pools_follow_the_project_and_deep_lists_are_offered(runai_form: SubmitForm) -> None:
    form = runai_form
    choose(form, "project", "vision")
    spec = field(form, "spec")
    spec.switch.value = True
    pools = spec.field("nodePools")
    until(lambda: pools.box.options)
    storage = spec.field("storage")
    storage.switch.value = True
    claims = storage.field("pvc")
    claims.add()
    claim = claims.entries[0].field("claimName")
    until(lambda: claim.control.options)


def test_a_workload_of_runai_is_suspended_after_a_question_and_resumed(
    sandbox: CheckedSandbox, service: Service
) -> None:
    workload = submitted(sandbox, service)
    actions = Actions(workload)
    assert (actions.rest_button.description, actions.rest_button.disabled) == ("Suspend", False)
    actions.rest_button.click()
    assert is_asking(actions)
    assert "Suspend workload" in actions.question.value
    assert entries(sandbox, "runai", "suspend") == []
    for _ in range(3):
        actions.confirm_button.click()
    until(lambda: actions.rest_button.description == "Resume" and not actions.rest_button.disabled)
    sandbox.advance(120)
    for _ in range(3):
        actions.rest_button.click()
    until(lambda: actions.rest_button.description == "Suspend" and not actions.rest_button.disabled)
    paths = [row["path"].rpartition("/")[2] for row in sandbox.requests() if row["method"] == "POST"]
    assert (paths.count("suspend"), paths.count("resume")) == (1, 1)


def submitted(sandbox: CheckedSandbox, service: Service) -> Workload:
    """A running workload."""
    state = bridge.call(service.refresh, ["runai"])
    cluster = next(one for one in state.clusters if one.name == "gpu-east")
    fields = {"project": "vision", "nodes": 2, "gpus_per_node": 1, "image": "pytorch:2.6", "command": ["train"]}
    spec = service.workload_model("runai")(**fields)

    async def send() -> None:
        plan = await service.plan_submit(cluster, "train", spec)
        await service.submit(plan, consent=consent_to(plan))

    bridge.call(send)
    sandbox.advance(120)
    return bridge.call(service.find_workload, "train")


def test_where_work_cannot_rest_the_button_says_why(local: Service) -> None:
    job = submit(local, make_cluster(local), "import time; time.sleep(60)")
    actions = Actions(job)
    assert actions.rest_button.disabled
    assert actions.rest_button.tooltip
