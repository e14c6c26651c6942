"""Fields with choices: what is offered, what is sent, when lists are asked for, and what happens when they fail."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from jupyter_gpu_clusters.core import bridge
from jupyter_gpu_clusters.core.choices import Choice
from jupyter_gpu_clusters.core.models import Listing
from jupyter_gpu_clusters.widgets import choice_lists, cluster_form
from jupyter_gpu_clusters.widgets.create_form import CreateForm
from jupyter_gpu_clusters.widgets.draft import written_in
from jupyter_gpu_clusters.widgets.options import fixed_options, options_of

from ..until import until
from .choosy import ChoosyProvider, listing, refuse
from .driving import agreed, control, planned, states_in
from .test_create_form import in_threads


@pytest.fixture
def form(choosy: ChoosyProvider) -> CreateForm:
    return cluster_form("fake")


def field(form: CreateForm, key: str) -> Any:
    return form.root.field(key)


def offered(form: CreateForm, key: str) -> tuple[str, ...]:
    labels: tuple[str, ...] = field(form, key).box.options
    return labels


def test_labels_are_offered_and_the_value_of_the_chosen_one_is_sent(choosy: ChoosyProvider, form: CreateForm) -> None:
    until(lambda: offered(form, "sku") and offered(form, "image"))
    assert offered(form, "sku") == ("H200 in Delhi", "L40S in Delhi - not now: none is free")
    control(form, "sku").value = "H200 in Delhi"
    control(form, "image").value = "Ubuntu 24"
    assert written_in(form.root) == {"sku": 17, "image": "ubuntu"}
    form.name.value = "demo"
    agreed(form).send_button.click()
    until(lambda: form.card.children)
    spec: Any = choosy.specs[-1]
    assert (spec.sku, spec.image) == (17, "ubuntu")


def test_anything_can_be_written_and_keeps_its_type(form: CreateForm) -> None:
    until(lambda: offered(form, "sku") and offered(form, "image"))
    control(form, "sku").value = "99"
    control(form, "image").value = "99"
    assert written_in(form.root) == {"sku": 99, "image": "99"}
    assert "Not in the list; it is sent as it stands." in field(form, "image").line.value
    control(form, "sku").value = "17"
    assert written_in(form.root)["sku"] == 17
    assert "GPUs 8" in field(form, "sku").line.value


def test_a_list_field_takes_several_choices_and_free_entries(form: CreateForm) -> None:
    until(lambda: offered(form, "keys"))
    keys = field(form, "keys")
    for text in ("laptop", "desktop", "laptop", "99"):
        keys.box.value = text
        keys.add_button.click()
    assert keys.control.value == "laptop\ndesktop\n99", "each of them once"
    assert keys.box.value == ""
    assert written_in(form.root) == {"keys": [7, 8, 99]}


def test_the_shown_cell_has_the_values(form: CreateForm) -> None:
    until(lambda: offered(form, "sku") and offered(form, "keys"))
    form.name.value = "demo"
    control(form, "sku").value = "H200 in Delhi"
    control(form, "keys").value = "laptop"
    form.cell_button.click()
    assert form.cell.value == "%%cluster_create fake --name demo\nsku: 17\nkeys:\n  - 7\n"


def test_a_choice_that_cannot_be_had_now_says_why(form: CreateForm) -> None:
    until(lambda: offered(form, "sku"))
    control(form, "sku").value = offered(form, "sku")[1]
    assert "Cannot be chosen now: none is free" in field(form, "sku").line.value
    assert written_in(form.root) == {"sku": 18}, "the service decides"


def test_a_change_of_what_a_list_depends_on_loads_it_again_and_no_other(
    choosy: ChoosyProvider, form: CreateForm
) -> None:
    until(lambda: offered(form, "sku") and offered(form, "image"))
    control(form, "location").value = "Chennai"
    until(lambda: offered(form, "sku")[:1] == ("H200 in Chennai",))
    assert choosy.count("skus", location="Chennai") == 1
    assert choosy.count("images") == 1


def test_typing_fast_asks_once(choosy: ChoosyProvider, form: CreateForm) -> None:
    until(lambda: offered(form, "sku"))
    for end in range(1, len("Chennai") + 1):
        control(form, "location").value = "Chennai"[:end]
    until(lambda: offered(form, "sku")[:1] == ("H200 in Chennai",))
    assert len([1 for name, _ in choosy.asked if name == "skus"]) <= 3, (
        "one at first, one at the end, at most one between"
    )


def test_two_fields_with_the_same_question_ask_once(choosy: ChoosyProvider) -> None:
    choosy.gates["skus", None] = threading.Event()
    form = cluster_form("fake")
    until(lambda: choosy.count("skus"))
    form.lists.follow()
    control(form, "nodes").value = 2
    planned_or_refused(form)
    assert choosy.count("skus") == 1
    choosy.gates["skus", None].set()
    until(lambda: offered(form, "sku") and offered(form, "same"))
    assert choosy.count("skus") == 1


def planned_or_refused(form: CreateForm) -> None:
    form.name.value = "demo"
    planned(form)


def test_an_older_answer_never_takes_the_place_of_a_newer_one(choosy: ChoosyProvider, form: CreateForm) -> None:
    until(lambda: offered(form, "sku"))
    choosy.gates["skus", "Chennai"] = threading.Event()
    control(form, "location").value = "Chennai"
    until(lambda: choosy.count("skus", location="Chennai"))
    assert offered(form, "sku") == (), "a list for another place is void"
    control(form, "location").value = "Mumbai"
    until(lambda: offered(form, "sku")[:1] == ("H200 in Mumbai",))
    seen: list[Any] = []
    control(form, "sku").observe(lambda change: seen.append(change["new"]), names="options")
    choosy.gates["skus", "Chennai"].set()
    until(lambda: choosy.now == 0)
    control(form, "location").value = "Pune"
    until(lambda: offered(form, "sku")[:1] == ("H200 in Pune",))
    assert not any("Chennai" in label for labels in seen for label in labels)


def test_the_form_works_while_lists_are_slow_or_fail(choosy: ChoosyProvider) -> None:
    choosy.gates["images", None] = threading.Event()
    choosy.answers["skus"] = refuse
    form = cluster_form("fake")
    form.name.value = "demo"
    planned(form)
    until(lambda: "No list: The list needs a location." in field(form, "sku").line.value)
    assert "Looking up" in field(form, "image").line.value
    agreed(form).send_button.click()
    until(lambda: form.card.children)


def test_a_failed_list_is_asked_again_on_demand_for_all_fields_that_show_it(choosy: ChoosyProvider) -> None:
    good = choosy.answers["skus"]
    choosy.answers["skus"] = refuse
    form = cluster_form("fake")
    until(lambda: "No list" in field(form, "sku").line.value and "No list" in field(form, "same").line.value)
    assert field(form, "sku").again_button.layout.display == ""
    assert "Fill in `location` first." in field(form, "sku").line.value
    choosy.answers["skus"] = good
    before = choosy.count("skus")
    in_threads(field(form, "sku").again_button.click, 3)
    until(lambda: offered(form, "sku") and offered(form, "same"))
    assert choosy.count("skus") - before >= 1
    assert field(form, "sku").again_button.layout.display == "none"


def test_pressing_try_again_many_times_asks_one_at_a_time(choosy: ChoosyProvider) -> None:
    choosy.answers["skus"] = refuse
    form = cluster_form("fake")
    until(lambda: "No list" in field(form, "sku").line.value)
    choosy.gates["skus", None] = threading.Event()
    before = choosy.count("skus")
    for _ in range(10):
        field(form, "sku").again_button.click()
    until(lambda: choosy.count("skus") > before)
    assert choosy.count("skus") == before + 1


def test_an_incomplete_list_and_an_empty_one_say_so(choosy: ChoosyProvider) -> None:
    choosy.answers["images"] = lambda _: listing(
        Choice(value="a", label="a"), is_complete=False, not_seen=("Chennai <b>",)
    )
    choosy.answers["keys"] = lambda _: listing()
    form = cluster_form("fake")
    until(lambda: "not complete" in field(form, "image").line.value)
    assert "Not seen: Chennai &lt;b&gt;." in field(form, "image").line.value
    until(lambda: "nothing to choose from" in field(form, "keys").line.value)


def test_a_list_that_takes_too_long_is_given_up(choosy: ChoosyProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice_lists, "LOOK_UP_WITHIN_S", 0.1)
    choosy.gates["images", None] = threading.Event()
    form = cluster_form("fake")
    threading.Timer(1.0, choosy.gates["images", None].set).start()
    until(lambda: "no answer within" in field(form, "image").line.value)


def test_a_fault_of_ours_is_said_without_its_message(choosy: ChoosyProvider) -> None:
    def fail(_: Any) -> Listing[Choice]:
        raise RuntimeError("planted-detail")

    choosy.answers["images"] = fail
    form = cluster_form("fake")
    until(lambda: "fault in jupyter-gpu-clusters (RuntimeError" in field(form, "image").line.value)
    assert "planted-detail" not in repr(states_in(form.widget))


def test_a_field_inside_a_list_gets_its_choices_when_it_is_opened(choosy: ChoosyProvider, form: CreateForm) -> None:
    until(lambda: offered(form, "sku"))
    assert choosy.count("volumes") == 0, "nobody has opened it"
    mounts = field(form, "mounts")
    mounts.add()
    mounts.add()
    first, second = (entry.field("volume") for entry in mounts.entries)
    until(lambda: first.control.options == ("data",) and second.control.options == ("data",))
    assert choosy.count("volumes") == 1
    first.control.value = "data"
    second.control.value = "other"
    assert written_in(form.root) == {"mounts": [{"volume": "v-1"}, {"volume": "other"}]}


def test_closing_the_form_ends_its_look_ups(choosy: ChoosyProvider) -> None:
    choosy.gates["images", None] = threading.Event()
    form = cluster_form("fake")
    until(lambda: choosy.count("images"))
    running = list(form.lists._running.values())
    assert running
    form.widget.close()
    assert all(future.cancelled() for future in running)
    assert form.lists._running == {}
    asked = len(choosy.asked)
    form.lists.follow()
    choosy.gates["images", None].set()
    until(lambda: choosy.now == 0)
    assert len(choosy.asked) == asked


def test_changing_the_model_ends_the_look_ups_of_the_old_one(choosy: ChoosyProvider, form: CreateForm) -> None:
    until(lambda: offered(form, "sku"))
    old = field(form, "sku")
    choosy.gates["skus", "Chennai"] = threading.Event()
    control(form, "location").value = "Chennai"
    until(lambda: choosy.count("skus", location="Chennai"))
    form.use_model("fake", lambda: bridge.service().spec_model("fake"))
    choosy.gates["skus", "Chennai"].set()
    until(lambda: offered(form, "sku")[:1] == ("H200 in Delhi",))
    assert old.box.options == (), "an answer for a closed field is dropped"


def test_no_more_than_four_lists_are_asked_at_once(choosy: ChoosyProvider, form: CreateForm) -> None:
    until(lambda: offered(form, "sku") and offered(form, "image") and offered(form, "keys"))
    for number in range(8):
        choosy.gates["skus", f"place-{number}"] = threading.Event()
        control(form, "location").value = f"place-{number}"
        until(lambda: f"place-{number}" in repr(list(form.lists._running)))  # noqa: B023
    assert choosy.most <= 4
    for gate in choosy.gates.values():
        gate.set()
    until(lambda: offered(form, "sku")[:1] == ("H200 in place-7",))
    assert choosy.most <= 4


def test_equal_labels_are_told_apart_by_their_values() -> None:
    options = options_of(
        listing(Choice(value="a-1", label="mine"), Choice(value="a-2", label="mine"), Choice(value="b", label="b"))
    )
    assert options.labels == ("mine (a-1)", "mine (a-2)", "b")
    found = [options.find(label) for label in options.labels]
    assert [choice.value for choice in found if choice is not None] == ["a-1", "a-2", "b"]


def test_a_label_that_is_anothers_value_is_told_apart() -> None:
    options = options_of(listing(Choice(value=1, label="2"), Choice(value=2, label="x")))
    assert options.labels == ("2 (1)", "x")
    found = options.find("2")
    assert found is not None
    assert found.value == 2, "what is written is a value first"


def test_a_fixed_list_offers_its_words() -> None:
    assert fixed_options(["IPC_LOCK", "SYS_TIME"]).labels == ("IPC_LOCK", "SYS_TIME")
