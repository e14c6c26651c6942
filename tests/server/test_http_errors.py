"""Core errors as HTTP answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tornado.web import HTTPError

from jupyter_gpu_clusters.core import errors
from jupyter_gpu_clusters.core.errors import GpuClustersError, Problem
from jupyter_gpu_clusters.server.http_errors import body_of, headers_of, status_of, where_it_failed

STATUS = {
    "GpuClustersError": 500,
    "SettingsError": 400,
    "SpecError": 400,
    "NotSupportedError": 400,
    "NameTakenError": 409,
    "ConsentError": 409,
    "WaitTimeoutError": 502,
    "WaitInterruptedError": 500,
    "WorkloadFailedError": 409,
    "JournalError": 500,
    "JournalBusyError": 500,
    "JournalVersionError": 500,
    "ProviderError": 502,
    "AuthError": 502,
    "NotFoundError": 404,
    "ConflictError": 409,
    "LimitError": 409,
    "QuotaError": 409,
    "NoCapacityError": 409,
    "InvalidRequestError": 400,
    "RateLimitedError": 429,
    "ProvisioningFailedError": 502,
    "TransportError": 502,
    "OutcomeUnknownError": 502,
}


def _tree(root: type[GpuClustersError]) -> Iterator[type[GpuClustersError]]:
    yield root
    for child in root.__subclasses__():
        yield from _tree(child)


def _in_errors_module() -> list[type[GpuClustersError]]:
    return [kind for kind in _tree(GpuClustersError) if kind.__module__ == errors.__name__]


def test_every_class_of_the_tree_has_its_row() -> None:
    assert {kind.__name__ for kind in _in_errors_module()} == set(STATUS)


@pytest.mark.parametrize("kind", _in_errors_module(), ids=lambda kind: kind.__name__)
def test_status_and_code_of_each_error(kind: type[GpuClustersError]) -> None:
    error = kind("It went wrong.")
    assert status_of(error) == STATUS[kind.__name__]
    assert body_of(error).code == kind.code
    assert status_of(error) not in (401, 403, 424, 503)


def test_a_lost_answer_is_told_apart_from_a_refusal() -> None:
    assert body_of(errors.OutcomeUnknownError("No answer.")).code == "outcome_unknown"
    assert body_of(errors.ProviderError("No.")).code == "provider"


def test_body_has_message_hint_and_every_field() -> None:
    problems = [Problem("nodes", "must be at least 1.", 3), Problem("env.A B", "is no name.")]
    body = body_of(errors.SpecError("Two faults.", hint="Correct them.", problems=problems)).model_dump()
    assert body == {
        "message": "Two faults.",
        "code": "spec",
        "hint": "Correct them.",
        "fields": [
            {"field": "nodes", "text": "must be at least 1."},
            {"field": "env.A B", "text": "is no name."},
        ],
    }


@pytest.mark.parametrize(("asked", "sent"), [(7.4, "7"), (0.2, "1"), (None, None)])
def test_retry_after_is_passed_on_in_whole_seconds(asked: float | None, sent: str | None) -> None:
    headers = headers_of(errors.RateLimitedError("Slower.", retry_after_s=asked))
    assert headers.get("Retry-After") == sent


def test_jupyters_own_refusals_keep_their_status_and_text() -> None:
    refusal = HTTPError(403, "'_xsrf' argument missing from %s", "DELETE")
    assert status_of(refusal) == 403
    assert body_of(refusal).message == "'_xsrf' argument missing from DELETE"
    assert body_of(HTTPError(400, "100% wrong")).message == "100% wrong"
    assert body_of(HTTPError(405)).message == "Method Not Allowed"


def _raise_with_secret() -> None:
    try:
        raise KeyError("key=s3cr3t-inner")
    except KeyError as exc:
        raise RuntimeError("https://host/?apikey=s3cr3t-outer") from exc


def test_an_unforeseen_error_shows_its_stack_and_never_its_text() -> None:
    with pytest.raises(RuntimeError) as caught:
        _raise_with_secret()
    assert status_of(caught.value) == 500
    assert "s3cr3t" not in body_of(caught.value).model_dump_json()
    logged = where_it_failed(caught.value)
    assert "s3cr3t" not in logged
    assert "in _raise_with_secret" in logged
    assert logged.index("KeyError") < logged.index("RuntimeError")
