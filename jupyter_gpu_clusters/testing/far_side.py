"""What the suite must know of a service, and what the service can do to order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Never

import pytest

from jupyter_gpu_clusters.core.models import Verb

Spec = Mapping[str, Any]
"""What a user would write, as plain data."""

_NO_ABILITIES = frozenset({"login", "clusters", "received", "settle", "finish_workloads", "folders", "cannot"})

Block = AbstractContextManager[object]
"""A fault that lasts as long as its ``with`` block."""


@dataclass(frozen=True)
class Login:
    """An account: its options, and its secret, which may have several parts."""

    options: Mapping[str, Any] = field(default_factory=dict)
    secret: str | Mapping[str, str] | None = field(default=None, repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Each part of the secret."""
        if self.secret is None:
            return ()
        return (self.secret,) if isinstance(self.secret, str) else tuple(self.secret.values())


@dataclass(frozen=True)
class Thing:
    """Something that exists over there, under the service's own name; ``nodes`` is its true size where it has one."""

    name: str
    nodes: int | None = None


@dataclass(frozen=True)
class Received:
    """One write that reached the service. ``verb`` is ``create``, ``delete``, ``submit`` or ``change``.

    ``body`` is what came with it, as JSON data, where the far side keeps it.
    """

    verb: str
    body: Any = None


class FarSide(ABC):
    """A service under test, with books of its own: the client is never asked what exists.

    The abstract methods are required. Each other method is an ability; without one of its own the tests that need it
    are skipped with the reason in `reasons` (method name -> sentence).

    Secrets in `login` should hold ``%``, ``+``, ``&``, a quote and a space where the service allows it: after every
    test the journal's folder, the logs and the tracebacks of failures are searched for them.
    """

    provider: ClassVar[str]
    reasons: ClassVar[Mapping[str, str]] = {}
    loggers: ClassVar[Sequence[str]] = ()
    """Names of loggers that are its own although it runs in this process: they are not searched for secrets."""
    unknown_id: ClassVar[str] = "no-such-thing"
    """An id that nothing has, in the form that the service's ids have."""
    given_cluster: ClassVar[str | None] = None
    """Where the provider rents no clusters: the name of the one that workloads go to; any one when left out."""

    @abstractmethod
    def login(self) -> Login:
        """An account that works."""

    @abstractmethod
    def clusters(self) -> Mapping[str, Thing]:
        """Cluster id, as the provider tells it -> what exists and may cost now."""

    @abstractmethod
    def received(self) -> Sequence[Received]:
        """All writes that arrived since the test began, oldest first; those that a fault kept from working too."""

    def settle(self) -> None:
        """Let time pass until what was ordered is up, started, changed or gone. Nothing to do for what is quick."""

    def folders(self) -> Sequence[Path]:
        """Folders that are its own although they lie in the user's: they are not searched for secrets."""
        return ()

    # Accounts

    def other_logins(self) -> Mapping[str, Login]:
        """What differs (key, project, base URL ...) -> an account that is another identity; none need work."""
        return self.cannot("other_logins")

    def wrong_login(self) -> Login:
        """An account whose secret the service refuses."""
        return self.cannot("wrong_login")

    def unreachable_login(self) -> Login:
        """An account at an address where nothing answers."""
        return self.cannot("unreachable_login")

    # Clusters

    def spec(self) -> Spec:
        """A small cluster that can be made, of two nodes if it has nodes."""
        return self.cannot("spec")

    def other_spec(self) -> Spec:
        """Another that can be made."""
        return self.cannot("other_spec")

    def impossible_spec(self) -> tuple[Spec, str, Sequence[str]]:
        """A spec and a name that are wrong in several ways at once, and the fields that a plan must name."""
        return self.cannot("impossible_spec")

    def secret_spec(self, secret: str) -> Spec:
        """A cluster that can be made with `secret` wherever a secret may stand (scripts, variables, keys)."""
        return self.cannot("secret_spec")

    def make_foreign(self, name: str) -> str:
        """Let somebody else make a cluster whose name begins with `name`; its id."""
        return self.cannot("make_foreign")

    def action_specs(self) -> Mapping[str, Spec]:
        """What each of the provider's actions can be asked for on a cluster of `spec` that is up."""
        return self.cannot("action_specs")

    def choices_given(self) -> Spec:
        """A spec that is filled in so far that every look-up can answer."""
        return self.cannot("choices_given")

    # Workloads

    def workloads(self) -> Mapping[str, Thing]:
        """Workload id -> what runs or waits to run now."""
        return self.cannot("workloads")

    def long_workload(self) -> Spec:
        """One that does not end by itself during a test."""
        return self.cannot("long_workload")

    def short_workload(self) -> tuple[Spec, str]:
        """One that prints something and can end, and the text to look for in its output."""
        return self.cannot("short_workload")

    def finish_workloads(self) -> None:
        """Let short workloads end. Nothing to do where they end by themselves."""

    def secret_workload(self, secret: str) -> Spec:
        """One with `secret` wherever a secret may stand."""
        return self.cannot("secret_workload")

    # Faults

    def losing_answers(self, verb: Verb, *, after_work: bool) -> Block:
        """Answers to these writes are lost on the way, after the work was done or before it was begun."""
        return self.cannot("losing_answers")

    def refusing_writes(self, verb: Verb) -> Block:
        """These writes are refused in a way that the service's contract calls certain: nothing was made."""
        return self.cannot("refusing_writes")

    def refusing_credential(self) -> Block:
        """The credential, good until now, is refused by every call."""
        return self.cannot("refusing_credential")

    def delaying_answers(self, seconds: float) -> Block:
        """Answers to writes come so much later (real time), the work is done at once."""
        return self.cannot("delaying_answers")

    def failing_listings(self) -> Block:
        """Every listing of clusters or workloads fails."""
        return self.cannot("failing_listings")

    def hiding(self, cluster_id: str) -> Block:
        """Listings lack this cluster and look complete."""
        return self.cannot("hiding")

    def hiding_member(self, cluster_id: str) -> Block:
        """Listings lack one node of this cluster and look complete."""
        return self.cannot("hiding_member")

    def listing_incompletely(self) -> Block:
        """Listings are empty, and it shows that they are not the whole truth."""
        return self.cannot("listing_incompletely")

    def using_unknown_words(self, word: str) -> Block:
        """Clusters and workloads are in the state `word`, which nobody has heard of."""
        return self.cannot("using_unknown_words")

    def cannot(self, what: str) -> Never:
        """Skip this test for want of an ability, with the reason."""
        why = self.reasons.get(what, f"the far side has no {what}().")
        pytest.skip(f"{self.provider}: {why}")


OPTIONAL = (
    frozenset(name for name, value in vars(FarSide).items() if callable(value) and not name.startswith("_"))
    - _NO_ABILITIES
)
"""All that a far side may be able to do to order."""


def abilities_of(far_side: type[FarSide]) -> frozenset[str]:
    """What a far side can do to order, derived from the methods it has of its own."""
    return frozenset(name for name in OPTIONAL if getattr(far_side, name) is not getattr(FarSide, name))
