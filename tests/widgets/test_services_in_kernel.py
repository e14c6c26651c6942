"""Forms of the services in a real kernel: choices arrive, the shown cell plans the same, no key leaves the kernel."""

from __future__ import annotations

import base64
import json
import urllib.parse
from collections.abc import Iterator

import pytest

from tests.contracts.fixtures import CheckedSandbox, MakeSandbox, make_sandbox, switchboard

from .kernel import Kernel
from .test_in_kernel import SET_UP, dry_run

__all__ = ["make_sandbox", "switchboard"]

CHOOSE = """
def until(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)

def choose(editor, part):
    until(lambda: editor.box.options)
    editor.box.value = next(label for label in editor.box.options if part in label)
    if editor.box is not editor.control:
        editor.add_button.click()
"""


@pytest.fixture
def sandbox(make_sandbox: MakeSandbox) -> CheckedSandbox:
    return make_sandbox()


@pytest.fixture
def kernel(sandbox: CheckedSandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel that speaks to the sandbox."""
    root = tmp_path_factory.mktemp("kernel")
    variables = ("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    folders = {variable: str(root / variable.lower()) for variable in variables}
    kernel = Kernel(**folders, **sandbox.variables())
    try:
        kernel.run("%load_ext jupyter_gpu_clusters")
        kernel.run(SET_UP + CHOOSE)
        yield kernel
        assert kernel.complaints() == []
    finally:
        kernel.close()


def secrets_of(sandbox: CheckedSandbox) -> list[str]:
    return [value for name, value in sandbox.variables().items() if name.endswith(("KEY", "TOKEN", "SECRET"))]


def test_the_shown_cell_of_e2e_plans_the_same_cluster(kernel: Kernel, sandbox: CheckedSandbox) -> None:
    kernel.run(
        "form = cluster_form('e2e'); display(form); form.name.value = 'train'\n"
        "choose(form.root.field('sku'), 'SX.4xL40S-64.384GB')\n"
        "choose(form.root.field('image'), 'Ubuntu Slurm v3')\n"
        "choose(form.root.field('ssh_keys'), 'lab-desktop')\n"
        "choose(form.root.field('security_group_id'), 'ssh-only')\n"
        "form.root.field('nodes').control.value = '2'\n"
        "planned(form)"
    )
    cell = kernel.value("shown_cell(form)")
    dry_run(kernel, cell)
    assert kernel.value("same(form, repeated)") == []
    said = json.dumps([message["content"] for message in kernel.heard], ensure_ascii=False)
    for secret in secrets_of(sandbox):
        for form in (secret, urllib.parse.quote(secret, safe=""), base64.b64encode(secret.encode()).decode()):
            assert form not in said


def test_the_shown_cell_of_runai_plans_the_same_nested_workload(kernel: Kernel, sandbox: CheckedSandbox) -> None:
    kernel.run(
        "bridge.call(bridge.service().refresh, ['runai'])\n"
        "form = workload_form('gpu-east'); form.name.value = 'train'\n"
        "choose(form.root.field('project'), 'vision')\n"
        "form.root.field('nodes').control.value = '2'\n"
        "form.root.field('image').control.value = 'pytorch:2.6'\n"
        "form.root.field('command').control.value = 'train.sh'\n"
        "spec = form.root.field('spec'); spec.switch.value = True\n"
        "compute = spec.field('compute'); compute.switch.value = True\n"
        "compute.field('gpuDevicesRequest').control.value = '4'\n"
        "labels = spec.field('labels'); labels.add()\n"
        "labels.entries[0].field('name').control.value = 'team'\n"
        "labels.entries[0].field('value').control.value = '017'\n"
        "variables = spec.field('environmentVariables'); variables.add()\n"
        "variables.entries[0].field('name').control.value = 'TOKEN'\n"
        "variables.entries[0].field('value').control.value = 'planted'\n"
        "planned(form)"
    )
    cell = kernel.value("shown_cell(form)")
    assert "planted" not in cell
    kernel.run("TOKEN = 'planted'")
    dry_run(kernel, cell)
    assert kernel.value("same(form, repeated)") == []
