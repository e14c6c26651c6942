"""The submit form on a real local cluster."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from pydantic import BaseModel

from jupyter_gpu_clusters.core import bridge
from jupyter_gpu_clusters.core.errors import NotFoundError
from jupyter_gpu_clusters.core.models import Cluster
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.widgets import workload_form
from jupyter_gpu_clusters.widgets.submit_form import SubmitForm

from ..until import until
from .driving import control, note, planned


def make_cluster(service: Service, name: str = "demo", nodes: int = 2) -> Cluster:
    spec: BaseModel = service.spec_model("local")(nodes=nodes)

    async def create() -> Cluster:
        return (await service.create(await service.plan_create("local", name, spec))).cluster

    return bridge.call(create)


def python(form: SubmitForm, code: str) -> None:
    control(form, "command").value = f"{sys.executable}\n-c\n{code}"


@pytest.fixture
def cluster(local: Service) -> Cluster:
    return make_cluster(local)


def test_without_clusters_the_form_says_how_to_get_one(local: Service) -> None:
    form = workload_form()
    assert "There is no cluster to run on" in form.message.value
    assert "%cluster_form" in form.message.value
    assert form.send_button.disabled


def test_a_cluster_that_appears_is_found_by_the_refresh_button(local: Service) -> None:
    form = workload_form()
    until(lambda: not form.refresh_button.disabled)
    make_cluster(local)
    form.refresh_button.click()
    until(lambda: form.root.children())
    assert form.cluster.label == "local/demo (running, 2 nodes)"
    python(form, "print(1)")
    planned(form)
    assert form.message.value == ""


def test_an_unknown_cluster_is_an_error_with_the_nearest_name(cluster: Cluster) -> None:
    with pytest.raises(NotFoundError, match="Did you mean 'demo'"):
        workload_form("dmeo")


def test_the_named_cluster_is_chosen_and_stays_chosen(local: Service, cluster: Cluster) -> None:
    other = make_cluster(local, "other", 1)
    form = workload_form("other")
    until(lambda: not form.refresh_button.disabled)
    assert form.cluster.value.endswith(other.cluster_id)


def test_the_plan_shows_nodes_and_processes_of_the_chosen_cluster(local: Service, cluster: Cluster) -> None:
    make_cluster(local, "other", 1)
    form = workload_form("demo")
    python(form, "print(1)")
    control(form, "procs_per_node").value = "3"
    planned(form)
    assert form._plan is not None
    assert (form._plan.nodes, form._plan.processes) == (2, 6)
    assert "<b>6</b>" in form.plan_view.value
    form.cluster.label = next(label for label, _ in form.cluster.options if "other" in label)
    assert form.send_button.disabled
    planned(form)
    assert form._plan.processes == 3
    assert control(form, "procs_per_node").value == "3", "what was filled in stays for a cluster of the same account"


def test_a_problem_of_the_whole_spec_stands_on_top(cluster: Cluster) -> None:
    form = workload_form("demo")
    form.name.value = "train"
    until(lambda: "give either a command or a script" in form.message.value)


def test_problems_stand_beside_their_fields(cluster: Cluster) -> None:
    form = workload_form("demo")
    python(form, "print(1)")
    control(form, "nodes").value = "many"
    until(lambda: "must be a whole number" in note(form, "nodes"))
    control(form, "nodes").value = "7"
    until(lambda: "✖" in note(form, "nodes") and "whole number" not in note(form, "nodes"))
    assert form.send_button.disabled


def test_submitting_runs_the_command_once_and_shows_its_card_to_the_end(local: Service, cluster: Cluster) -> None:
    form = workload_form("demo")
    python(form, "print('hello')")
    planned(form)
    for _ in range(3):
        form.send_button.click()
    until(lambda: form.card.children)
    card = form.card.children[0].children[0]
    until(lambda: "succeeded" in card.value and "Final." in card.value, within_s=60)
    state = bridge.call(local.refresh)
    assert len(state.workloads) == 1, "an unnamed workload always runs, so a second press would show"


def test_values_from_the_environment_and_the_notebook_reach_the_ranks(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = workload_form("demo")
    python(form, "import os, sys; sys.exit(0 if os.environ['GREETING'] == 'hello' else 3)")
    env: Any = form.root.field("env")
    env.add_row("GREETING", "hello")
    planned(form).send_button.click()
    until(lambda: form.card.children)
    card = form.card.children[0].children[0]
    until(lambda: "Final." in card.value, within_s=60)
    assert "succeeded" in card.value


def test_a_failed_workload_names_the_first_failing_rank_and_shows_its_last_lines(cluster: Cluster) -> None:
    form = workload_form("demo")
    code = "import os, sys, time; r = int(os.environ['NODE_RANK']); print('last words', r, flush=True); "
    python(form, code + "sys.exit(3) if r == 1 else time.sleep(60)")
    planned(form).send_button.click()
    until(lambda: form.card.children)
    card = form.card.children[0].children[0]
    until(lambda: "Final." in card.value, within_s=60)
    assert "rank 1 on node 1: exit code 3" in card.value
    assert "last words 1" in card.value


def test_masked_values_are_not_in_the_shown_cell(cluster: Cluster) -> None:
    form = workload_form("demo")
    env: Any = form.root.field("env")
    env.add_row("TOKEN", "planted-secret")
    control(form, "script").value = "echo planted-script"
    form.cell_button.click()
    assert "planted" not in form.cell.value
    assert "TOKEN: $TOKEN" in form.cell.value
    assert "script: $script" in form.cell.value
