"""The provider's own actions under a cluster's card: a small form, consent where the plan says so, done once."""

from __future__ import annotations

import threading

import pytest

from jupyter_gpu_clusters.core.models import Cluster, ClusterPhase
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.widgets.action_form import ActionForm
from jupyter_gpu_clusters.widgets.actions import Actions

from ..until import until
from .choosy import ChoosyProvider
from .driving import agreed, control, planned
from .test_actions import one_paid_cluster
from .test_create_form import in_threads
from .test_submit_form import make_cluster


@pytest.fixture
def cluster(choosy: ChoosyProvider) -> Cluster:
    return one_paid_cluster(choosy)


def opened(actions: Actions, name: str) -> ActionForm:
    assert actions.area is not None
    actions.area.buttons[name].click()
    assert actions.area.form is not None
    return actions.area.form


def test_every_action_has_a_button_that_says_what_happens(cluster: Cluster) -> None:
    area = Actions(cluster).area
    assert area is not None
    assert {name: (b.description, b.tooltip) for name, b in area.buttons.items()} == {
        "restart": ("Restart ...", "Everything on it ends."),
        "note": ("Note ...", "Writes a name on it."),
    }


def test_a_provider_without_actions_has_no_buttons_for_them(local: Service) -> None:
    area = Actions(make_cluster(local)).area
    assert area is not None
    assert area.buttons == {}


def test_what_disturbs_is_done_only_after_a_tick(choosy: ChoosyProvider, cluster: Cluster) -> None:
    form = opened(Actions(cluster), "restart")
    planned(form)
    assert "Everything that runs on it ends." in form.plan_view.value
    assert form.agree.description == "I agree. Everything that runs on it ends."
    assert form.send_button.disabled
    form.send_button.click()
    assert choosy.acted == []
    form.agree.value = True
    form.send_button.click()
    until(lambda: "sent and accepted" in form.outcome.value)
    assert choosy.acted == [("restart", {"action": "restart"})]


def test_pressing_many_times_at_once_acts_once(choosy: ChoosyProvider, cluster: Cluster) -> None:
    form = agreed(opened(Actions(cluster), "restart"))
    start = threading.Barrier(6)

    def press() -> None:
        start.wait()
        for _ in range(10):
            form.send_button.click()

    in_threads(press, 6)
    until(lambda: "sent and accepted" in form.outcome.value)
    assert len(choosy.acted) == 1


def test_an_action_with_fields_takes_them_from_choices_and_its_own_field_name(
    choosy: ChoosyProvider, cluster: Cluster
) -> None:
    form = opened(Actions(cluster), "note")
    until(lambda: control(form, "image").options == ("Ubuntu 24",))
    control(form, "image").value = "Ubuntu 24"
    until(lambda: "needed" in form.root.field("name")._note.value or "missing" in form.root.field("name")._note.value)
    control(form, "name").value = "mine"
    planned(form)
    assert form.agree is None, "nothing is disturbed"
    form.cell_button.click()
    assert form.cell.value == "%%cluster_action fake/demo note\nname: mine\nimage: ubuntu\n"
    form.send_button.click()
    until(lambda: "sent and accepted" in form.outcome.value)
    assert choosy.acted == [("note", {"action": "note", "name": "mine", "image": "ubuntu"})]


def test_the_cell_of_an_action_without_fields_is_a_line(cluster: Cluster) -> None:
    form = opened(Actions(cluster), "restart")
    form.cell_button.click()
    assert form.cell.value == "%cluster_action fake/demo restart\n"


def test_a_refusal_is_told_and_nothing_is_sent_again_by_itself(choosy: ChoosyProvider, cluster: Cluster) -> None:
    choosy.books.before_work = choosy.books.refuse
    form = agreed(opened(Actions(cluster), "restart"))
    form.send_button.click()
    until(lambda: "no such image" in form.outcome.value)
    form.send_button.click()
    assert len(choosy.acted) == 1


def test_one_form_is_open_at_a_time_and_pressing_again_closes_it(cluster: Cluster) -> None:
    actions = Actions(cluster)
    first = opened(actions, "note")
    second = opened(actions, "restart")
    assert first.widget.comm is None
    assert actions.area is not None
    actions.area.buttons["restart"].click()
    assert actions.area.form is None
    assert second.widget.comm is None
    assert second.lists._fields == []


def test_nothing_can_be_done_to_a_deleted_cluster(cluster: Cluster) -> None:
    actions = Actions(cluster)
    actions.update(cluster.model_copy(update={"phase": ClusterPhase.DELETED}))
    assert actions.area is not None
    assert all(button.disabled and button.tooltip == "It is deleted" for button in actions.area.buttons.values())
