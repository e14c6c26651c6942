"""What the contract has, the sandbox serves, and nothing else."""

from __future__ import annotations

from jupyter_gpu_clusters.sandbox import Call, Sandbox
from tests.contracts.document import document


def test_every_operation_is_served() -> None:
    service = Sandbox().services["lium"]
    missing = [
        f"{method} {template}"
        for method, template in document("lium").operations()
        if service.find(Call(method, template.replace("{", "").replace("}", ""), {}, {}, b"", 0.0, 0)) is None
    ]
    assert missing == []


def test_no_route_is_invented() -> None:
    contract = document("lium")
    invented = [
        f"{route.method} {route.template}"
        for route in Sandbox().services["lium"].routes()
        if contract.find(route.method, route.template.replace("{", "").replace("}", "")) is None
    ]
    assert invented == []
