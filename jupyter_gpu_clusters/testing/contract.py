"""All parts of the suite together."""

from __future__ import annotations

from .accounts import AccountContract
from .actions import ActionContract
from .creating import CreateContract
from .deleting import DeleteContract
from .listing import ListingContract
from .lost_answers import LostAnswerContract
from .plans import PlanContract
from .scaling import ScaleContract
from .secrets import SecretContract
from .specs import SpecContract
from .telling import TellingContract
from .workloads import WorkloadContract


class ProviderContract(
    AccountContract,
    SpecContract,
    PlanContract,
    CreateContract,
    LostAnswerContract,
    ListingContract,
    DeleteContract,
    ScaleContract,
    ActionContract,
    TellingContract,
    WorkloadContract,
    SecretContract,
):
    """What core/provider.py promises, as tests. Subclass it as ``Test...`` and give it the fixture `far_side`."""
