"""What a form asks for follows from the model alone."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field, SecretStr, create_model

from jupyter_gpu_clusters.core.choices import looked_up
from jupyter_gpu_clusters.widgets.shapes import MISSING, Kind, humanised, shapes_of

from .models import Everything

SHAPES = {shape.key: shape for shape in shapes_of(Everything)}


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("image", Kind.TEXT),
        ("workers", Kind.INTEGER),
        ("gpus_per_node", Kind.INTEGER),
        ("share", Kind.NUMBER),
        ("budget", Kind.DECIMAL),
        ("until", Kind.TEXT),
        ("grace", Kind.TEXT),
        ("is_spot", Kind.FLAG),
        ("has_infiniband", Kind.FLAG),
        ("policy", Kind.CHOICE),
        ("plan", Kind.CHOICE),
        ("region", Kind.CHOICE),
        ("port_or_name", Kind.SCALAR),
        ("script", Kind.LONG_TEXT),
        ("tags", Kind.LINES),
        ("ranks", Kind.LINES),
        ("env", Kind.PAIRS),
        ("limits", Kind.PAIRS),
        ("password", Kind.SECRET),
        ("resources", Kind.GROUP),
        ("override", Kind.GROUP),
        ("needed", Kind.GROUP),
        ("ports", Kind.ITEMS),
        ("routes", Kind.YAML),
        ("environmentVariables", Kind.ITEMS),
        ("caps", Kind.LINES),
        ("storage", Kind.VARIANTS),
        ("root", Kind.VARIANTS),
        ("deep", Kind.GROUP),
        ("tree", Kind.GROUP),
        ("anything", Kind.YAML),
    ],
)
def test_every_kind_of_field_has_its_control(key: str, kind: Kind) -> None:
    assert SHAPES[key].kind is kind


def test_every_field_of_the_model_is_there_in_its_order_under_the_name_people_write() -> None:
    written = [info.alias or name for name, info in Everything.model_fields.items()]
    assert [shape.key for shape in shapes_of(Everything)] == written


def test_title_help_limits_and_need_come_from_the_model() -> None:
    image = SHAPES["image"]
    assert (image.label, image.help, image.limits, image.is_required) == (
        "Container image",
        "Where the image is pulled from",
        "3 to 40 characters",
        True,
    )


@pytest.mark.parametrize(
    ("key", "limits"),
    [
        ("workers", "1 to 64"),
        ("gpus_per_node", "at least 0"),
        ("share", "0 to 1"),
        ("budget", "more than 0"),
        ("until", "a time such as 2030-01-31T18:00:00Z"),
    ],
)
def test_limits_read_as_words(key: str, limits: str) -> None:
    assert SHAPES[key].limits == limits


def test_big_limits_are_written_in_full() -> None:
    class Big(BaseModel):
        size: int = Field(1, le=10_000_000)

    assert shapes_of(Big)[0].limits == "at most 10000000"


@pytest.mark.parametrize(
    ("key", "label"),
    [
        ("gpus_per_node", "GPUs per node"),
        ("restartPolicy", "Restart policy"),
        ("ssh_key_id", "SSH key ID"),
        ("workers", "Workers"),
    ],
)
def test_names_become_labels(key: str, label: str) -> None:
    assert humanised(key) == label


def test_nullable_fields_have_no_default_and_may_be_left_empty() -> None:
    shape = SHAPES["gpus_per_node"]
    assert shape.default is MISSING
    assert shape.is_nullable
    assert not shape.is_required


def test_defaults_are_plain_data() -> None:
    assert SHAPES["policy"].default == "Never"
    assert SHAPES["root"].default == {"kind": "host_path", "path": "/"}


def test_choices_are_the_values_to_send_without_null() -> None:
    assert SHAPES["plan"].choices == ("hourly", "monthly")
    assert SHAPES["policy"].choices == ("Never", "Always")


def test_variants_of_a_tagged_union_leave_the_tag_out() -> None:
    storage = SHAPES["storage"]
    assert storage.tag_key == "kind"
    assert [(v.tag, [field.key for field in v.fields]) for v in storage.variants] == [
        ("nfs", ["server", "read_only"]),
        ("host_path", ["path"]),
    ]


def test_recursive_models_end_in_yaml() -> None:
    kinds = []
    shape = SHAPES["tree"]
    while shape.kind is not Kind.YAML:
        inside = shape.entry.fields if shape.entry is not None else shape.fields
        shape = next(field for field in inside if field.key == "children")
        kinds.append(shape.kind)
    assert kinds == [Kind.ITEMS] * 5 + [Kind.YAML]


def test_groups_nested_too_deeply_for_a_form_become_yaml() -> None:
    models: list[type[BaseModel]] = [create_model("Leaf", x=(int, 1))]
    for level in range(8):
        fields: dict[str, Any] = {"inner": (models[-1], ...)}
        models.append(create_model(f"Level{level}", **fields))
    shape = shapes_of(models[-1])[0]
    kinds = [shape.kind]
    while shape.fields:
        shape = shape.fields[0]
        kinds.append(shape.kind)
    assert kinds == [Kind.GROUP] * 6 + [Kind.YAML]


def test_a_list_of_groups_has_the_fields_of_one_entry() -> None:
    entry = SHAPES["ports"].entry
    assert entry is not None
    assert [(field.key, field.is_required) for field in entry.fields] == [("container", True), ("external", False)]


def test_of_a_masked_list_of_groups_the_values_are_masked_and_the_names_are_not() -> None:
    variables = SHAPES["environmentVariables"]
    assert variables.entry is not None
    assert not variables.is_masked
    assert {field.key: field.is_masked for field in variables.entry.fields} == {
        "name": False,
        "value": True,
        "exclude": False,
    }


def test_a_list_of_groups_with_a_default_is_yaml_that_shows_it() -> None:
    class Port(BaseModel):
        container: int

    class Own(BaseModel):
        ports: list[Port] = [Port(container=80)]

    (shape,) = shapes_of(Own)
    assert shape.kind is Kind.YAML
    assert shape.default == [{"container": 80}]


def test_a_field_says_which_list_of_choices_it_has_and_what_that_depends_on() -> None:
    class Own(BaseModel):
        sku: int | None = Field(None, json_schema_extra=looked_up("skus", ["location", "spec.project"]))
        keys: list[str] = Field(default_factory=list, json_schema_extra=looked_up("ssh_keys"))

    sku, keys = shapes_of(Own)
    assert (sku.kind, sku.look_up, sku.depends_on) == (Kind.INTEGER, "skus", ("location", "spec.project"))
    assert (keys.kind, keys.look_up, keys.depends_on) == (Kind.LINES, "ssh_keys", ())


@pytest.mark.parametrize(("key", "is_masked"), [("env", True), ("script", True), ("password", True), ("labels", False)])
def test_environment_scripts_and_secrets_are_masked(key: str, is_masked: bool) -> None:
    assert SHAPES[key].is_masked is is_masked


def test_a_model_can_say_itself_what_is_masked_and_what_is_long() -> None:
    class Own(BaseModel):
        note: str = Field("", json_schema_extra={"masked": True, "multiline": True})

    (shape,) = shapes_of(Own)
    assert shape.is_masked
    assert shape.kind is Kind.LONG_TEXT


def test_a_secret_has_no_default_in_the_form() -> None:
    class Own(BaseModel):
        token: SecretStr = SecretStr("planted-secret")

    (shape,) = shapes_of(Own)
    assert shape.default is MISSING
    assert "planted" not in repr(shape)


def test_a_list_of_secrets_is_not_offered_as_visible_lines() -> None:
    class Own(BaseModel):
        tokens: list[SecretStr] = Field(default_factory=list)

    assert shapes_of(Own)[0].kind is Kind.YAML


def test_an_empty_model_has_no_fields() -> None:
    class Empty(BaseModel):
        pass

    shapes: tuple[Any, ...] = shapes_of(Empty)
    assert shapes == ()


def test_a_group_with_a_default_of_its_own_shows_those_values() -> None:
    class Inner(BaseModel):
        cpus: int = 1
        memory: str
        note: str | None = None

    class Own(BaseModel):
        inner: Inner = Inner(cpus=4, memory="8G")

    (shape,) = shapes_of(Own)
    assert [(field.key, field.default, field.is_required) for field in shape.fields] == [
        ("cpus", 4, False),
        ("memory", "8G", False),
        ("note", MISSING, False),
    ]
    assert shape.preset == {"cpus": 4, "memory": "8G"}


def test_yaml_fields_say_what_to_write() -> None:
    assert (
        SHAPES["routes"].help
        == "As YAML: mapping of names to list of mapping with container* (whole number), external (whole number)."
    )
    assert SHAPES["anything"].help == ""
