"""The renter that most tests use."""

import pytest

from tests.contracts.fixtures import CheckedSandbox

from .renter import Renter


@pytest.fixture
def renter(sandbox: CheckedSandbox) -> Renter:
    """A caller with the sandbox's first key."""
    return Renter(sandbox)
