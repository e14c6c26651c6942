"""An account at a sandbox of Lium alone, the service over it, and nobody who waits as long as people must."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial

import pytest

from jupyter_gpu_clusters.core import http, rows
from jupyter_gpu_clusters.core.retry import Limits
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.providers.lium import removing, renting
from jupyter_gpu_clusters.providers.lium.provider import LiumProvider
from jupyter_gpu_clusters.sandbox.lium import Lium
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox, make_sandbox, switchboard

__all__ = ["make_sandbox", "switchboard"]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the pauses between looks and tries."""
    monkeypatch.setattr(renting, "_RESEND_AFTER_S", 0.01)
    monkeypatch.setattr(renting, "_LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(removing, "_LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(rows, "GONE_AFTER", timedelta())
    monkeypatch.setattr(http, "Limits", partial(Limits, first_pause_s=0.01))


@pytest.fixture
def sandbox(make_sandbox: MakeSandbox, monkeypatch: pytest.MonkeyPatch) -> CheckedSandbox:
    """A sandbox whose variables are set, so that the account `lium` is found."""
    sandbox = make_sandbox(services=[Lium])
    for name, value in sandbox.variables().items():
        monkeypatch.setenv(name, value)
    return sandbox


@pytest.fixture
async def service(sandbox: CheckedSandbox) -> AsyncIterator[Service]:
    """The service of a user with that account."""
    service = Service.open()
    yield service
    await service.aclose()


@pytest.fixture
async def provider(service: Service) -> LiumProvider:
    """The adapter alone."""
    provider = service._accounts.provider("lium")
    assert isinstance(provider, LiumProvider)
    return provider
