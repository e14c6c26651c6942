"""Where secrets stand in what was filled in, and what of it becomes a variable in a cell."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, SecretStr

from jupyter_gpu_clusters.core.references import Masked
from jupyter_gpu_clusters.server.written import masked, secret_problems


class Inner(BaseModel):
    kind: Literal["inner"] = "inner"
    key: SecretStr | None = None
    again: Inner | None = None


class Other(BaseModel):
    kind: Literal["other"]
    key: str | None = None


class Spec(BaseModel):
    token: SecretStr | None = None
    inner: Inner | None = None
    many: list[Inner] = []
    by_name: dict[str, Inner] = {}
    either: Annotated[Inner | Other, Field(discriminator="kind")] | None = None
    env: dict[str, str] = {}
    environmentVariables: list[dict[str, str]] = []
    lifecycle_script: str | None = None
    dockerfile_content: str | None = None
    environment_asset: str | None = Field(None, json_schema_extra={"masked": False})
    image: str | None = None


@pytest.mark.parametrize(
    ("data", "fields"),
    [
        ({"token": "x"}, ["token"]),
        ({"token": None, "image": "x"}, []),
        ({"inner": {"key": "x", "again": {"key": "y"}}}, ["inner.key", "inner.again.key"]),
        ({"many": [{}, {"key": "x"}]}, ["many[1].key"]),
        ({"by_name": {"a.b": {"key": "x"}}}, ["by_name.a.b.key"]),
        ({"inner": [{"key": "x"}], "many": {"key": 1}, "unknown": {"key": 2}}, []),
    ],
)
def test_every_secret_is_found(data: dict[str, Any], fields: list[str]) -> None:
    assert [problem.field for problem in secret_problems(Spec, data)] == fields


def test_what_may_be_secret_in_one_branch_of_a_union_is_refused_in_all() -> None:
    assert secret_problems(Spec, {"either": {"kind": "other", "key": "x"}})


def test_environments_and_scripts_become_variables_and_the_rest_stays() -> None:
    plain = {"image": "i", "environment_asset": "e", "many": [{"kind": "inner"}]}
    secret = {"lifecycle_script": "s", "dockerfile_content": "d", "environmentVariables": [{"name": "a"}]}
    written = masked(Spec, {**plain, **secret, "env": {"A": "1"}})
    assert written == {**plain, **{key: Masked(value) for key, value in secret.items()}, "env": {"A": Masked("1")}}
