"""Which answers are refusals, of which kind, and which of them prove that nothing was made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_gpu_clusters.core.errors import (
    AuthError,
    ConflictError,
    InvalidRequestError,
    NoCapacityError,
    NotFoundError,
    ProviderError,
    QuotaError,
    RateLimitedError,
)
from jupyter_gpu_clusters.core.http import Answer
from jupyter_gpu_clusters.providers.e2e.errors import read_error

FIELDS = {"code": 400, "errors": {"name": ["too long", "odd"], "sku_id": "unknown"}, "message": "Invalid request"}


def answer(status: int, body: object, **headers: str) -> Answer:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(status, {name.replace("_", "-"): value for name, value in headers.items()}, content)


@pytest.mark.parametrize(
    ("status", "body", "kind", "is_definite"),
    [
        (400, FIELDS, InvalidRequestError, True),
        (400, {"code": 400, "errors": {}, "message": "credit is too low"}, QuotaError, True),
        (401, {"code": 401, "message": "Unauthorized"}, AuthError, True),
        (403, {"detail": "You may not do this."}, AuthError, True),
        (403, {"detail": "Quota reached: 4 clusters"}, QuotaError, True),
        (404, {"status_code": 404, "errors": "Not found"}, NotFoundError, True),
        (409, {"code": 409, "errors": ["exists"], "message": ""}, ConflictError, False),
        (412, {"code": 412, "errors": {"detail": ["Not running"]}}, ConflictError, True),
        (412, {"code": 412, "message": "Only 1 nodes are available: not enough nodes"}, NoCapacityError, True),
        (412, {"code": 412, "message": "Insufficient funds: 100.00 INR"}, QuotaError, True),
        (429, {"status_code": 429, "errors": "Quota exceeded"}, QuotaError, False),
        (500, {"errors": True, "message": "Oops"}, ProviderError, False),
        (400, {"errors": True}, InvalidRequestError, False),
        (400, {"message": "late", "data": {"id": 7}}, InvalidRequestError, False),
        (200, {"code": 400, "errors": {}, "message": "no"}, InvalidRequestError, True),
        (200, {"code": "404", "message": "no"}, NotFoundError, True),
        (200, {"status_code": 500, "errors": "no"}, ProviderError, False),
        (200, {"code": 200, "errors": {"x": ["no"]}, "message": "Success"}, InvalidRequestError, False),
        (200, {"code": 200, "errors": ["no"], "data": {}}, InvalidRequestError, False),
        (200, {"code": 200, "errors": True, "message": "no"}, InvalidRequestError, False),
        (200, {"detail": "no"}, InvalidRequestError, False),
    ],
)
def test_refusals(status: int, body: object, kind: type[ProviderError], is_definite: bool) -> None:
    refusal = read_error(answer(status, body))
    assert refusal is not None
    assert (refusal.kind, refusal.is_definite) == (kind, is_definite)


def test_a_rate_that_says_when_is_no_quota() -> None:
    refusal = read_error(answer(429, {"detail": "Slow down"}, retry_after="3"))
    assert refusal is not None
    assert refusal.kind is RateLimitedError


@pytest.mark.parametrize(
    "body",
    [
        {"code": 200, "data": {}, "errors": {}, "message": "Success"},
        {"code": 201, "data": {"id": 1}, "errors": [], "message": "Cluster created successfully"},
        {"code": "200", "data": "Deleted", "errors": None},
        {"data": []},
        {"code": True, "errors": False},
        {"detail": ["a list is no text"]},
        [],
        None,
        7,
        "text",
    ],
)
def test_no_refusals(body: object) -> None:
    assert read_error(answer(200, body)) is None


def test_fields_are_told_with_all_their_texts() -> None:
    refusal = read_error(answer(400, FIELDS))
    assert refusal is not None
    assert [(problem.field, problem.text) for problem in refusal.problems] == [
        ("name", "too long; odd"),
        ("sku_id", "unknown"),
    ]


@pytest.mark.parametrize(
    ("status", "content", "ids"),
    [
        (201, b'{"code":201,"data":{"id":4321,"name":"x","sta', ("4321",)),
        (201, b'{"code":201,"data":{"id":"4321"},', ("4321",)),
        (201, b'{"code":201,"data":{"id":43', ()),
        (500, b'<p>{"data": {"id": 12, "name"</p>', ("12",)),
        (201, b'{"code":201,"data":{"created_by":{"id":5},"id":6', ()),
        (201, b"", ()),
        (200, b"<html>", ()),
    ],
)
def test_an_id_in_half_an_answer_is_kept_and_half_an_id_is_not(status: int, content: bytes, ids: Any) -> None:
    refusal = read_error(answer(status, content))
    assert tuple(refusal.ids if refusal else ()) == ids
