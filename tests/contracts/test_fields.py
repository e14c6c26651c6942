"""Nothing of a contract is forgotten."""

from __future__ import annotations

import pytest

from .fields import BODIES, _likeness, table


@pytest.mark.parametrize("service", BODIES)
def test_every_call_and_field_of_the_contract_is_built_and_tested(service: str) -> None:
    rows = table(service)
    assert len(rows) > 30
    assert not [row.what for row in rows if not row.built], "not built"
    assert not [row.what for row in rows if not row.tested], "not tested"


def test_a_path_is_found_however_it_is_put_together() -> None:
    found = [
        _likeness("/pods/{pod_id}/reboot", "/pods/{}/reboot"),
        _likeness("/pods/{pod_id}/reboot", "{}/reboot"),
        _likeness("/api/v1/asset/datasource/pvc", "/api/v1/asset/{}"),
    ]
    assert all(found)
    other = [
        _likeness("/pods/{pod_id}/reboot", "/pods/{}"),
        _likeness("/pods/{pod_id}/reboot", "/pods/{}/events"),
        _likeness("/pods", "{}"),
        _likeness("/api/v1/nodes", "/api/v1/clusters"),
    ]
    assert not any(other)
