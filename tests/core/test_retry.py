from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from jupyter_gpu_clusters.core.retry import MAX_RETRY_AFTER_S, Limits, pause_s, retry_after_s


def test_pauses_double_up_to_their_cap_and_differ() -> None:
    limits = Limits(first_pause_s=1.0, max_pause_s=5.0)
    for attempt, whole in ((1, 1.0), (2, 2.0), (3, 4.0), (4, 5.0), (9, 5.0)):
        pauses = {pause_s(attempt, limits) for _ in range(50)}
        assert all(whole / 2 <= pause <= whole for pause in pauses)
        assert len(pauses) > 1


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0.0), ("7", 7.0), (" 7 ", 7.0), ("1.5", 1.5), ("999999999", MAX_RETRY_AFTER_S)],
)
def test_seconds_are_obeyed_and_capped(text: str, seconds: float) -> None:
    assert retry_after_s({"retry-after": text}) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-5", "nan", "inf", "1e9", "٣", "Wed, 99 Foo 2026 99:99:99 GMT"])
def test_what_cannot_be_read_says_nothing(text: str) -> None:
    assert retry_after_s({"retry-after": text}) is None
    assert retry_after_s({}) is None


def test_a_date_is_read_against_the_clock_of_the_service() -> None:
    theirs = datetime.now(UTC) - timedelta(days=400)
    asked = theirs + timedelta(seconds=30)
    headers = {"retry-after": format_datetime(asked, usegmt=True), "date": format_datetime(theirs, usegmt=True)}
    assert retry_after_s(headers) == 30.0


def test_a_date_without_their_clock_is_read_against_ours_and_capped() -> None:
    soon, late = datetime.now(UTC) + timedelta(seconds=60), datetime.now(UTC) + timedelta(days=9)
    assert 50 < (retry_after_s({"retry-after": format_datetime(soon, usegmt=True)}) or 0) <= 60
    assert retry_after_s({"retry-after": format_datetime(late, usegmt=True)}) == MAX_RETRY_AFTER_S


def test_a_date_that_has_passed_means_now() -> None:
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    assert retry_after_s({"retry-after": past}) == 0.0
