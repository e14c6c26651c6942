"""Bearer tokens: asked for when one is needed, shared by concurrent calls, and used until shortly before their end.

Source: contract, section 1.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from anyio import to_thread
from pydantic import SecretStr

from ...core.errors import AuthError, InvalidRequestError, NotFoundError, TransportError
from ...core.http import Body, HttpClient
from .jwt import claims_of, number_in
from .options import Login, ServiceAccount
from .wire import Token

EARLY_S = 60.0
USUAL_LIFE_S = 300.0
_LONGEST_LIFE_S = 86_400.0


@dataclass(frozen=True)
class _Known:
    """A token and until when, by the loop's clock, it is used."""

    token: SecretStr
    until: float


class Tokens:
    """The token of one account.

    Parameters
    ----------
    http : a client without authorization, for the token calls alone.
    read : reads the credential again; a login may have been renewed by Run:ai's own command line. May block.
    credential : what it read before.
    auth_hint : next step after a refused credential.
    """

    def __init__(
        self,
        http: HttpClient,
        read: Callable[[], ServiceAccount | Login],
        credential: ServiceAccount | Login,
        *,
        auth_hint: str,
    ) -> None:
        self._http = http
        self._read = read
        self._credential = credential
        self._auth_hint = auth_hint
        self._known: _Known | None = None
        self._lock = asyncio.Lock()
        self._has_v2 = True

    async def current(self) -> SecretStr:
        """A token that is good for now; asks for one where there is none.

        Raises
        ------
        AuthError : the credential was refused.
        TransportError : the service did not answer.
        """
        if isinstance(self._credential, Login):
            return self._credential.token
        async with self._lock:
            now = asyncio.get_running_loop().time()
            if self._known is None or now >= self._known.until:
                self._known = await self._ask(self._credential, now)
            return self._known.token

    async def renew(self, refused: SecretStr) -> bool:
        """The service refused this token: whether there is, or can be, another one."""
        if isinstance(self._credential, Login):
            self._credential = await to_thread.run_sync(self._read)
            return not isinstance(self._credential, Login) or self._credential.token != refused
        if self._known is not None and self._known.token == refused:
            self._known = None
        return True

    async def _ask(self, account: ServiceAccount, now: float) -> _Known:
        try:
            answer = await self._ask_v2(account) if self._has_v2 else None
            answer = answer or await self._ask_v1(account)
        except InvalidRequestError as exc:
            raise AuthError(exc.message, hint=self._auth_hint, provider=exc.provider, status=exc.status) from None
        text = answer.access_token or answer.accessToken
        if not text:
            raise TransportError("The answer to the request for a token has none in it.", provider="runai")
        token = SecretStr(text)
        return _Known(token, now + _use_for_s(token, answer.expires_in or answer.expiresIn))

    async def _ask_v2(self, account: ServiceAccount) -> Token | None:
        """``None`` where the service is older than this call (before 2.24)."""
        form: dict[str, str | int | SecretStr] = {
            "grant_type": "client_credentials",
            "client_id": account.client_id,
            "client_secret": account.secret,
        }
        try:
            answer = await self._http.send("POST", "/api/v2/token", Body.from_form(form), is_repeatable=True)
        except NotFoundError:
            self._has_v2 = False
            return None
        return _read(answer.data)

    async def _ask_v1(self, account: ServiceAccount) -> Token:
        body = Body.from_json(
            {"grantType": "client_credentials", "clientID": account.client_id, "clientSecret": account.secret}
        )
        return _read((await self._http.send("POST", "/api/v1/token", body, is_repeatable=True)).data)


def _read(data: object) -> Token:
    return Token.model_validate(data) if isinstance(data, dict) else Token()


def _use_for_s(token: SecretStr, told_s: float | None) -> float:
    """Seconds for which a new token is used: its life less a minute, or half of it where it is short."""
    life = told_s if told_s is not None and told_s > 0 else _life_in(token)
    life = min(life, _LONGEST_LIFE_S)
    return life - EARLY_S if life > 2 * EARLY_S else life / 2


def _life_in(token: SecretStr) -> float:
    """The life of a token by its own claims. Both are the server's, so that a clock that differs does no harm."""
    claims = claims_of(token)
    end, begin = number_in(claims, "exp"), number_in(claims, "iat")
    if end is None:
        return USUAL_LIFE_S
    life = end - (time.time() if begin is None else begin)
    return life if life > 0 else USUAL_LIFE_S
