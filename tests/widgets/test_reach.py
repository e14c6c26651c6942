"""Every field of every model has its place in a form, and what is filled in there arrives under its own name."""

from __future__ import annotations

import time
from typing import Any

import pytest
from pydantic import BaseModel, create_model

from jupyter_gpu_clusters.core.provider import ActsOnClusters, CreatesClusters, RunsWorkloads
from jupyter_gpu_clusters.core.references import Masked, Reference
from jupyter_gpu_clusters.core.registry import load
from jupyter_gpu_clusters.launch.spec import CommandSpec
from jupyter_gpu_clusters.providers.e2e.spec import E2ESpec
from jupyter_gpu_clusters.providers.lium.spec import LiumSpec
from jupyter_gpu_clusters.providers.local.spec import LocalSpec
from jupyter_gpu_clusters.providers.runai.spec import RunaiWorkload
from jupyter_gpu_clusters.widgets.editor import Collected, Host
from jupyter_gpu_clusters.widgets.nested import MOST_AT_FIRST, GroupEditor
from jupyter_gpu_clusters.widgets.shapes import Kind, Shape, shapes_of

from .filling import editor_at, field_paths, fill, value_at
from .models import Everything

SERVICES = ("e2e", "lium", "runai")


def models_of(name: str) -> list[type[BaseModel]]:
    """All models that a provider has forms for."""
    provider = load(name)
    models: list[type[BaseModel]] = []
    if issubclass(provider, CreatesClusters):
        models.append(provider.spec_model)
    if issubclass(provider, RunsWorkloads):
        models.append(provider.workload_model)
    if issubclass(provider, ActsOnClusters):
        models += [action.model for action in provider.actions.values()]
    return list(dict.fromkeys(models))


def form_over(model: type[BaseModel]) -> GroupEditor:
    return GroupEditor(Shape("", Kind.GROUP, "", fields=shapes_of(model)), (), Host(lambda: None))


def paths_of(model: type[BaseModel]) -> list[Any]:
    schema = model.model_json_schema(by_alias=True)
    return list(field_paths(schema, schema.get("$defs", {})))


def bare(value: Any) -> Any:
    """The value without masks; a masked reference is nobody's business."""
    match value:
        case Masked(value=Reference()):
            return None
        case Masked(value=inner):
            return bare(inner)
        case dict():
            return {key: bare(inner) for key, inner in value.items()}
        case list():
            return [bare(inner) for inner in value]
    return value


ALL = [LocalSpec, CommandSpec, Everything, *(model for name in SERVICES for model in models_of(name))]


@pytest.mark.parametrize("model", ALL, ids=lambda model: f"{model.__module__.split('.')[-2]}.{model.__name__}")
def test_every_field_has_an_editor_and_its_value_arrives_at_its_place(model: type[BaseModel]) -> None:
    root = form_over(model)
    expected = {}
    for path in paths_of(model):
        if any(isinstance(key, str) and "=" in key for key in path):
            continue
        editor, inside = editor_at(root, path)
        if inside:
            assert editor.shape.kind is Kind.YAML, path
            continue
        expected[path] = fill(editor)
    written = root.written(Collected())
    assert {path: bare(value_at(written, path)) for path in expected} == expected


def test_the_branches_of_a_tagged_union_are_reached() -> None:
    paths = [path for path in paths_of(Everything) if any("=" in str(key) for key in path)]
    assert {path[1] for path in paths} == {"kind=nfs", "kind=host_path"}
    for path in paths:
        root = form_over(Everything)
        editor, inside = editor_at(root, path)
        assert inside == ()
        value = fill(editor)
        assert bare(value_at(root.written(Collected()), path)) == value


@pytest.mark.parametrize("name", SERVICES)
def test_no_field_of_the_services_needs_yaml(name: str) -> None:
    for model in models_of(name):
        root = form_over(model)
        assert [path for path in paths_of(model) if editor_at(root, path)[0].shape.kind is Kind.YAML] == []


def test_the_deepest_field_of_runai_is_reached() -> None:
    path = ("spec", "storage", "pvc", 0, "claimInfo", "accessModes", "readWriteMany")
    assert path in paths_of(RunaiWorkload)
    root = form_over(RunaiWorkload)
    editor, inside = editor_at(root, path)
    assert inside == ()
    fill(editor)
    claim = {"accessModes": {"readWriteMany": False}}
    assert root.written(Collected()) == {"spec": {"storage": {"pvc": [{"claimInfo": claim}]}}}


def test_a_form_with_hundreds_of_fields_builds_a_few_of_them_and_opens_at_once() -> None:
    assert len(paths_of(RunaiWorkload)) > 300
    shapes_of(RunaiWorkload)
    began = time.perf_counter()
    root = form_over(RunaiWorkload)
    took_s = time.perf_counter() - began
    assert len(list(root.everything())) <= 1 + MOST_AT_FIRST
    assert took_s < 2.0, "some 0.04 s on a machine at rest"


def test_a_flat_form_with_two_hundred_fields_shows_the_required_ones_first() -> None:
    fields: dict[str, Any] = {f"f{number}": (int | None, None) for number in range(200)}
    fields["f150"] = (int, ...)
    root = form_over(create_model("Wide", **fields))
    shown = [editor.shape.key for editor in root.children()]
    assert len(shown) == MOST_AT_FIRST
    assert "f150" in shown
    assert root.more_button.description == f"More fields ({200 - MOST_AT_FIRST})"
    root.more_button.value = True
    assert len(root.children()) == 200


@pytest.mark.parametrize("model", [E2ESpec, LiumSpec, RunaiWorkload])
def test_short_words_of_the_services_stand_before_ids(model: type[BaseModel]) -> None:
    first = [editor.shape.key for editor in form_over(model).children()]
    assert first == list(model.model_fields)[:MOST_AT_FIRST]
