"""Groups and lists of groups: opened on demand, added, removed, and found by their problems."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pydantic import BaseModel, Field, create_model

from jupyter_gpu_clusters.core.errors import Problem
from jupyter_gpu_clusters.core.references import Masked
from jupyter_gpu_clusters.widgets import nested
from jupyter_gpu_clusters.widgets.editor import Collected, Host, place_problems
from jupyter_gpu_clusters.widgets.nested import GroupEditor
from jupyter_gpu_clusters.widgets.shapes import MISSING, Kind, Shape, shapes_of

from .filled import Filled, note_of


@pytest.fixture
def form() -> Filled:
    return Filled()


def test_entries_are_added_and_removed_and_problems_find_them_where_they_are_now(form: Filled) -> None:
    ports = form["ports"]
    for number in (80, 81, 82):
        ports.add()
        ports.entries[-1].field("container").control.value = str(number)
    remove = ports._rows.children[0].children[-1]
    gone = ports.entries[0].field("container")
    remove.click()
    remove.click()
    assert form.value_of("ports") == [{"container": 81}, {"container": 82}]
    assert gone.control.comm is None
    assert place_problems([Problem("ports[1].container", "is taken.")], form.root) == []
    assert "is taken." in note_of(ports.entries[1].field("container"))
    assert "is taken." not in note_of(ports.entries[0].field("container"))


def test_an_added_entry_that_is_left_empty_is_sent_so_that_its_problems_show(form: Filled) -> None:
    form["ports"].add()
    assert form.value_of("ports") == [{}]


def test_entries_are_bounded(form: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested, "_MOST_ENTRIES", 3)
    for _ in range(5):
        form["ports"].add_button.click()
    assert len(form["ports"].entries) == 3


def test_of_environment_entries_the_values_are_masked(form: Filled) -> None:
    form["environmentVariables"].add()
    (entry,) = form["environmentVariables"].entries
    entry.field("name").control.value = "TOKEN"
    entry.field("value").control.value = "planted"
    assert form.value_of("environmentVariables") == [{"name": "TOKEN", "value": Masked("planted")}]


def test_a_list_of_fixed_words_offers_them(form: Filled) -> None:
    caps = form["caps"]
    assert caps.box.options == ("IPC_LOCK", "SYS_TIME")
    caps.box.value = "IPC_LOCK"
    caps.add_button.click()
    assert form.value_of("caps") == ["IPC_LOCK"]


def test_a_problem_of_a_field_that_is_not_shown_yet_opens_its_place(form: Filled) -> None:
    assert not form.root.more_button.value
    assert place_problems([Problem("restartPolicy", "is unknown.")], form.root) == []
    assert form.root.more_button.value
    assert "is unknown." in form.note("restartPolicy")


def test_a_big_group_with_defaults_starts_closed_and_sends_nothing() -> None:
    inner: type[BaseModel] = create_model("Inner", **cast("Any", {f"f{number}": (int, 1) for number in range(20)}))
    own = create_model("Own", inner=(inner, Field(default_factory=inner)))
    root = GroupEditor(Shape("", Kind.GROUP, "", fields=shapes_of(own)), (), Host(lambda: None))
    group: Any = root.field("inner")
    assert group.children() == []
    assert group.more_button.description == "Show fields (20)"
    assert root.written(Collected()) is MISSING
    group.field("f3").control.value = 5
    assert root.written(Collected()) == {"inner": {"f3": 5}}
