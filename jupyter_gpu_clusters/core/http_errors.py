"""From an answer, or none, to the right class of `core.errors`: the one place where that is decided."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .errors import (
    AuthError,
    ConflictError,
    GpuClustersError,
    InvalidRequestError,
    NotFoundError,
    OutcomeUnknownError,
    Problem,
    ProviderError,
    QuotaError,
    RateLimitedError,
    TransportError,
)
from .http_answer import Answer, ErrorReader, Refusal, Trouble
from .http_request import Call, origin_named
from .redact import Redactor

_BY_STATUS: Mapping[int, type[ProviderError]] = {
    400: InvalidRequestError,
    401: AuthError,
    402: QuotaError,
    403: AuthError,
    404: NotFoundError,
    409: ConflictError,
    410: NotFoundError,
    412: ConflictError,
    422: InvalidRequestError,
    429: RateLimitedError,
}
_MAX_TEXT, _MAX_PREVIEW, _MAX_PROBLEMS, _MAX_IDS = 2000, 200, 50, 1000
_MAX_CLEANED = 20_000
_EMPTY_IS_RIGHT = frozenset({202, 204, 205})


def kind_of_status(status: int) -> type[ProviderError]:
    """The class that an HTTP status stands for, where nothing more is known."""
    return _BY_STATUS.get(status, ProviderError)


class NotSentError(TransportError):
    """No connection came to be: certainly nothing was sent."""

    is_definite = True


class LostAnswerError(OutcomeUnknownError):
    """A write whose outcome is unknown, with whatever the answer still told.

    Parameters
    ----------
    status, request_id, ids : as in `ProviderError`.
    """

    def __init__(
        self,
        message: str,
        *,
        provider: str | None = None,
        status: int | None = None,
        request_id: str | None = None,
        ids: Sequence[str] = (),
    ) -> None:
        hint = "Do not send it again; look first what is there: %cluster_recover."
        super().__init__(message, hint=hint, provider=provider)
        self.status = status
        self.request_id = request_id
        self.ids = tuple(ids)


@dataclass(frozen=True, slots=True)
class Translator:
    """Turns what came back into the error to raise.

    Parameters
    ----------
    provider : its name, for the error.
    read_error : the provider's reader of failures.
    auth_hint : next step after a refused credential; names where it came from.
    """

    provider: str
    read_error: ErrorReader
    auth_hint: str | None = None

    def is_good(self, answer: Answer, *, is_write: bool, needs_json: bool) -> bool:
        """Whether the answer is what was asked for.

        Parameters
        ----------
        needs_json : a body that is not JSON is no usable answer; an empty one is none to a read.
        """
        if not answer.is_success or self.read_error(answer) is not None:
            return False
        if not needs_json or answer.is_json:
            return True
        return answer.is_empty and (is_write or answer.status in _EMPTY_IS_RIGHT)

    def error(self, result: Answer | Trouble, call: Call, redact: Redactor, *, is_write: bool) -> GpuClustersError:
        """What to raise for a result that is not good.

        Parameters
        ----------
        is_write : the request may have had an effect and must not be repeated: what is unclear stays unknown.
        """
        if isinstance(result, Trouble):
            return self._no_answer(result, call, redact, is_write=is_write)
        refusal = self.read_error(result)
        kind = _kind(refusal, result, is_write=is_write)
        told = _cleaned(refusal or Refusal(), result, redact)
        message = _message(told, result, call, redact)
        if kind is None:
            return self._unusable(message, told, result, is_write=is_write)
        return self._refused(kind, message, told, result)

    def _no_answer(self, trouble: Trouble, call: Call, redact: Redactor, *, is_write: bool) -> TransportError:
        text = redact(f"{call}: {trouble.text}")
        if not trouble.was_sent:
            hint = "Check the network and the address of the service."
            return NotSentError(f"{text}; nothing was sent.", hint=hint, provider=self.provider)
        if is_write:
            return LostAnswerError(f"{text}; the request may have been carried out.", provider=self.provider)
        return TransportError(f"{text}.", hint="Try again in a while.", provider=self.provider)

    def _unusable(self, message: str, told: Refusal, answer: Answer, *, is_write: bool) -> TransportError:
        if is_write:
            return LostAnswerError(
                f"{message} The request may have been carried out.",
                provider=self.provider,
                status=answer.status,
                request_id=told.request_id,
                ids=told.ids,
            )
        return TransportError(message, hint="Check the address of the service; else try again.", provider=self.provider)

    def _refused(self, kind: type[ProviderError], message: str, told: Refusal, answer: Answer) -> ProviderError:
        error = kind(message, provider=self.provider)
        error.hint = told.hint or (self.auth_hint if issubclass(kind, AuthError) else None)
        error.problems = tuple(told.problems)
        error.status, error.request_id = answer.status, told.request_id
        error.is_definite, error.ids = told.is_definite, tuple(told.ids)
        if isinstance(error, RateLimitedError):
            error.retry_after_s = told.retry_after_s
        return error


def _kind(refusal: Refusal | None, answer: Answer, *, is_write: bool) -> type[ProviderError] | None:
    """``None`` where the answer does not come from the service itself, or does not tell what a write did."""
    is_redirect = 300 <= answer.status < 400
    tells_nothing = answer.status >= 500 or answer.status == 408 or is_redirect
    if is_write and tells_nothing and not (refusal and refusal.is_definite):
        return None
    if refusal and refusal.kind:
        return refusal.kind
    if is_redirect or not (answer.is_json or answer.is_empty):
        return None
    if answer.is_success:
        return ProviderError if refusal else None
    return kind_of_status(answer.status)


def _cleaned(refusal: Refusal, answer: Answer, redact: Redactor) -> Refusal:
    """The refusal without secrets and control characters, everything bounded, gaps filled from the headers."""
    request_id = refusal.request_id or answer.request_id
    problems = [Problem(_shown(p.field, redact), _shown(p.text, redact), p.line) for p in refusal.problems]
    asked = answer.retry_after_s
    return Refusal(
        text=_shown(refusal.text, redact),
        code=_shown(refusal.code, redact) if refusal.code else None,
        hint=_shown(refusal.hint, redact) if refusal.hint else None,
        problems=problems[:_MAX_PROBLEMS],
        request_id=_shown(request_id, redact) if request_id else None,
        is_definite=refusal.is_definite,
        ids=[_shown(one, redact) for one in dict.fromkeys(refusal.ids)][:_MAX_IDS],
        retry_after_s=refusal.retry_after_s if asked is None else asked,
    )


def _shown(text: str, redact: Redactor, most: int = _MAX_TEXT) -> str:
    """Secrets out first, then control characters, then what is too long."""
    clean = "".join(c if c.isprintable() else " " for c in redact(text)[:_MAX_CLEANED])
    words = " ".join(clean.split())
    return words if len(words) <= most else f"{words[: most - 1]}…"


def _message(told: Refusal, answer: Answer, call: Call, redact: Redactor) -> str:
    status = f"HTTP {answer.status}" + (f" ({told.code})" if told.code else "")
    return f"{redact(str(call))} was answered {status}: {told.text or _described(answer, call, redact)}"


def _described(answer: Answer, call: Call, redact: Redactor) -> str:
    """What can be said of an answer in which the provider's reader found no words."""
    if 300 <= answer.status < 400:
        place = redact(origin_named(call, answer.headers.get("location", "")))
        return f"it redirects to {place}; only reads follow that, within one origin and a few times."
    if answer.is_empty:
        return "the answer is empty."
    if answer.is_json:
        return "no reason was given."
    return f"the answer is not JSON; it begins {_preview(answer, redact)!r}."


def _preview(answer: Answer, redact: Redactor) -> str:
    """The title of a page, else how the text begins."""
    text = redact(answer.text)[:_MAX_CLEANED]
    title = re.search(r"<title[^<>]*>([^<]*)", text, re.IGNORECASE)
    words = title[1] if title else re.sub(r"<[^<>]*>", " ", text)
    return _shown(html.unescape(words), redact, _MAX_PREVIEW)
