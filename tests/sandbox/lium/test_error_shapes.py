"""Every error body of the contract can be had, and the sandbox answers well without faults."""

from __future__ import annotations

import pytest

from jupyter_gpu_clusters.sandbox.lium import Lium

from .renter import Renter


@pytest.mark.parametrize("shape", sorted(Lium.shapes))
@pytest.mark.parametrize("status", [400, 502])
def test_any_status_in_any_shape(renter: Renter, shape: str, status: int) -> None:
    renter.sandbox.fault(kind="status", status=status, shape=shape, text="no luck", details={"window": "daily"})
    answer = renter.api.get("/pods")
    assert answer.status_code == (200 if shape == "in_band" else status)
    assert "no luck" in answer.text
    assert answer.headers["X-Request-Id"]


def test_usual_shapes_carry_their_request_id(renter: Renter) -> None:
    answer = renter.api.get("/pods/none")
    assert answer.json()["error"]["request_id"] == answer.headers["X-Request-Id"]
