from __future__ import annotations

import base64
import html
import json
import logging
import re
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from jupyter_gpu_clusters.core.redact import MASK, Redactor, cut_from_logs, guard_loggers

KEYS = st.one_of(
    st.text("ab%+&=\"'\\/ <>é€𝄞", min_size=4, max_size=24),
    st.text(st.characters(codec="utf-8"), min_size=4, max_size=24),
    st.text("\\\"'\n\t%25", min_size=4, max_size=12),
)


def forms_of(key: str) -> dict[str, str]:
    """How a key looks on the ways on which it could come back."""
    data = key.encode()
    upper = quote(key, safe="")
    return {
        "plain": key,
        "quoted": upper,
        "quoted, slash kept": quote(key),
        "quoted for a form": quote_plus(key),
        "quoted in lower case": "".join(part.lower() if len(part) == 3 else part for part in _triples(upper)),
        "quoted in mixed case": "".join(
            part.lower() if i % 2 and len(part) == 3 else part for i, part in enumerate(_triples(upper))
        ),
        "quoted twice": quote(upper, safe=""),
        "in JSON": json.dumps(key)[1:-1],
        "in JSON as it is": json.dumps(key, ensure_ascii=False)[1:-1],
        "in JSON in JSON": json.dumps(json.dumps(key))[3:-3],
        "in a repr": repr(key)[1:-1],
        "in an ascii repr": ascii(key)[1:-1],
        "in a repr of JSON": repr(json.dumps(key))[2:-2],
        "in a repr of bytes": repr(data)[2:-1],
        "in HTML": html.escape(key),
        "as Latin-1": data.decode("latin-1"),
        "in base64": base64.b64encode(data).decode(),
        "in base64 without padding": base64.b64encode(data).decode().rstrip("="),
        "in base64 for URLs": base64.urlsafe_b64encode(data).decode(),
        "in quoted base64": quote(base64.b64encode(data), safe=""),
        "in base64 after a user": base64.b64encode(b"user:" + data).decode(),
        "in base64 after a short user": base64.b64encode(b"me:" + data).decode(),
        "in base64 amid more": base64.b64encode(b"abcd:" + data + b":tail").decode(),
    }


def _triples(quoted: str) -> list[str]:
    return re.findall("%..|.", quoted, re.DOTALL)


@given(KEYS)
def test_no_form_of_a_key_survives(key: str) -> None:
    redact = Redactor([SecretStr(key)])
    for name, form in forms_of(key).items():
        shown = redact(f"«{form}»")
        assert form not in shown, name
        assert key not in shown, name
        assert MASK in shown, name


@given(KEYS, st.text(max_size=40))
def test_what_is_cut_out_never_forms_the_key_anew(key: str, other: str) -> None:
    assert key not in Redactor([SecretStr(key)])(f"{other}{key}{key[:2]}{key}{key[2:]}{other}")


@given(st.text("abcdefgh -_/.:{}", max_size=80))
def test_text_without_a_secret_stays_as_it_is(text: str) -> None:
    assert Redactor([SecretStr("sk_LIVE%2B&42")])(text) == text


def test_of_two_overlapping_secrets_the_longer_one_goes_whole() -> None:
    redact = Redactor([SecretStr("token"), SecretStr("token-long")])
    assert redact("a token-long and a token") == f"a {MASK} and a {MASK}"


def test_secrets_too_short_to_tell_are_left() -> None:
    assert Redactor([SecretStr("1"), SecretStr("")])("HTTP 401") == "HTTP 401"


def test_a_long_token_is_cut_out_of_a_large_text_quickly() -> None:
    token = base64.urlsafe_b64encode(bytes(range(256)) * 8).decode()
    text = ("x" * 1000 + token + "\\" * 500) * 200
    assert token not in Redactor([SecretStr(token), SecretStr("\\" * 12 + "n")])(text)


def test_a_redactor_shows_no_secret_of_its_own() -> None:
    redact = Redactor([SecretStr("sk_live_12345")])
    shown = repr(redact) + "".join(repr(getattr(redact, name)) for name in Redactor.__slots__)
    assert "12345" not in shown


def test_only_records_made_during_a_call_of_ours_are_cut(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("gpuclusterstest.wire")
    guard_loggers("gpuclusterstest")
    guard_loggers("gpuclusterstest")
    caplog.set_level(logging.DEBUG)
    with cut_from_logs(Redactor([SecretStr("p+q r")])):
        logger.debug("GET %s", "/x?apikey=p%2Bq%20r")
    logger.debug("GET %s", "/x?apikey=p%2Bq%20r")
    assert caplog.messages == [f"GET /x?apikey={MASK}", "GET /x?apikey=p%2Bq%20r"]
    assert len(logger.filters) == 1
