"""Sandboxes on a real port, held to their contracts."""

from tests.contracts.fixtures import make_sandbox, switchboard

__all__ = ["make_sandbox", "switchboard"]
