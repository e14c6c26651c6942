"""The create form driven as a person does: fill in, look at the plan, agree, press."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from jupyter_gpu_clusters.core import bridge
from jupyter_gpu_clusters.core.errors import SettingsError
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.widgets import cluster_form
from jupyter_gpu_clusters.widgets.create_form import CreateForm

from ..until import until
from .driving import agreed, control, note, planned, states_in
from .paid import PaidProvider, dollars


def set_nodes(form: CreateForm, nodes: int) -> None:
    control(form, "nodes").value = nodes


def test_a_fresh_form_asks_without_complaining(local: Service) -> None:
    form = cluster_form()
    until(lambda: "Fill in the fields" in form.plan_view.value)
    assert form.account.value == "local"
    assert form.message.value == ""
    assert form.send_button.disabled


def test_an_unknown_account_is_an_error_with_the_nearest_name(local: Service) -> None:
    with pytest.raises(SettingsError, match="Did you mean 'local'"):
        cluster_form("locl")


def test_the_plan_follows_what_is_filled_in(local: Service) -> None:
    form = cluster_form()
    form.name.value = "demo"
    planned(form)
    assert "<b>1</b>" in form.plan_view.value
    assert "<b>free</b>" in form.plan_view.value
    set_nodes(form, 3)
    assert form.send_button.disabled, "the old plan is void at once"
    planned(form)
    assert "<b>3</b>" in form.plan_view.value
    assert not form.send_button.disabled


def test_a_problem_stands_beside_its_field_and_goes_when_it_is_corrected(local: Service) -> None:
    form = cluster_form()
    form.name.value = "demo"
    set_nodes(form, 0)
    until(lambda: "must be at least 1, not 0" in note(form, "nodes"))
    assert form.message.value == ""
    assert form.send_button.disabled
    set_nodes(form, 1)
    planned(form)
    assert "must be" not in note(form, "nodes")


def test_all_problems_are_told_at_once(local: Service) -> None:
    form = cluster_form()
    set_nodes(form, 0)
    control(form, "gpus_per_node").value = -1
    until(lambda: "must be at least 0" in note(form, "gpus_per_node"))
    assert "must be at least 1" in note(form, "nodes")
    assert "a cluster needs a name" in form.name_note.value


def test_a_name_the_provider_refuses_is_told_beside_it(local: Service) -> None:
    form = cluster_form()
    form.name.value = "Not A Name!"
    until(lambda: "lower-case" in form.name_note.value)
    assert form.send_button.disabled


def test_what_the_provider_cannot_do_is_said_with_the_reason(
    paid: PaidProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(bridge.service()), "spec_model", _refuse)
    form = cluster_form("fake")
    assert "rents nothing" in form.message.value
    assert form.send_button.disabled


def _refuse(_: Service, account: str) -> type:
    raise SettingsError(f"{account} rents nothing.", hint="Use another account.")


def test_creating_shows_the_live_card_of_the_new_cluster(local: Service) -> None:
    form = cluster_form("local")
    form.name.value = "demo"
    set_nodes(form, 2)
    planned(form).send_button.click()
    until(lambda: form.card.children)
    card = form.card.children[0].children[0]
    until(lambda: "running" in card.value)
    assert "local/demo" in card.value
    assert "✔" in form.outcome.value
    assert form.send_button.disabled, "the plan is used up"
    (cluster,) = bridge.call(local.refresh).clusters
    assert (cluster.name, cluster.node_count) == ("demo", 2)


def test_a_double_click_creates_once(paid: PaidProvider) -> None:
    form = cluster_form()
    form.name.value = "demo"
    agreed(form)
    for _ in range(5):
        form.send_button.click()
    until(lambda: form.card.children)
    for _ in range(5):
        form.send_button.click()
    assert paid.books.creates == 1
    assert form.send_button.disabled


def test_two_threads_pressing_at_once_create_once(paid: PaidProvider) -> None:
    form = cluster_form()
    form.name.value = "demo"
    agreed(form)
    start = threading.Barrier(8)

    def press() -> None:
        start.wait()
        for _ in range(20):
            form.send_button.click()

    in_threads(press, 8)
    until(lambda: form.card.children)
    assert paid.books.creates == 1


def in_threads(work: Callable[[], None], count: int) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_nothing_can_be_sent_while_sending_even_with_a_new_plan(paid: PaidProvider) -> None:
    paid.create_gate = threading.Event()
    form = cluster_form()
    form.name.value = "demo"
    agreed(form).send_button.click()
    set_nodes(form, 4)
    planned(form)
    form.agree.value = True
    assert form.send_button.disabled
    form.send_button.click()
    paid.create_gate.set()
    until(lambda: form.card.children)
    assert paid.books.creates == 1
    until(lambda: not form.send_button.disabled)


def test_only_the_newest_plan_is_shown_however_late_an_older_one_comes(paid: PaidProvider) -> None:
    paid.plan_gates[3] = threading.Event()
    form = cluster_form()
    form.name.value = "demo"
    set_nodes(form, 3)
    until(lambda: 3 in paid.planned)
    set_nodes(form, 5)
    planned(form)
    assert "<b>40</b>" in form.plan_view.value
    paid.plan_gates[3].set()
    set_nodes(form, 6)
    planned(form)
    assert "<b>48</b>" in form.plan_view.value
    assert form._plan is not None
    assert form._plan.nodes == 6


def test_a_slow_plan_for_old_values_is_never_shown(paid: PaidProvider) -> None:
    paid.plan_gates = {3: threading.Event(), 4: threading.Event()}
    form = cluster_form()
    form.name.value = "demo"
    set_nodes(form, 3)
    until(lambda: 3 in paid.planned)
    set_nodes(form, 4)
    until(lambda: 4 in paid.planned)
    paid.plan_gates[3].set()
    shown: list[str] = []
    form.plan_view.observe(lambda change: shown.append(change["new"]), names="value")
    paid.plan_gates[4].set()
    planned(form)
    assert not any("<b>24</b>" in value for value in shown)
    assert "<b>32</b>" in form.plan_view.value


def test_typing_fast_asks_for_one_plan(paid: PaidProvider) -> None:
    form = cluster_form()
    for end in range(1, len("my-cluster") + 1):
        form.name.value = "my-cluster"[:end]
    planned(form)
    assert len(paid.planned) <= 2, "one for what stands there after the pause, at most one before"
    assert form._plan is not None
    assert form._plan.name == "my-cluster"


def test_a_paid_plan_needs_a_tick_that_names_the_price(paid: PaidProvider) -> None:
    form = cluster_form()
    form.name.value = "demo"
    planned(form)
    assert form.agree.description == "I agree to pay 10.00 USD per hour until it is deleted"
    assert form.send_button.disabled
    form.send_button.click()
    assert paid.books.creates == 0
    form.agree.value = True
    assert not form.send_button.disabled
    form.agree.value = False
    assert form.send_button.disabled


def test_the_tick_is_for_this_plan_only(paid: PaidProvider) -> None:
    form = cluster_form()
    form.name.value = "demo"
    agreed(form)
    set_nodes(form, 2)
    assert form._agree_box.children == ()
    planned(form)
    assert form.agree.value is False
    assert form.send_button.disabled


def test_a_tick_that_comes_late_for_an_older_plan_counts_for_nothing(paid: PaidProvider) -> None:
    form = cluster_form()
    form.name.value = "demo"
    old_tick = planned(form).agree
    paid.pricing = {"price_per_hour": dollars(20)}
    form.again_button.click()
    planned(form)
    old_tick.value = True
    assert form.agree.description.startswith("I agree to pay 20.00 USD")
    assert form.agree.value is False
    assert form.send_button.disabled


@pytest.mark.parametrize(
    ("pricing", "words"),
    [
        ({"price_per_hour": None}, "I agree although the price is unknown"),
        (
            {"commitment": dollars(7200)},
            "I agree to pay 7,200.00 USD in all (10.00 USD per hour), also if it is deleted",
        ),
    ],
)
def test_unknown_prices_and_commitments_are_agreed_to_in_words(
    paid: PaidProvider, pricing: dict[str, Any], words: str
) -> None:
    paid.pricing = pricing
    form = cluster_form()
    form.name.value = "demo"
    planned(form)
    assert words in form.agree.description


def test_a_stale_consent_sends_nothing_and_asks_again(paid: PaidProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    form = cluster_form()
    form.name.value = "demo"
    agreed(form)
    monkeypatch.setattr("jupyter_gpu_clusters.core.consent.VALID_FOR_S", -1.0)
    form.send_button.click()
    until(lambda: "older than" in form.outcome.value)
    assert paid.books.creates == 0
    planned(form)
    assert form.agree.value is False


def test_a_refused_create_is_told_and_sent_again_only_after_a_new_plan(paid: PaidProvider) -> None:
    paid.books.before_work = paid.books.refuse
    form = cluster_form()
    form.name.value = "demo"
    agreed(form).send_button.click()
    until(lambda: "no such image" in form.outcome.value)
    form.send_button.click()
    assert paid.books.creates == 1
    paid.books.before_work = lambda: None
    form.again_button.click()
    agreed(form).send_button.click()
    until(lambda: form.card.children)
    assert paid.books.creates == 2


def test_a_fault_of_ours_ends_the_wait_and_shows_no_message(
    paid: PaidProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> None:
        raise RuntimeError("planted-detail")

    monkeypatch.setattr(paid, "plan_cluster", fail)
    form = cluster_form()
    form.name.value = "demo"
    until(lambda: "fault in jupyter-gpu-clusters (RuntimeError in test_create_form.py" in form.message.value)
    assert "planted-detail" not in form.message.value


def test_the_cell_is_shown_kept_up_to_date_and_hidden(local: Service) -> None:
    form = cluster_form()
    form.name.value = "demo"
    form.cell_button.click()
    assert form.cell.value == "%cluster_create local --name demo\n"
    set_nodes(form, 2)
    assert form.cell.value == "%%cluster_create local --name demo\nnodes: 2\n"
    form.cell_button.click()
    assert form.cell.layout.display == "none"


def test_the_form_is_one_line_of_text_in_a_terminal(local: Service, capsys: pytest.CaptureFixture[str]) -> None:
    form = cluster_form()
    form._ipython_display_()
    said = capsys.readouterr().out
    assert said.startswith("Create a cluster: a form.")
    assert "%%cluster_create" in said


def test_secrets_reach_the_provider_and_stand_in_no_widget(wide: PaidProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTRY_PASSWORD", "planted-secret")
    form = cluster_form()
    form.name.value = "demo"
    control(form, "password").value = "env:REGISTRY_PASSWORD"
    control(form, "image").value = "x"
    until(lambda: "3 " in note(form, "image") and "✖" in note(form, "image"))
    form.cell_button.click()
    control(form, "image").value = "repo/image"
    control(form, "region").label = "delhi"
    needed: Any = form.root.field("needed")
    needed.field("container").control.value = "80"
    planned(form)
    spec: Any = wide.specs[-1]
    assert spec.password.get_secret_value() == os.environ["REGISTRY_PASSWORD"]
    assert "planted-secret" not in repr(states_in(form.widget))


def test_a_missing_environment_variable_is_a_problem_of_its_field(wide: PaidProvider) -> None:
    form = cluster_form()
    form.name.value = "demo"
    control(form, "password").value = "env:NOT_SET_ANYWHERE"
    until(lambda: "NOT_SET_ANYWHERE is not set" in note(form, "password"))


def test_changing_the_account_drops_the_old_fields(local: Service) -> None:
    form = cluster_form()
    old = form.root.field("nodes").widget
    form.use_model("local", lambda: local.workload_model("local"))
    assert old.comm is None, "closed, so that rebuilt forms do not pile up"
    assert form.root.field("command") is not None
