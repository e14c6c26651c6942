"""An account at a sandbox of E2E alone, and the service over it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.settings import Account
from jupyter_gpu_clusters.providers.e2e.provider import E2EProvider
from jupyter_gpu_clusters.sandbox.e2e import E2E
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox, make_sandbox, switchboard

__all__ = ["make_sandbox", "switchboard"]


@pytest.fixture
def sandbox(make_sandbox: MakeSandbox, monkeypatch: pytest.MonkeyPatch) -> CheckedSandbox:
    """A sandbox whose variables are set, so that the account `e2e` is found."""
    sandbox = make_sandbox(services=[E2E])
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
async def provider(service: Service) -> E2EProvider:
    """The adapter alone."""
    provider = service._accounts.provider("e2e")
    assert isinstance(provider, E2EProvider)
    return provider


def account(**changes: Any) -> Account:
    """An account with a secret from the environment, or with what is given."""
    parts = {"api_key": "env:E2E_TIR_API_KEY", "auth_token": "env:E2E_TIR_ACCESS_TOKEN"}
    return Account(**{"name": "e2e", "provider": "e2e", "secret_ref": parts, "options": {}, **changes})
