"""Service accounts and the JWTs that they get."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from ..service import Answer, Call, Refused
from ..world import World

CLIENT_ID = "svc-jupyter"
CLIENT_SECRET = "sbx-run+ai/secret%26more%41="
ROLES = ("member", "viewer", "none")
LONGEST_ID, LONGEST_SECRET = 255, 500
_V2_GRANTS = ("authorization_code", "client_credentials", "password", "refresh_token", "external_token_exchange")
_V1_GRANTS = (
    "app_token",
    "client_credentials",
    "refresh_token",
    "exchange_token",
    "password",
    "external_token_exchange",
)


@dataclass
class Account:
    """A service account; a ``viewer`` only reads, ``none`` may do nothing."""

    secret: str
    role: str = "member"


class Tokens:
    """Who may call, and for how long."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._key = world.hex(64).encode()
        self.accounts = {CLIENT_ID: Account(CLIENT_SECRET)}

    def revoke_all(self) -> None:
        """No token out there is known any more."""
        self._key = self._world.hex(64).encode()

    def v2(self, call: Call) -> Answer:
        """``POST /api/v2/token``: a form, OAuth2 errors."""
        if self._world.choices["runai.token_v2"] == "missing":
            raise Refused(404, "no such path")
        if call.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
            raise _oauth(400, "invalid_request", "the body must be form-urlencoded")
        form = dict(parse_qsl(call.body.decode("utf-8", "replace"), keep_blank_values=True))
        grant = form.get("grant_type")
        if not grant:
            raise _oauth(400, "invalid_request", "grant_type is missing")
        if grant != "client_credentials":
            known = grant in _V2_GRANTS
            raise _oauth(400, "unauthorized_client" if known else "unsupported_grant_type", f"no grant of type {grant}")
        client, secret = form.get("client_id", ""), form.get("client_secret", "")
        if not client or not secret or len(client) > LONGEST_ID or len(secret) > LONGEST_SECRET:
            raise _oauth(400, "invalid_request", "client_id and client_secret are missing or too long")
        if not self._is_right(client, secret):
            raise _oauth(401, "invalid_client", "client authentication failed")
        return Answer.json({"access_token": self._issue(client), "token_type": "Bearer", **self._expiry("expires_in")})

    def v1(self, call: Call) -> Answer:
        """``POST /api/v1/token``: JSON whose keys are read without regard to case."""
        try:
            raw = json.loads(call.body)
        except ValueError:
            raw = None
        if not isinstance(raw, dict):
            raise Refused(400, "the body must be a JSON object")
        body = {str(key).lower(): value for key, value in raw.items()}
        grant = body.get("granttype")
        if grant not in _V1_GRANTS:
            raise Refused(400, "grantType is missing or unknown")
        if grant not in ("client_credentials", "app_token"):
            raise Refused(400, f"no grant of type {grant} here")
        names = ("clientid", "clientsecret") if grant == "client_credentials" else ("appid", "appsecret")
        client, secret = (body.get(name) for name in names)
        if not isinstance(client, str) or not isinstance(secret, str) or not client or not secret:
            raise Refused(400, f"{names[0]} and {names[1]} are required")
        if len(client) > LONGEST_ID or len(secret) > LONGEST_SECRET:
            raise Refused(400, f"{names[0]} or {names[1]} is too long")
        if not self._is_right(client, secret):
            raise Refused(int(self._world.choices["runai.v1_refusal"]), "invalid client or client credentials")
        return Answer.json({"accessToken": self._issue(client), **self._expiry("expiresIn")})

    def _is_right(self, client: str, secret: str) -> bool:
        account = self.accounts.get(client)
        return account is not None and hmac.compare_digest(account.secret.encode(), secret.encode())

    def _expiry(self, name: str) -> dict[str, int]:
        told = self._world.choices["runai.expires_in"] == "present"
        return {name: int(self._world.choices.number("runai.token_seconds"))} if told else {}

    def _issue(self, client: str) -> str:
        now = self._world.clock.shown(self._world.clock.now()).timestamp()
        life = self._world.choices.number("runai.token_seconds")
        claims = {"sub": client, "iat": int(now), "exp": int(now + life), "jti": self._world.uuid()}
        head = f"{_part({'alg': 'HS256', 'typ': 'JWT'})}.{_part(claims)}"
        return f"{head}.{self._sign(head)}"

    def _sign(self, head: str) -> str:
        return base64.urlsafe_b64encode(hmac.digest(self._key, head.encode(), hashlib.sha256)).decode().rstrip("=")

    def client_of(self, call: Call) -> str:
        """The service account behind a valid token; empty otherwise."""
        try:
            return self.check(call.headers.get("authorization", ""))
        except Refused:
            return ""

    def check(self, header: str) -> str:
        """The service account behind an Authorization header.

        Raises
        ------
        Refused : 401, no token, one of another control plane, or one that has expired.
        """
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise Refused(401, "no bearer token")
        head, _, signature = token.strip().rpartition(".")
        if not hmac.compare_digest(self._sign(head).encode(), signature.encode()):
            raise Refused(401, "issuer not recognised")
        claims = json.loads(base64.urlsafe_b64decode(head.split(".")[1] + "=="))
        if self._world.clock.heard(datetime.fromtimestamp(claims["exp"], UTC)) <= self._world.clock.now():
            raise Refused(401, "token has expired")
        if claims["sub"] not in self.accounts:
            raise Refused(401, "the service account is gone")
        return str(claims["sub"])


def _part(data: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(data).encode()).decode().rstrip("=")


def _oauth(status: int, code: str, text: str) -> Refused:
    return Refused(status, text, code=code, shape="oauth")
