"""Everything that can go wrong, as classes of what the reader can do next.

::

    GpuClustersError(message, *, hint=None, provider=None)
    ├── SettingsError              a key or an option is missing or wrong; nothing was sent
    │   └── SpecError              the user's text has problems, each with its field and line
    ├── NotSupportedError          this provider cannot do that
    ├── NameTakenError             the name is live with another spec, or ambiguous
    ├── ConsentError               it costs money and nobody said yes; nothing was sent
    ├── LimitError                 it would go beyond a limit of the settings; nothing was sent
    ├── WaitTimeoutError           not ready in time; the cluster goes on, and so does its cost
    ├── WaitInterruptedError       the user ended the wait; what was waited for goes on
    ├── WorkloadFailedError        the workload ended, and not well
    ├── JournalError               the journal cannot be read or written; nothing was sent
    │   ├── JournalBusyError       another process holds it
    │   └── JournalVersionError    a newer release wrote it
    ├── ProviderError              the provider answered no
    │   ├── AuthError  NotFoundError  ConflictError  QuotaError  NoCapacityError
    │   ├── InvalidRequestError    .problems names the fields
    │   ├── RateLimitedError       .retry_after_s
    │   └── ProvisioningFailedError
    └── TransportError             no usable answer
        └── OutcomeUnknownError    a write may have happened: look before sending again
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with what the user wrote.

    Parameters
    ----------
    field : dotted path in the user's own words (``nodes``, ``env.NAME``), empty for the whole text.
    text : one sentence that says what is wrong and, where known, what would be right.
    line : 1-based line of the cell body, ``None`` when there is no text with lines.
    """

    field: str
    text: str
    line: int | None = None

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line is not None else ""
        subject = f"{self.field}: " if self.field else ""
        return f"{where}{subject}{self.text}"


class GpuClustersError(Exception):
    """Root of the tree.

    Parameters
    ----------
    message : what happened and why, one sentence.
    hint : what to do next, one sentence.
    provider : name of the provider that was spoken to, if one was.
    problems : single faults of the user's input, shown one a line.

    Attributes
    ----------
    is_definite : it is certain that a write which ended like this made nothing.
    ids : every remote id that was named nevertheless.
    """

    code = "error"
    is_definite = False
    ids: tuple[str, ...] = ()

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        provider: str | None = None,
        problems: Sequence[Problem] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.provider = provider
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The whole error as a person reads it: message, problems, hint."""
        out = [self.message, *(f"  {problem}" for problem in self.problems)]
        if self.hint:
            out.append(self.hint)
        return out

    def _render_traceback_(self) -> list[str]:
        """IPython shows these lines in place of a stack (a user's mistake is not a bug of ours)."""
        return [f"{type(self).__name__}: {self.message}", *self.lines()[1:]]


class SettingsError(GpuClustersError):
    """A key or an option is missing or wrong; nothing was sent."""

    code = "settings"


class SpecError(SettingsError):
    """The user's text does not describe a request; ``problems`` has every fault found."""

    code = "spec"


class NotSupportedError(GpuClustersError):
    """This provider cannot do that; the message says why."""

    code = "not_supported"


class NameTakenError(GpuClustersError):
    """The name already stands for something else, or for several things."""

    code = "name_taken"


class ConsentError(GpuClustersError):
    """The request costs money and nobody agreed to this plan at this price; nothing was sent."""

    code = "consent"


class LimitError(GpuClustersError):
    """The request would cost more than the user's own limits allow; nothing was sent."""

    code = "limit"
    is_definite = True


class WaitTimeoutError(GpuClustersError):
    """Not there in time; what was waited for goes on, and so does its cost."""

    code = "wait_timeout"


class WaitInterruptedError(GpuClustersError):
    """The user ended the wait; what was waited for goes on."""

    code = "wait_interrupted"


class WorkloadFailedError(GpuClustersError):
    """The workload ended without success; the message names the first failing rank."""

    code = "workload_failed"


class JournalError(GpuClustersError):
    """The journal cannot be used, so nothing that must not happen twice may be sent."""

    code = "journal"


class JournalBusyError(JournalError):
    """Another process held the journal for longer than a write may wait."""

    code = "journal_busy"


class JournalVersionError(JournalError):
    """A newer release wrote the journal; this one must not touch it."""

    code = "journal_version"


class ProviderError(GpuClustersError):
    """The provider answered no.

    Parameters
    ----------
    status : HTTP status or exit code of the answer, if it had one.
    request_id : the provider's own id of the answer, for its support.
    is_definite : the provider's table lists this refusal as certain: nothing was made.
    ids : every remote id found in the answer, whatever its status.
    """

    code = "provider"

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        provider: str | None = None,
        problems: Sequence[Problem] = (),
        status: int | None = None,
        request_id: str | None = None,
        is_definite: bool = False,
        ids: Sequence[str] = (),
    ) -> None:
        super().__init__(message, hint=hint, provider=provider, problems=problems)
        self.status = status
        self.request_id = request_id
        self.is_definite = is_definite
        self.ids = tuple(ids)


class AuthError(ProviderError):
    """The credential is missing, wrong, expired, or may not do this."""

    code = "auth"


class NotFoundError(ProviderError):
    """The provider says that there is no such thing."""

    code = "not_found"


class ConflictError(ProviderError):
    """It clashes with the present state of something."""

    code = "conflict"


class QuotaError(ProviderError):
    """A quota, a balance or a budget forbids it."""

    code = "quota"


class NoCapacityError(ProviderError):
    """There are not enough free nodes."""

    code = "no_capacity"


class InvalidRequestError(ProviderError):
    """The provider refused fields of the request; ``problems`` names them."""

    code = "invalid_request"


class RateLimitedError(ProviderError):
    """Too many requests; nothing was executed."""

    code = "rate_limited"

    def __init__(self, message: str, *, retry_after_s: float | None = None, provider: str | None = None) -> None:
        super().__init__(message, provider=provider, status=429)
        self.retry_after_s = retry_after_s


class ProvisioningFailedError(ProviderError):
    """The provider gave up on it; its own word is in the message."""

    code = "provisioning_failed"


class TransportError(GpuClustersError):
    """No usable answer came."""

    code = "transport"


class OutcomeUnknownError(TransportError):
    """A write may have happened: look (``%cluster_recover``) before sending it again."""

    code = "outcome_unknown"
