"""What a person fills in: the models from which YAML checks, help and forms are made."""

from __future__ import annotations

import json

import pytest

from jupyter_gpu_clusters.core.errors import SpecError
from jupyter_gpu_clusters.core.provider import ActsOnClusters, LooksUp
from jupyter_gpu_clusters.core.spec_fields import describe_fields, field_names
from jupyter_gpu_clusters.core.specs import build_spec

from .base import ContractBase
from .schemas import all_fields, all_models, models_of, patterns_in, why_not_javascript
from .world import World


class SpecContract(ContractBase):
    """Spec, workload and action models."""

    async def test_models_refuse_what_they_do_not_know(self, world: World) -> None:
        open_ones = [w for w, model in all_models(world.kind) if model.model_config.get("extra") != "forbid"]
        assert not open_ones, "extra='forbid' is missing"

    async def test_every_field_has_a_title_and_a_description(self, world: World) -> None:
        fields = list(all_fields(world.kind))
        bare = [where for where, info in fields if not (info.title and info.description)]
        assert not bare

    async def test_a_misspelt_field_is_named_with_the_right_one(self, world: World) -> None:
        for where, model in models_of(world.kind).items():
            names = field_names(model)
            if not names:
                continue
            with pytest.raises(SpecError) as caught:
                build_spec(model, {f"{names[0]}x": 1})
            problem = next(p for p in caught.value.problems if p.field == f"{names[0]}x")
            assert names[0] in problem.text.removeprefix(f"{names[0]}x"), f"{where}: {problem}"

    async def test_json_schemas_can_be_made_and_read_by_a_browser(self, world: World) -> None:
        for where, model in models_of(world.kind).items():
            schema = json.loads(json.dumps(model.model_json_schema()))
            odd = [why for why in map(why_not_javascript, patterns_in(schema)) if why]
            assert not odd, f"{where}: {odd}"
            assert describe_fields(model) or not model.model_fields

    async def test_choices_of_fields_come_from_look_ups_that_exist(self, world: World) -> None:
        known = set(world.kind.look_ups) if issubclass(world.kind, LooksUp) else set()
        for where, info in all_fields(world.kind):
            extra = info.json_schema_extra
            if isinstance(extra, dict) and "choices" in extra:
                assert extra["choices"] in known, f"{where}: there is no look-up {extra['choices']!r}"

    async def test_what_choices_depend_on_are_fields_of_the_spec(self, world: World) -> None:
        tops = {name for model in models_of(world.kind).values() for name in field_names(model)}
        for where, info in all_fields(world.kind):
            extra = info.json_schema_extra
            named = extra.get("depends_on", []) if isinstance(extra, dict) else []
            assert isinstance(named, list)
            assert {str(path).partition(".")[0] for path in named} <= tops, where
        if issubclass(world.kind, LooksUp):
            for name, look_up in world.kind.look_ups.items():
                assert {path.partition(".")[0] for path in (*look_up.depends_on, *look_up.needs)} <= tops, name

    async def test_actions_have_titles_and_at_most_one_is_the_restart(self, world: World) -> None:
        provider = world.able(ActsOnClusters, "actions")
        assert provider.actions
        assert all(action.title and action.description for action in provider.actions.values())
        assert sum(action.is_restart for action in provider.actions.values()) <= 1
