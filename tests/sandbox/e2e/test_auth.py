"""Both halves of a credential are needed, and a project, a location and a role that go with them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.fixtures import CheckedSandbox
from tests.sandbox.e2e.caller import CLUSTERS, DELHI, Caller

YEAR_S = 365 * 24 * 3600
NASTY = "k%2B+&=#'\"/ü"


@pytest.mark.parametrize(
    ("changes", "leave_out"),
    [
        ({}, ("token",)),
        ({}, ("apikey",)),
        ({}, ("token", "apikey")),
        ({"apikey": "wrong"}, ()),
        ({"apikey": ""}, ()),
    ],
)
def test_one_half_alone_is_unauthorized(tir: Caller, changes: dict[str, Any], leave_out: tuple[str, ...]) -> None:
    answer = tir.bad("GET", CLUSTERS, leave_out=leave_out, **changes)
    assert answer.status_code == 401
    assert answer.json() == {"code": 401, "message": "Unauthorized access."}


def test_halves_of_two_credentials_do_not_go_together(sandbox: CheckedSandbox, tir: Caller) -> None:
    sandbox.setup("e2e", credential={"label": "other", "api_key": "other-key", "token": "other-token"})
    assert tir.ask("GET", CLUSTERS, apikey="other-key").status_code == 401
    other = Caller(sandbox, key="other-key", token="other-token")
    assert other.data("GET", CLUSTERS) == []


def test_credentials_expire_after_a_year(sandbox: CheckedSandbox, tir: Caller) -> None:
    sandbox.advance(YEAR_S - 1)
    assert tir.data("GET", CLUSTERS) == []
    sandbox.advance(1)
    assert tir.ask("GET", CLUSTERS).status_code == 401


def test_revoked_credential_is_unauthorized(sandbox: CheckedSandbox, tir: Caller) -> None:
    sandbox.setup("e2e", revoke="e2e-key")
    assert tir.ask("GET", CLUSTERS).status_code == 401


def test_reader_may_look_and_not_order(sandbox: CheckedSandbox) -> None:
    sandbox.setup("e2e", credential={"label": "reader", "api_key": "a", "token": "b", "read_only": True})
    reader = Caller(sandbox, key="a", token="b")
    assert reader.data("GET", CLUSTERS) == []
    answer = reader.ask("POST", CLUSTERS, json=DELHI)
    assert (answer.status_code, answer.json()) == (403, {"detail": "Your role may only read."})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("project_id", None),
        ("project_id", "abc"),
        ("project_id", "-1"),
        ("project_id", "3.0"),
        ("location", None),
        ("location", "delhi"),
        ("location", "Mumbai"),
        ("location", ""),
        ("active_iam", "me"),
        ("team", "12"),
        ("projectId", "31007"),
    ],
)
def test_wrong_scope_is_a_field_error(tir: Caller, field: str, value: str | None) -> None:
    changes = {} if value is None else {field: value}
    answer = tir.bad("GET", CLUSTERS, leave_out=(field,) if value is None else (), **changes)
    assert answer.status_code == 400
    assert list(answer.json()["errors"]) == [field]
    assert "data" not in answer.json()


def test_foreign_project_is_forbidden_without_an_envelope(tir: Caller) -> None:
    answer = tir.ask("GET", CLUSTERS, project_id=31101)
    assert (answer.status_code, answer.json()) == (403, {"detail": "You have no role in this project."})


def test_active_iam_acts_in_another_account(tir: Caller) -> None:
    rows = tir.data("GET", "/users/iam-accounts/", leave_out=("project_id", "location"))
    assert [row["id"] for row in rows] == [615, 616]
    assert tir.data("GET", CLUSTERS, active_iam=616, project_id=31101) == []
    assert tir.ask("GET", CLUSTERS, active_iam=616).status_code == 403
    assert tir.ask("GET", CLUSTERS, active_iam=999).status_code == 403
    own = {key["pk"] for key in tir.data("GET", "/ssh_keys/", leave_out=("project_id",))}
    theirs = {key["pk"] for key in tir.data("GET", "/ssh_keys/", leave_out=("project_id",), active_iam=616)}
    assert own
    assert theirs
    assert not own & theirs


def test_token_listing_shows_expiry_and_secrets(sandbox: CheckedSandbox, tir: Caller) -> None:
    (row,) = tir.data("GET", "/auth-token/", leave_out=("project_id", "location"))
    assert row["expiry"] == "2027-11-30"
    assert (row["api_key"], row["auth_token"]) == (tir.key, tir.token)


def test_secrets_stay_out_of_books_and_records(sandbox: CheckedSandbox) -> None:
    token = "tok-+&%-1"
    sandbox.setup("e2e", credential={"label": "nasty", "api_key": NASTY, "token": token})
    nasty = Caller(sandbox, key=NASTY, token=token)
    nasty.create()
    shown = repr(sandbox.books()) + repr(sandbox.requests())
    assert "'nasty'" in shown
    for secret in (NASTY, token, nasty.key):
        assert secret not in shown
    assert "2B%2B%26" not in shown


def test_rate_limit_tells_when_to_come_back(sandbox: CheckedSandbox, tir: Caller) -> None:
    assert "ratelimit-limit" not in tir.ask("GET", CLUSTERS).headers
    sandbox.choose({"e2e.rate_limit": "3"})
    answers = [tir.ask("GET", CLUSTERS) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert [answer.headers["ratelimit-remaining"] for answer in answers] == ["2", "1", "0", "0"]
    assert answers[3].headers["Retry-After"] == "60"
    assert int(answers[3].headers["ratelimit-reset"]) == sandbox.clock_state()["now"] + 60
    assert answers[3].json() == {"status_code": 429, "errors": "Too many requests"}
    sandbox.advance(60)
    assert tir.ask("GET", CLUSTERS).status_code == 200
