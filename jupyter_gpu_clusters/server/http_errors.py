"""Core errors as HTTP answers, in one table.

Never 401 or 403, which speak of the Jupyter login, and never 424 or 503, which JupyterLab reads as "the
server is gone".
"""

from __future__ import annotations

import traceback
from http.client import responses

from pydantic import BaseModel
from tornado.web import HTTPError

from ..core import errors

INTERNAL_MESSAGE = "The server part of jupyter-gpu-clusters failed in a way that nobody foresaw."
INTERNAL_HINT = "The log of the Jupyter server says where. Look at the list again before repeating what you did."

# The first class that fits decides, so a special case stands before its parent.
_STATUS: tuple[tuple[type[errors.GpuClustersError], int], ...] = (
    (errors.SettingsError, 400),
    (errors.NotSupportedError, 400),
    (errors.InvalidRequestError, 400),
    (errors.NotFoundError, 404),
    (errors.NameTakenError, 409),
    (errors.ConsentError, 409),
    (errors.WorkloadFailedError, 409),
    (errors.ConflictError, 409),
    (errors.LimitError, 409),
    (errors.QuotaError, 409),
    (errors.NoCapacityError, 409),
    (errors.RateLimitedError, 429),
    (errors.ProviderError, 502),
    (errors.TransportError, 502),
    (errors.WaitTimeoutError, 502),
)


class FieldProblem(BaseModel):
    """One thing wrong with one field of what the caller sent."""

    field: str
    text: str


class ErrorBody(BaseModel):
    """The body of every answer that is an error."""

    message: str
    code: str
    hint: str | None = None
    fields: list[FieldProblem] = []


def status_of(error: BaseException) -> int:
    """The HTTP status that tells a caller what kind of next step there is."""
    if isinstance(error, HTTPError):
        return error.status_code
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def body_of(error: BaseException) -> ErrorBody:
    """What the caller is told; nothing of an unforeseen error but that it happened."""
    if isinstance(error, errors.GpuClustersError):
        fields = [FieldProblem(field=problem.field, text=problem.text) for problem in error.problems]
        return ErrorBody(message=error.message, code=error.code, hint=error.hint, fields=fields)
    if isinstance(error, HTTPError):
        message = (error.log_message or "") % error.args
        return ErrorBody(message=message or error.reason or responses.get(error.status_code, "Error"), code="http")
    return ErrorBody(message=INTERNAL_MESSAGE, code="internal", hint=INTERNAL_HINT)


def headers_of(error: BaseException) -> dict[str, str]:
    """Headers that belong to the answer: ``Retry-After`` in whole seconds where the provider said when."""
    if isinstance(error, errors.RateLimitedError) and error.retry_after_s is not None:
        return {"Retry-After": str(max(1, round(error.retry_after_s)))}
    return {}


def where_it_failed(error: BaseException) -> str:
    """The stack of an unforeseen error and of its causes for the log, without their texts.

    The text of such an exception may quote anything: a URL with its key, an environment value, a body.
    """
    lines: list[str] = []
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        lines = [*_frames(link), type(link).__qualname__, *lines]
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return "\n".join(lines)


def _frames(error: BaseException) -> list[str]:
    return [
        f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}'
        for frame in traceback.extract_tb(error.__traceback__)
    ]
