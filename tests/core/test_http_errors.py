"""Which error an answer means: by the provider's reader, else by the status, and never by a page of a gateway."""

from __future__ import annotations

import pytest

from jupyter_gpu_clusters.core.errors import (
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
from jupyter_gpu_clusters.core.http import Answer, HttpClient, LostAnswerError, Refusal, kind_of_status

from . import nasty
from .reading import client_of

pytestmark = pytest.mark.anyio

STATUSES = {
    400: InvalidRequestError,
    401: AuthError,
    402: QuotaError,
    403: AuthError,
    404: NotFoundError,
    405: ProviderError,
    409: ConflictError,
    410: NotFoundError,
    412: ConflictError,
    422: InvalidRequestError,
    429: RateLimitedError,
    501: ProviderError,
}


async def failure(act: nasty.Act, method: str = "GET") -> GpuClustersError:
    async with nasty.running(act) as server, client_of(server.url) as client:
        with pytest.raises(GpuClustersError) as caught:
            await client.send(method, "pods/7")
        return caught.value


@pytest.mark.parametrize(("status", "kind"), STATUSES.items())
@pytest.mark.parametrize("body", ["json", "empty"])
async def test_a_status_stands_for_a_class(status: int, kind: type[ProviderError], body: str) -> None:
    error = await failure(nasty.as_json(status, {"message": "no"}) if body == "json" else nasty.reply(status))
    assert type(error) is kind is kind_of_status(status)
    assert isinstance(error, ProviderError)
    assert (error.status, error.provider, error.is_definite) == (status, "test", False)


@pytest.mark.parametrize("status", [401, 403, 404, 409, 422, 429])
async def test_a_page_of_a_gateway_is_no_word_of_the_service(status: int) -> None:
    read = await failure(nasty.page(status, "Sign in"))
    assert type(read) is TransportError
    assert "Sign in" in read.message
    write = await failure(nasty.page(status, "Sign in"), "POST")
    assert type(write) is LostAnswerError
    assert write.status == status


async def test_a_page_that_the_reader_knows_counts() -> None:
    def read(_: Answer) -> Refusal | None:
        return Refusal(text="The firewall refuses such a body.", kind=InvalidRequestError, is_definite=True)

    async with nasty.running(nasty.page(403)) as server:
        client = HttpClient(server.url, provider="test", read_error=read)
        with pytest.raises(InvalidRequestError, match="firewall") as caught:
            await client.send("POST", "x")
        await client.aclose()
        assert caught.value.is_definite


async def test_everything_the_reader_finds_is_in_the_error() -> None:
    told = {
        "message": "Not enough\n\x1b[31mbalance",
        "code": "quota",
        "errors": {"nodes": "at most 4"},
        "request_id": "r1",
        "definite": True,
        "ids": ["c1", "p1", "c1"],
    }
    error = await failure(nasty.as_json(403, told), "POST")
    assert isinstance(error, QuotaError)
    assert error.message.endswith("/pods/7 was answered HTTP 403 (quota): Not enough [31mbalance")
    assert error.problems == (Problem("nodes", "at most 4"),)
    assert (error.status, error.request_id, error.is_definite, error.ids) == (403, "r1", True, ("c1", "p1"))


async def test_a_failure_under_http_200_is_a_failure() -> None:
    for method in ("GET", "POST"):
        error = await failure(nasty.as_json(200, {"success": False, "message": "all taken", "definite": True}), method)
        assert type(error) is ProviderError
        assert error.is_definite
        assert "all taken" in error.message


async def test_an_unclear_answer_to_a_write_keeps_the_ids_it_names() -> None:
    for status in (500, 502, 503, 408):
        error = await failure(nasty.as_json(status, {"message": "late", "ids": ["c9"]}, x_request_id="h1"), "POST")
        assert isinstance(error, LostAnswerError)
        assert isinstance(error, OutcomeUnknownError)
        assert (error.ids, error.status, error.request_id) == (("c9",), status, "h1")
        assert "late" in error.message
        assert "%cluster_recover" in (error.hint or "")


async def test_a_5xx_that_the_providers_table_lists_is_definite() -> None:
    error = await failure(nasty.as_json(503, {"message": "rentals are paused", "definite": True}), "POST")
    assert type(error) is ProviderError
    assert error.is_definite


async def test_a_refused_credential_is_told_with_its_source() -> None:
    error = await failure(nasty.as_json(401, {"message": "bad key"}))
    assert error.hint == "The key came from env:TEST_KEY."


async def test_texts_and_lists_are_bounded() -> None:
    told = {
        "message": "x" * 100_000,
        "errors": {f"f{i}": "y" * 5000 for i in range(200)},
        "ids": [str(i) for i in range(5000)],
    }
    error = await failure(nasty.as_json(400, told), "POST")
    assert isinstance(error, InvalidRequestError)
    assert len(str(error)) < 120_000
    assert len(error.message) < 2200
    assert (len(error.problems), len(error.ids)) == (50, 1000)


@pytest.mark.parametrize("body", [b"null", b'{"a": NaN}', b'"\\ud800"', "\ufeff{}".encode()])
async def test_unusual_json_is_read(body: bytes) -> None:
    async with nasty.running(nasty.reply(200, body)) as server, client_of(server.url) as client:
        assert (await client.get("x")).data in (None, {"a": None}, "\ud800", {})


@pytest.mark.parametrize("body", [b"[" * 100_000, b"1" * 5000, b"\xff\xfe", b"{'a': 1}"])
async def test_what_cannot_be_read_as_json_is_no_answer_and_no_crash(body: bytes) -> None:
    assert "not JSON" in (await failure(nasty.reply(200, body))).message


async def test_text_is_welcome_where_text_was_asked_for() -> None:
    async with nasty.running(nasty.reply(200, b"line 1\nline \xff")) as server, client_of(server.url) as client:
        assert (await client.get("logs", needs_json=False)).text == "line 1\nline \ufffd"
        assert server.seen[0].headers["accept"] == "*/*"


async def test_an_accepted_delete_may_be_empty() -> None:
    for status in (202, 204):
        async with nasty.running(nasty.reply(status)) as server, client_of(server.url) as client:
            assert (await client.send("DELETE", "x")).status == status
            assert (await client.get("x")).data is None
