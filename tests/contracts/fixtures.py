"""Sandboxes for tests: on a real loopback port, validated against the contracts unless a test says otherwise.

Import what is needed into a ``conftest.py``::

    from tests.contracts.fixtures import make_sandbox, sandbox, switchboard
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Protocol

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from jupyter_gpu_clusters.sandbox import Sandbox
from jupyter_gpu_clusters.sandbox.server import listen, served, url_of

from .document import document, has_contract
from .validate import Checked

START = 1_796_000_000.0
"""Where the clock of a test's sandbox stands: 2026-11-30, 00:53:20 UTC."""


class CheckedSandbox(Sandbox):
    """A sandbox that knows its validation, for ``with sandbox.contract.bad_requests(): ...``.

    What is pushed onto `at_end` is closed when the test ends.
    """

    contract: Checked
    at_end: ExitStack


class MakeSandbox(Protocol):
    """Takes what `Sandbox` takes; the clock stands still unless `speed` is given."""

    def __call__(self, **options: Any) -> CheckedSandbox: ...


class Switchboard:
    """One server for the whole test session; every test puts its own application behind it."""

    def __init__(self) -> None:
        self.app: ASGIApp | None = None
        self.url = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self.app or PlainTextResponse("This test's sandbox is gone.", 503)
        await app(scope, receive, send)


@pytest.fixture(scope="session")
def switchboard() -> Iterator[Switchboard]:
    """The server shared by all tests of a session."""
    board = Switchboard()
    sock = listen("127.0.0.1", 0)
    board.url = url_of(sock)
    with served(board, sock):
        yield board


@pytest.fixture
def make_sandbox(switchboard: Switchboard) -> Iterator[MakeSandbox]:
    """Makes the test's sandbox; at the end the test fails if anything broke a contract."""
    checks: list[Checked] = []
    at_end = ExitStack()

    def make(**options: Any) -> CheckedSandbox:
        assert not checks, "one sandbox at a time"
        sandbox = CheckedSandbox(**{"speed": 0, "start": START, **options})
        contracts = {service.prefix: document(name) for name, service in sandbox.services.items() if has_contract(name)}
        sandbox.contract, sandbox.at_end = Checked(sandbox.app, contracts), at_end
        checks.append(sandbox.contract)
        sandbox.url, switchboard.app = switchboard.url, sandbox.contract
        return sandbox

    with at_end:
        yield make
    switchboard.app = None
    violations = [violation for check in checks for violation in check.violations]
    assert not violations, "contract broken:\n" + "\n".join(violations)


@pytest.fixture
def sandbox(make_sandbox: Callable[..., CheckedSandbox]) -> CheckedSandbox:
    """The usual sandbox: seed 0, a clock that stands still until ``advance``."""
    return make_sandbox()
