"""Every sandbox in these tests is served on a real port and held to its contract."""

from tests.contracts.fixtures import make_sandbox, sandbox, switchboard

__all__ = ["make_sandbox", "sandbox", "switchboard"]
