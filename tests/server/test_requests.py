"""What callers may send."""

from __future__ import annotations

import pytest

from jupyter_gpu_clusters.core.errors import SpecError
from jupyter_gpu_clusters.server.requests import MAX_LOG_BYTES, LogQuery, NoBody, parse_body, parse_query


def test_an_empty_query_asks_for_the_last_lines() -> None:
    query = parse_query(LogQuery, {})
    assert (query.offsets, query.tail, query.limit) == ({}, 500, 262_144)


def test_offsets_are_ranks_and_bytes() -> None:
    assert parse_query(LogQuery, {"offsets": '{"0": 120, "11": 0}'}).offsets == {0: 120, 11: 0}


def test_what_others_add_to_a_query_is_left_alone() -> None:
    assert parse_query(LogQuery, {"1764538000000": "", "token": "t", "no_track_activity": "1"}) == LogQuery()


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"offsets": "{"}, "offsets"),
        ({"offsets": "[1]"}, "offsets"),
        ({"offsets": "7"}, "offsets"),
        ({"offsets": '{"0": -1}'}, "offsets.0"),
        ({"offsets": '{"-1": 0}'}, "offsets.-1"),
        ({"offsets": '{"x": 0}'}, "offsets.x"),
        ({"offsets": '{"0": 1.5}'}, "offsets.0"),
        ({"tail": "0"}, "tail"),
        ({"tail": "ten"}, "tail"),
        ({"limit": "0"}, "limit"),
        ({"limit": str(MAX_LOG_BYTES + 1)}, "limit"),
        ({"limit": ""}, "limit"),
    ],
)
def test_rubbish_is_refused_with_its_field(arguments: dict[str, str], field: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_query(LogQuery, arguments)
    assert [problem.field.removesuffix(".[key]") for problem in caught.value.problems] == [field]


def test_all_problems_come_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        parse_query(LogQuery, {"offsets": "{", "tail": "-5", "limit": "many"})
    assert [problem.field for problem in caught.value.problems] == ["offsets", "tail", "limit"]


@pytest.mark.parametrize("body", [b"", b"  ", b"{}"])
def test_no_body_is_no_problem(body: bytes) -> None:
    assert parse_body(NoBody, body) == NoBody()


@pytest.mark.parametrize("body", [b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b'{"force": true}', b"[" * 100_000])
def test_a_rubbish_body_is_refused_without_quoting_it(body: bytes) -> None:
    with pytest.raises(SpecError) as caught:
        parse_body(NoBody, body)
    assert "Nothing was done" in (caught.value.hint or "")
    assert caught.value.problems
    assert all(len(str(problem)) < 200 for problem in caught.value.problems)
