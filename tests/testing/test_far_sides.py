"""Our own far sides can do whatever the provider they stand behind could be tested with."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from jupyter_gpu_clusters.core import registry
from jupyter_gpu_clusters.core.provider import abilities_of as abilities_of_provider
from jupyter_gpu_clusters.testing.far_side import OPTIONAL, FarSide, abilities_of

from .test_e2e import E2ESide
from .test_lium import LiumSide
from .test_local import Machine
from .test_runai import RunaiSide

NEEDED: Mapping[str, str] = {
    "spec": "create",
    "other_spec": "create",
    "impossible_spec": "create",
    "secret_spec": "create",
    "make_foreign": "create",
    "action_specs": "actions",
    "choices_given": "choices",
    "workloads": "workloads",
    "long_workload": "workloads",
    "short_workload": "workloads",
    "secret_workload": "workloads",
}
"""What only a provider with such an ability is tested with; all else is for every provider."""


@pytest.mark.parametrize("far_side", [E2ESide, LiumSide, RunaiSide, Machine])
def test_what_a_far_side_cannot_do_has_a_reason(far_side: type[FarSide]) -> None:
    provider = abilities_of_provider(registry.load(far_side.provider))
    lacking = OPTIONAL - abilities_of(far_side)
    wanted = {name for name in lacking if name not in NEEDED or NEEDED[name] in provider}
    assert not wanted - set(far_side.reasons)
    assert all(reason.endswith(".") for reason in far_side.reasons.values())
