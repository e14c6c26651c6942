"""Controls of every kind: what is filled in becomes plain data, and problems stand beside their fields."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from jupyter_gpu_clusters.core.errors import Problem, SpecError
from jupyter_gpu_clusters.core.references import Masked, Reference
from jupyter_gpu_clusters.core.specs import build_spec
from jupyter_gpu_clusters.widgets import pairs
from jupyter_gpu_clusters.widgets.editor import Collected, Host, place_problems
from jupyter_gpu_clusters.widgets.nested import GroupEditor, VariantsEditor
from jupyter_gpu_clusters.widgets.pairs import PairsEditor
from jupyter_gpu_clusters.widgets.shapes import MISSING, Kind, Shape, shapes_of
from jupyter_gpu_clusters.widgets.values import Lookup

from .filled import Filled, note_of, widgets_in
from .models import Everything


@pytest.fixture
def form() -> Filled:
    return Filled()


def test_an_untouched_form_sends_nothing_but_the_empty_required_group(form: Filled) -> None:
    data, collected = form.written()
    assert data == {"needed": {}}
    assert collected.problems == []


@pytest.mark.parametrize(
    ("key", "typed", "value"),
    [
        ("image", "repo/image:1", "repo/image:1"),
        ("workers", 3, 3),
        ("gpus_per_node", "8", 8),
        ("share", 0.25, 0.25),
        ("budget", "12.50", "12.50"),
        ("until", "2030-01-31T18:00:00Z", "2030-01-31T18:00:00Z"),
        ("is_spot", True, True),
        ("port_or_name", "8080", 8080),
        ("port_or_name", "http", "http"),
        ("tags", "one\n\ntwo words\n", ["one", "two words"]),
        ("ranks", "0\n 1", [0, 1]),
        (
            "routes",
            "a:\n- container: 80\n- container: 443\n  external: 8443",
            {"a": [{"container": 80}, {"container": 443, "external": 8443}]},
        ),
        ("anything", "a: [1, no]", {"a": [1, "no"]}),
        ("anything", "null", None),
        ("gpuDevicesRequest", "2", "2"),
    ],
)
def test_what_is_typed_becomes_plain_data(form: Filled, key: str, typed: Any, value: Any) -> None:
    form.set(key, typed)
    assert form.changes == 1
    assert form.value_of(key) == value


@pytest.mark.parametrize("key", ["image", "gpus_per_node", "budget", "script", "tags", "routes", "password"])
def test_an_emptied_field_is_left_out(form: Filled, key: str) -> None:
    form.set(key, "env:X" if key == "password" else "5")
    form.set(key, "  " if key != "password" else "")
    assert form.value_of(key) is MISSING


def test_a_value_set_back_to_its_default_is_not_sent(form: Filled) -> None:
    form.set("workers", 5)
    form.set("workers", 2)
    form.set("is_spot", True)
    form.set("is_spot", False)
    form.choose("policy", "Always")
    form.choose("policy", "Never")
    assert form.written()[0] == {"needed": {}}


def test_choices_send_their_value_and_not_set_sends_nothing(form: Filled) -> None:
    form.choose("policy", "Always")
    form.choose("plan", "monthly")
    form.choose("region", "mumbai")
    form.choose("has_infiniband", "no")
    data, _ = form.written()
    assert (data["policy"], data["plan"], data["region"], data["has_infiniband"]) == (
        "Always",
        "monthly",
        "mumbai",
        False,
    )
    form.choose("plan", "(not set)")
    form.choose("has_infiniband", "(not set)")
    data, _ = form.written()
    assert "plan" not in data
    assert "has_infiniband" not in data


def test_whole_numbers_outside_the_limits_are_kept_so_that_the_problem_can_be_shown(form: Filled) -> None:
    form.set("workers", 0)
    assert form.value_of("workers") == 0


def test_rows_of_names_and_values(form: Filled) -> None:
    labels = form["labels"]
    assert isinstance(labels, PairsEditor)
    labels.add_button.click()
    labels.add_row("team", "vision")
    first, second = labels.rows.children
    assert form.value_of("labels") == {"team": "vision"}
    first.children[0].value, first.children[2].value = "a", "1"
    assert form.value_of("labels") == {"a": "1", "team": "vision"}
    second.children[3].click()
    assert form.value_of("labels") == {"a": "1"}


def test_values_of_a_mapping_of_numbers_are_numbers(form: Filled) -> None:
    form["limits"].add_row("gpu", "4")
    assert form.value_of("limits") == {"gpu": 4}


def test_rows_without_a_name_or_with_one_name_twice_are_told(form: Filled) -> None:
    form["labels"].add_row("", "lost")
    form["labels"].add_row("a", "1")
    form["labels"].add_row("a", "2")
    _, collected = form.written()
    assert collected.problems == [Problem("labels", "a value has no name"), Problem("labels", "a is there twice")]


def test_rows_are_bounded(form: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "_MOST_PAIRS", 5)
    for _ in range(9):
        form["labels"].add_button.click()
    assert len(form["labels"].rows.children) == 5


def test_environment_values_are_masked_but_their_names_are_not(form: Filled) -> None:
    form["env"].add_row("TOKEN", "planted")
    value = form.value_of("env")
    assert value == {"TOKEN": Masked("planted")}
    assert "planted" not in repr(value)


def test_a_group_without_switch_is_sent_only_when_something_in_it_is_set(form: Filled) -> None:
    resources = form["resources"]
    assert form.value_of("resources") is MISSING
    resources.field("memory").control.value = "8G"
    assert form.value_of("resources") == {"memory": "8G"}


def test_an_optional_group_is_built_and_sent_when_it_is_switched_on(form: Filled) -> None:
    override = form["override"]
    assert list(override.children()) == []
    override.switch.value = True
    assert form.value_of("override") == {}
    override.field("devices").control.value = "4"
    assert form.value_of("override") == {"devices": 4}
    override.switch.value = False
    assert form.value_of("override") is MISSING


def test_one_of_several_groups_sends_its_tag_and_its_fields(form: Filled) -> None:
    storage = form["storage"]
    assert isinstance(storage, VariantsEditor)
    assert form.value_of("storage") is MISSING
    storage.choice.value = "nfs"
    server: Any = storage.group().field("server")
    server.control.value = "10.0.0.1"
    assert form.value_of("storage") == {"kind": "nfs", "server": "10.0.0.1"}
    storage.choice.value = "host_path"
    assert form.value_of("storage") == {"kind": "host_path"}
    storage.choice.value = "nfs"
    assert form.value_of("storage") == {"kind": "nfs", "server": "10.0.0.1"}


def test_the_default_group_of_several_is_not_sent_untouched(form: Filled) -> None:
    assert form["root"].choice.value == "host_path"
    assert form.value_of("root") is MISSING
    assert form["root"].group().field("path").control.placeholder == "/"
    form["root"].group().field("path").control.value = "/data"
    assert form.value_of("root") == {"kind": "host_path", "path": "/data"}


def test_changing_one_value_of_a_group_keeps_its_other_defaults() -> None:
    class Inner(BaseModel):
        cpus: int = 1
        memory: str = "1G"
        note: str | None = None

    class Own(BaseModel):
        inner: Inner = Inner(cpus=4)

    root = GroupEditor(Shape("", Kind.GROUP, "", fields=shapes_of(Own)), (), Host(lambda: None))
    inner: Any = root.field("inner")
    assert inner.field("cpus").control.value == 4
    assert root.written(Collected()) is MISSING
    inner.field("note").control.value = "x"
    assert root.written(Collected()) == {"inner": {"cpus": 4, "note": "x"}}
    inner.field("cpus").control.value = 1
    assert root.written(Collected()) == {"inner": {"cpus": 1, "note": "x"}}


def test_yaml_boxes_tell_line_and_place_of_their_faults(form: Filled) -> None:
    form.set("routes", "a: 1\n\tb: 2")
    _, collected = form.written()
    assert [(p.field, p.line) for p in collected.problems] == [("routes", 2)]


def test_yaml_boxes_pass_the_lines_of_their_values_on(form: Filled) -> None:
    form.set("routes", "a:\n- container: 80\n- container: 0")
    data, collected = form.written()
    with pytest.raises(SpecError) as caught:
        build_spec(Everything, data, collected.lines)
    (problem,) = [p for p in caught.value.problems if p.field.startswith("routes")]
    assert (problem.field, problem.line) == ("routes.a[1].container", 3)


def test_a_name_alone_after_a_dollar_sign_is_a_notebook_variable(form: Filled) -> None:
    form.set("image", "$image")
    form.set("tags", "a\n$tag")
    form.set("anything", "x: $value\ny: '$quoted'")
    data, _ = form.written()
    assert data["image"] == Reference("notebook", "image")
    assert data["tags"] == ["a", Reference("notebook", "tag")]
    assert data["anything"] == {"x": Reference("notebook", "value"), "y": "$quoted"}


def test_references_are_looked_up_with_their_type_and_missing_ones_are_told() -> None:
    lookup = Lookup({"count": 3}, {"HF": "s3cret"})
    written = {
        "nodes": Reference("notebook", "count"),
        "env": {"T": Masked(Reference("env", "HF")), "U": Reference("env", "NOPE")},
        "l": [Reference("notebook", "gone")],
    }
    plain = lookup.plain(written)
    assert plain["nodes"] == 3
    assert plain["env"]["T"] == "s3cret"
    assert {problem.field for problem in lookup.problems} == {"env.U", "l[0]"}
    assert {("nodes",), ("env", "T")} <= lookup.hidden


def test_a_secret_field_takes_references_only(form: Filled) -> None:
    form.set("password", "env:REGISTRY_PASSWORD")
    assert form.value_of("password") == Masked(Reference("env", "REGISTRY_PASSWORD"))
    form.set("password", "$password")
    assert form.value_of("password") == Masked(Reference("notebook", "password"))


def test_a_secret_typed_in_is_taken_out_of_the_control_at_once(form: Filled) -> None:
    form.set("password", "planted-secret")
    state = repr([widget.get_state() for widget in widgets_in(form.root.widget)])
    assert "planted-secret" not in state
    data, collected = form.written()
    assert "password" not in data
    assert [problem.field for problem in collected.problems] == ["password"]
    form.set("password", "")
    assert form.written()[1].problems == []


def test_problems_stand_beside_their_fields_and_the_rest_is_given_back(form: Filled) -> None:
    form["override"].switch.value = True
    form["storage"].choice.value = "nfs"
    problems = [
        Problem("workers", "must be at least 1, not 0."),
        Problem("override.cpus", "must be more than 0."),
        Problem("storage.server", "is missing."),
        Problem("env.TOKEN", "must be text."),
        Problem("routes.a[1].container", "must be at least 1.", 3),
        Problem("", "either this or that."),
        Problem("unheard", "is not known."),
    ]
    rest = place_problems(problems, form.root)
    assert [problem.field for problem in rest] == ["", "unheard"]
    assert "must be at least 1, not 0." in form.note("workers")
    assert "must be more than 0." in note_of(form["override"].field("cpus"))
    assert "is missing." in note_of(form["storage"].group().field("server"))
    assert "TOKEN: must be text." in form.note("env")
    assert "line 3: a[1].container: must be at least 1." in form.note("routes")
    place_problems([], form.root)
    assert not any('role="alert"' in note_of(editor) for editor in form.root.everything())


def test_problems_of_a_group_that_is_switched_off_stand_at_the_group(form: Filled) -> None:
    assert place_problems([Problem("override.cpus", "is wrong.")], form.root) == []
    assert "cpus: is wrong." in form.note("override")


def test_problem_text_is_escaped(form: Filled) -> None:
    place_problems([Problem("image", "is <script>alert(1)</script>")], form.root)
    assert "<script>" not in form.note("image")
    assert "&lt;script&gt;" in form.note("image")


def test_help_says_limits_default_and_need(form: Filled) -> None:
    assert "Where the image is pulled from. 3 to 40 characters; required." in form.note("image")
    assert "Without the master. 1 to 64; default 2." in form.note("workers")


def test_controls_have_labels_in_one_column_and_the_written_name_as_tooltip(form: Filled) -> None:
    controls = [form[key].control for key in ("image", "workers", "policy", "script", "is_spot")]
    assert {control.style.description_width for control in controls} == {"13em"}
    assert [control.tooltip for control in controls] == ["image", "workers", "policy", "script", "is_spot"]
    assert form["image"].control.description == "Container image"


def test_a_filled_form_builds_the_model_it_came_from(form: Filled) -> None:
    form.set("image", "repo/image")
    form.choose("region", "delhi")
    form["needed"].field("container").control.value = "80"
    form.set("budget", "10.5")
    form["env"].add_row("A", "1")
    data, collected = form.written()
    lookup = Lookup({}, {})
    spec = build_spec(Everything, lookup.plain(data), collected.lines)
    assert spec.needed.container == 80
    assert str(spec.budget) == "10.5"
    assert spec.env == {"A": "1"}
    assert spec.model_fields_set == {"image", "region", "needed", "budget", "env"}
