"""Which answers are refusals, of which kind, and which of them prove that nothing was rented."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from jupyter_gpu_clusters.core.errors import (
    AuthError,
    ConflictError,
    GpuClustersError,
    InvalidRequestError,
    NoCapacityError,
    NotFoundError,
    OutcomeUnknownError,
    ProviderError,
    QuotaError,
    RateLimitedError,
)
from jupyter_gpu_clusters.core.http import Answer, Refusal
from jupyter_gpu_clusters.core.http_errors import LostAnswerError, Translator
from jupyter_gpu_clusters.core.http_request import Call
from jupyter_gpu_clusters.core.redact import Redactor
from jupyter_gpu_clusters.providers.lium.errors import ids_in, read_error

ONE, OTHER = "5b8b1d50-3f0e-4f0a-9d0c-8a3f6f1c0a01", "5b8b1d50-3f0e-4f0a-9d0c-8a3f6f1c0a02"
BUDGET = {"message": "Budget used up", "window": "daily", "budget_usd": 20, "spent_usd": 20.5, "api_key_id": "key-7"}


def envelope(text: str, code: str | None = None, message: object = None) -> dict[str, Any]:
    error = {"code": code, "message": text, "hint": None, "request_id": "r-1"}
    return {"success": False, "error": error, "message": message or text, "status_code": 400}


SHAPES: dict[str, Callable[[str], object]] = {
    "envelope": envelope,
    "older": lambda text: {"success": False, "error": "HTTP error", "message": text},
    "bare": lambda text: {"success": False, "message": text},
    "message": lambda text: {"message": text},
    "detail": lambda text: {"detail": text},
    "detail object": lambda text: {"detail": {"message": text, "cluster_id": "c-1"}},
    "detail list": lambda text: {"detail": [{"loc": ["body", "pod_name"], "msg": text}]},
    "message object": lambda text: {"success": False, "message": {"message": text, "pending_pods": ["p-1"]}},
    "validation errors": lambda text: {"message": text, "validation_errors": [{"field": "pod_name", "msg": "no"}]},
    "wrong types": lambda text: {"error": {"code": 17, "message": text, "hint": ["x"], "request_id": {"id": 5}}},
}
STATUSES: dict[int, tuple[type[GpuClustersError], bool]] = {
    400: (InvalidRequestError, True),
    401: (AuthError, True),
    402: (QuotaError, True),
    403: (AuthError, True),
    404: (NotFoundError, True),
    409: (ConflictError, False),
    422: (InvalidRequestError, True),
    429: (RateLimitedError, True),
    408: (OutcomeUnknownError, False),
    500: (OutcomeUnknownError, False),
    502: (OutcomeUnknownError, False),
    504: (OutcomeUnknownError, False),
}


def answer(status: int, body: object, **headers: str) -> Answer:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(status, {name.replace("_", "-"): value for name, value in headers.items()}, content)


def refusal(status: int, body: object) -> Refusal:
    found = read_error(answer(status, body))
    assert found is not None
    return found


def raised(status: int, body: object, *, is_write: bool = True, **headers: str) -> GpuClustersError:
    """The error of a rent, or of a read, that was answered so."""
    call = Call("POST" if is_write else "GET", "https://lium.io", "/api/executors/cluster/rent")
    translator = Translator("lium", read_error, "The API key ($LIUM_API_KEY) is wrong.")
    return translator.error(answer(status, body, **headers), call, Redactor(), is_write=is_write)


@pytest.mark.parametrize("status", STATUSES)
def test_every_shape_under_every_status(status: int) -> None:
    kind, is_definite = STATUSES[status]
    for name, shape in SHAPES.items():
        error = raised(status, shape("something is wrong here"))
        assert type(error) is (kind if kind is not OutcomeUnknownError else LostAnswerError), name
        assert error.is_definite is is_definite, name
        assert "something is wrong here" in str(error), name


@pytest.mark.parametrize("shape", ["older", "bare", "envelope", "message object"])
def test_success_false_is_a_certain_refusal_under_200_as_well(shape: str) -> None:
    error = raised(200, SHAPES[shape]("A cluster rental must take whole nodes"))
    assert (type(error), error.is_definite) == (InvalidRequestError, True)
    assert "must take whole nodes" in error.message


@pytest.mark.parametrize(
    ("status", "code", "text", "kind"),
    [
        (400, "node_unavailable", "Node x is not available", NoCapacityError),
        (400, "broken_pod_on_node", "Pod p-9 on this node is broken", InvalidRequestError),
        (402, "API_KEY_BUDGET_EXCEEDED", "The daily budget is used up", QuotaError),
        (402, "NO_SAVED_CARD", "No card", QuotaError),
        (403, "insufficient_balance", "Insufficient balance.", QuotaError),
        (403, "INSUFFICIENT_BALANCE", "no", QuotaError),
        (403, None, "Your balance is $3.10 and it requires at least $8.42 (15 minutes of runtime)", QuotaError),
        (403, "account_not_verified", "Verify the account before its balance can be used", AuthError),
        (403, None, "API key 'lab' does not have the 'rent' scope", AuthError),
        (404, "pod_not_found", "Pod not found", NotFoundError),
        (404, None, "Not Found", NotFoundError),
        (409, "rentals_paused", "Rentals are paused", ConflictError),
        (409, "no_matching_node", "No node matches", NoCapacityError),
        (409, "idempotency_in_progress", "The first request is still running", ConflictError),
        (409, "idempotency_outcome_unknown", "The first request may have rented", ConflictError),
        (422, "idempotency_key_reused", "This key was used with another request", ConflictError),
    ],
)
def test_codes_win_over_statuses_and_over_words(
    status: int, code: str | None, text: str, kind: type[ProviderError]
) -> None:
    error = raised(status, envelope(text, code))
    is_open = status == 409 or (code or "").startswith("idempotency_")
    assert (type(error), error.is_definite) == (kind, not is_open)
    assert text in error.message
    assert code is None or code in error.message


@pytest.mark.parametrize("status", [200, 400, 402, 403, 404, 422])
def test_that_a_key_was_seen_before_is_certain_under_no_status(status: int) -> None:
    assert not refusal(status, envelope("no", "idempotency_outcome_unknown")).is_definite


@pytest.mark.parametrize(
    "body",
    [
        envelope("Budget used up", "API_KEY_BUDGET_EXCEEDED", BUDGET),
        {"success": False, "message": BUDGET},
        {"detail": BUDGET},
    ],
)
def test_amounts_of_a_budget_are_told(body: object) -> None:
    text = raised(402, body).message
    for part in ("Budget used up", "window daily", "budget_usd 20", "spent_usd 20.5", "key-7"):
        assert part in text


def test_a_missing_scope_names_the_key_to_ask_for() -> None:
    error = raised(403, {"detail": "API key 'lab' does not have the 'manage' scope"})
    assert error.hint == "Make a key with the scope 'manage' and log in with it."
    assert "lab" in error.message


def test_a_wrong_key_names_where_it_came_from() -> None:
    assert "$LIUM_API_KEY" in (raised(401, {"detail": "Invalid API key"}).hint or "")


@pytest.mark.parametrize("content", [b"<html><title>Blocked</title></html>", b"Request blocked", b""])
def test_the_firewalls_403_is_about_the_body_and_not_about_permissions(content: bytes) -> None:
    error = raised(403, content)
    assert (type(error), error.is_definite) == (InvalidRequestError, True)
    assert "firewall" in error.message
    assert "64 KB" in (error.hint or "")
    assert "LIUM_API_KEY" not in str(error)


@pytest.mark.parametrize("status", [200, 201, 400, 401, 404, 429, 500, 502])
def test_a_page_of_a_gateway_proves_nothing(status: int) -> None:
    error = raised(status, b"<html><title>502 Bad Gateway</title></html>")
    assert (type(error), error.is_definite) == (LostAnswerError, False)


def test_half_of_the_services_own_403_is_not_the_firewalls() -> None:
    error = raised(403, b'{"success": false, "error": {"code": "insuff')
    assert not error.is_definite
    assert "firewall" not in str(error)


@pytest.mark.parametrize(
    "body",
    [
        {"success": True, "pod_ids": [ONE]},
        {"id": ONE, "status": "PENDING"},
        {"cluster_id": "c", "success": False, "pods": [{"pod_id": ONE, "success": False}]},
        {"success": None},
        {},
        [],
        [{"id": ONE}],
        None,
        7,
        "text",
    ],
)
def test_no_refusals(body: object) -> None:
    assert read_error(answer(200, body)) is None


@pytest.mark.parametrize("body", [[], ["no"], None, 7, "no"])
def test_json_that_is_no_object_is_an_error_without_words(body: object) -> None:
    error = raised(400, body)
    assert (type(error), error.is_definite) == (InvalidRequestError, False)


def test_fields_are_told_one_by_one() -> None:
    rows = [{"loc": ["body", "executor_uuids", 1], "msg": "unknown"}, {"loc": "pod_name", "message": "too long"}, 7]
    error = raised(422, {"detail": rows})
    assert [(one.field, one.text) for one in error.problems] == [
        ("executor_uuids.1", "unknown"),
        ("pod_name", "too long"),
    ]


def test_the_bodys_request_id_wins_and_one_of_a_wrong_type_does_not() -> None:
    mine = raised(400, envelope("no"), x_request_id="h-1")
    other = raised(400, SHAPES["wrong types"]("no"), x_request_id="h-1")
    assert isinstance(mine, ProviderError)
    assert isinstance(other, ProviderError)
    assert (mine.request_id, other.request_id) == ("r-1", "h-1")


def test_the_services_hint_is_shown() -> None:
    body = envelope("no")
    body["error"]["hint"] = "Add funds"
    assert raised(400, body).hint == "Add funds"


@pytest.mark.parametrize(
    ("body", "ids"),
    [
        ({"success": True, "pod_ids": [ONE, OTHER, ONE]}, (ONE, OTHER)),
        ({"success": True, "pod_id": ONE}, (ONE,)),
        ({"success": True, "pod_ids": ONE}, (ONE,)),
        ({"pod_ids": [ONE, None, 7, ""], "pod_id": OTHER}, (ONE, OTHER)),
        ({"pod_ids": [{"id": ONE}, {"pod_id": OTHER}]}, (ONE, OTHER)),
        ({"success": True, "data": {"pod_ids": [ONE]}}, (ONE,)),
        ([{"id": ONE, "executor": {"id": "x"}}, {"id": OTHER}], (ONE, OTHER)),
        ({"id": ONE, "executor": {"id": "x"}, "template": {"id": "y"}}, (ONE,)),
        ({"success": True, "pod_ids": None}, ()),
        ({"success": True, "pod_ids": {"a": 1}}, ()),
        ({"error": {"message": "no"}, "id": "request"}, ()),
        (f'{{"success": true, "pod_ids": ["{ONE}", "{OTHER}"'.encode(), (ONE, OTHER)),
        (f'{{"success": true, "pod_ids": ["{ONE}", "5b8b1d'.encode(), (ONE,)),
        (f'{{"success": true, "pod_id": "{ONE}"'.encode(), (ONE,)),
        (b"<html>", ()),
        (b"", ()),
        (None, ()),
    ],
)
def test_every_id_is_kept(body: object, ids: tuple[str, ...]) -> None:
    assert ids_in(answer(200, body)) == ids


@pytest.mark.parametrize("status", [200, 400, 403, 409, 500, 502])
@pytest.mark.parametrize("form", ["object", "half"])
def test_a_no_that_names_pods_proves_nothing_and_keeps_them(status: int, form: str) -> None:
    half = f'{{"success": false, "pod_ids": ["{ONE}"'.encode()
    error = raised(status, {"success": False, "message": "no", "pod_ids": [ONE]} if form == "object" else half)
    assert not error.is_definite
    assert error.ids == (ONE,)


def test_a_read_that_fails_is_never_lost() -> None:
    assert not isinstance(raised(502, b"<html>", is_write=False), OutcomeUnknownError)
    assert isinstance(raised(429, {"message": "slow"}, is_write=False, retry_after="7"), RateLimitedError)


def test_a_body_of_many_levels_is_survived() -> None:
    deep = b'{"message": ' + b"[" * 400 + b"]" * 400 + b"}"
    assert raised(400, deep).is_definite
