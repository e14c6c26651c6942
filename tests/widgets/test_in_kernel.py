"""Forms in a real kernel: what they tell the front end, and cells that do the same."""

from __future__ import annotations

import base64
import json
import urllib.parse

import pytest

from jupyter_gpu_clusters.widgets.stale import FORM_CLASS

from .kernel import Kernel

SET_UP = """
import sys, time
from jupyter_gpu_clusters.core import bridge
from jupyter_gpu_clusters.widgets import cluster_form, workload_form

def planned(form):
    end = time.monotonic() + 30
    while form._plan is None:
        assert time.monotonic() < end, (form.message.value, form.plan_view.value)
        time.sleep(0.05)

def shown_cell(form):
    form.cell_button.click()
    return form.cell.value

def without_token(request):
    documents = getattr(request, "documents", None)
    return request if documents is None else [{k: v for k, v in d.items() if k != "token"} for d in documents]

def same(form, plan):
    names = ("name", "account", "target_id", "shown", "spec_digest", "nodes", "processes")
    different = [name for name in names if getattr(form._plan, name) != getattr(plan, name)]
    if without_token(form._plan.request) != without_token(plan.request):
        different.append("request")
    return different
"""
WIDE = """
import os
os.environ["REGISTRY_PASSWORD"] = bytes.fromhex(SECRET_IN_HEX).decode()
from tests.widgets.paid import WideProvider, service_of
provider = WideProvider()
service = service_of(provider)
real, bridge.service = bridge.service, lambda: service
form = cluster_form()
display(form)
form.name.value = "demo"
form.root.field("password").control.value = "env:REGISTRY_PASSWORD"
form.root.field("image").control.value = "x"
time.sleep(1)
form.root.field("image").control.value = "repo/image"
form.root.field("region").control.label = "delhi"
form.root.field("needed").field("container").control.value = "80"
form.cell_button.click()
planned(form)
form.agree.value = True
form.send_button.click()
while not form.card.children: time.sleep(0.05)
assert provider.specs[-1].password.get_secret_value() == os.environ["REGISTRY_PASSWORD"]
"""
BACK = "bridge.call(service.aclose); bridge.service = real"
SECRET = "planted %+&'\"-secret"


@pytest.fixture(autouse=True)
def set_up(kernel: Kernel) -> None:
    kernel.run(SET_UP)


def dry_run(kernel: Kernel, cell: str) -> None:
    """Run a shown cell as it stands, but for the options that make it a dry run and keep its plan."""
    line, _, body = cell.partition("\n")
    kernel.run(f"{line} --dry-run -o repeated\n{body}")


def test_the_shown_cell_plans_the_same_cluster(kernel: Kernel) -> None:
    kernel.run(
        "form = cluster_form(); form.name.value = 'demo'; form.root.field('nodes').control.value = 3; planned(form)"
    )
    cell = kernel.value("shown_cell(form)")
    assert cell == "%%cluster_create local --name demo\nnodes: 3\n"
    dry_run(kernel, cell)
    assert kernel.value("same(form, repeated)") == []


def test_the_line_form_of_an_untouched_spec_plans_the_same_cluster(kernel: Kernel) -> None:
    kernel.run("form = cluster_form(); form.name.value = 'demo'; planned(form)")
    dry_run(kernel, kernel.value("shown_cell(form)"))
    assert kernel.value("same(form, repeated)") == []


def test_the_shown_cell_plans_the_same_workload_with_odd_arguments(kernel: Kernel) -> None:
    kernel.run("%cluster_create local --name demo --nodes 2")
    kernel.run(
        "form = workload_form('demo'); form.name.value = 'train'\n"
        "form.root.field('command').control.value = \"python\\n-c\\nprint('$x: #y')\\n017\\nno\\n--flag={}\\n é\"\n"
        "form.root.field('procs_per_node').control.value = '2'\n"
        "planned(form)"
    )
    dry_run(kernel, kernel.value("shown_cell(form)"))
    assert kernel.value("same(form, repeated)") == []
    assert kernel.value("repeated.processes") == 4


def test_masked_values_come_back_through_notebook_variables(kernel: Kernel) -> None:
    kernel.run("%cluster_create local --name demo")
    kernel.run(
        "form = workload_form('demo'); form.name.value = 'train'\n"
        "form.root.field('script').control.value = 'echo $TOKEN\\n'\n"
        "form.root.field('env').add_row('TOKEN', 'abc')\n"
        "form.root.field('env').add_row('OTHER', '$other')\n"
        "other = 'from the notebook'\n"
        "planned(form)"
    )
    cell = kernel.value("shown_cell(form)")
    assert "abc" not in cell
    assert "echo" not in cell
    kernel.run("TOKEN = 'abc'; script = 'echo $TOKEN\\n'")
    dry_run(kernel, cell)
    assert kernel.value("same(form, repeated)") == []


def test_no_message_to_the_front_end_has_the_secret(kernel: Kernel) -> None:
    kernel.run(WIDE.replace("SECRET_IN_HEX", repr(SECRET.encode().hex())))
    kernel.run(BACK)
    comms = [message for message in kernel.heard if message["msg_type"].startswith("comm_")]
    assert len(comms) > 100
    said = json.dumps([message["content"] for message in kernel.heard], ensure_ascii=False)
    assert "env:REGISTRY_PASSWORD" in said, "the reference is what the front end knows"
    for form in (
        SECRET,
        json.dumps(SECRET)[1:-1],
        urllib.parse.quote(SECRET),
        base64.b64encode(SECRET.encode()).decode(),
    ):
        assert form not in said


def test_the_form_is_a_widget_view_after_words_for_when_it_is_gone(kernel: Kernel) -> None:
    request = kernel.run("%cluster_form")
    displays = [m for m in kernel.of(request) if m["msg_type"] in ("display_data", "execute_result")]
    note, shown = [message["content"]["data"] for message in displays]
    assert set(note) == {"text/plain", "text/html"}
    assert "run the cell again" in note["text/plain"]
    assert set(shown) == {"text/plain", "application/vnd.jupyter.widget-view+json"}, "HTML in it would break a reload"
    assert FORM_CLASS in note["text/html"], "the words hide where the form is alive"
    assert FORM_CLASS in kernel.value("_.widget._dom_classes")
    opened = {m["content"]["comm_id"] for m in kernel.heard if m["msg_type"] == "comm_open"}
    assert shown["application/vnd.jupyter.widget-view+json"]["model_id"] in opened


def test_a_front_end_can_fill_in_and_press_through_messages(kernel: Kernel) -> None:
    kernel.run("form = cluster_form(); display(form)")
    models = kernel.value("[form.name.model_id, form.root.field('nodes').control.model_id, form.send_button.model_id]")
    name, nodes, button = models
    kernel.tell(name, {"method": "update", "state": {"value": "demo"}, "buffer_paths": []})
    kernel.tell(nodes, {"method": "update", "state": {"value": 2}, "buffer_paths": []})
    kernel.run("planned(form)")
    for _ in range(3):
        kernel.tell(button, {"method": "custom", "content": {"event": "click"}})
    kernel.run("while not form.card.children: time.sleep(0.05)")
    assert kernel.value("[c.node_count for c in bridge.call(bridge.service().refresh).clusters]") == [2]
