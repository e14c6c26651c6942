"""Services for forms: the local provider for real, and a paid one on a real journal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jupyter_gpu_clusters.core import bridge
from jupyter_gpu_clusters.core.service import Service

from .choosy import ChoosyProvider
from .kernel import Kernel
from .paid import PaidProvider, WideProvider, service_of


@pytest.fixture(scope="module")
def shared_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """One kernel for the tests of a file, with Jupyter folders of its own."""
    root = tmp_path_factory.mktemp("kernel")
    variables = ("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    folders = {variable: str(root / variable.lower()) for variable in variables}
    kernel = Kernel(**folders)
    try:
        kernel.run("%load_ext jupyter_gpu_clusters")
        yield kernel
    finally:
        kernel.close()


@pytest.fixture
def kernel(shared_kernel: Kernel) -> Iterator[Kernel]:
    """The kernel of this file; what a test made in it is deleted, and a word on its standard error is a failure."""
    yield shared_kernel
    shared_kernel.run(
        "from jupyter_gpu_clusters.core import bridge as _bridge\n"
        "for _cluster in _bridge.call(_bridge.service().refresh).clusters:\n"
        "    _bridge.call(_bridge.service().delete, _cluster)"
    )
    assert shared_kernel.complaints() == []


@pytest.fixture
def local() -> Iterator[Service]:
    """The real service of this process; whatever a test created is deleted."""
    service = bridge.service()
    yield service
    for cluster in bridge.call(service.refresh).clusters:
        bridge.call(service.delete, cluster)


def _serve(provider: PaidProvider, monkeypatch: pytest.MonkeyPatch) -> Iterator[PaidProvider]:
    service = service_of(provider)
    monkeypatch.setattr(bridge, "service", lambda: service)
    yield provider
    choice_gates = provider.gates.values() if isinstance(provider, ChoosyProvider) else ()
    for gate in [*provider.plan_gates.values(), provider.create_gate, *choice_gates]:
        if gate is not None:
            gate.set()
    bridge.call(service.aclose)


@pytest.fixture
def paid(monkeypatch: pytest.MonkeyPatch) -> Iterator[PaidProvider]:
    yield from _serve(PaidProvider(), monkeypatch)


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> Iterator[PaidProvider]:
    yield from _serve(WideProvider(), monkeypatch)


@pytest.fixture
def choosy(monkeypatch: pytest.MonkeyPatch) -> Iterator[PaidProvider]:
    yield from _serve(ChoosyProvider(), monkeypatch)
