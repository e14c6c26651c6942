"""Only this service, with nothing drawn by chance."""

from __future__ import annotations

import pytest

from jupyter_gpu_clusters.sandbox.e2e import E2E
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox
from tests.sandbox.e2e.caller import Caller


@pytest.fixture
def sandbox(make_sandbox: MakeSandbox) -> CheckedSandbox:
    return make_sandbox(services=[E2E])


@pytest.fixture
def tir(sandbox: CheckedSandbox) -> Caller:
    return Caller(sandbox)
