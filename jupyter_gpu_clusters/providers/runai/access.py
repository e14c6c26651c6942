"""One account's connection, made at the first call, and what this process has learned through it."""

from __future__ import annotations

import asyncio
import ipaddress
from dataclasses import dataclass
from functools import partial

import httpx
from anyio import to_thread
from pydantic import SecretStr

from ...core.errors import SettingsError
from ...core.fingerprint import fingerprint
from ...core.http import HttpClient
from ...core.http_request import Base
from ...core.provider import RemoteIdentity
from ...core.settings import Account
from .client import Client
from .errors import read_error, read_log_error
from .jwt import claims_of
from .options import Login, Options, ServiceAccount, credential_of
from .tokens import Tokens
from .wire_org import Project

GRACE_S = 120.0
"""For so long a workload may not show after its making, however it is asked for (contract, gotcha 4)."""
_KEPT = 5000


@dataclass(frozen=True)
class Connection:
    """What calls are made with."""

    options: Options
    credential: ServiceAccount | Login
    client: Client
    http: tuple[HttpClient, HttpClient]


@dataclass(frozen=True)
class ClusterApi:
    """The API of one cluster, which takes the control plane's token."""

    url: str
    http: HttpClient


class Access:
    """The way to one account. Nothing is opened before the first call."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.projects: dict[str, Project] = {}
        self._connection: Connection | None = None
        self._cluster_apis: dict[str, ClusterApi] = {}
        self._lock = asyncio.Lock()
        self.live: set[str] = set()
        self._known_since: dict[str, float] = {}

    async def connect(self) -> Connection:
        """The connection.

        Raises
        ------
        SettingsError : options or secret are missing or wrong.
        """
        async with self._lock:
            if self._connection is None:
                self._connection = self._make(*await to_thread.run_sync(self._read))
            return self._connection

    async def client(self) -> Client:
        """The calls; raises like `connect`."""
        return (await self.connect()).client

    def _read(self) -> tuple[Options, ServiceAccount | Login]:
        options = Options.of(self.account)
        return options, credential_of(self.account, options, Base.parse(options.url).origin)

    def _make(self, options: Options, credential: ServiceAccount | Login) -> Connection:
        hint = self._auth_hint(credential)
        new = partial(HttpClient, options.url, provider="runai", read_error=read_error, auth_hint=hint)
        for_tokens, for_calls = new(), new()
        if isinstance(credential, ServiceAccount):
            for_calls.hide(credential.secret)
        tokens = Tokens(for_tokens, lambda: self._read()[1], credential, auth_hint=hint)
        return Connection(options, credential, Client(for_calls, tokens), (for_tokens, for_calls))

    def _auth_hint(self, credential: ServiceAccount | Login) -> str:
        source = self.account.credential
        if isinstance(credential, Login):
            return f"The login comes from {source} and may have ended; log in again with Run:ai's own tool: runai login"
        return (
            f"The secret comes from {source}, the client id is {credential.client_id!r}. Correct them, or log in "
            f"again: %cluster_login {self.account.name}"
        )

    async def cluster_api(self, domain: str) -> ClusterApi:
        """The API of the cluster of that domain, with a token that is good now.

        Raises
        ------
        SettingsError : the token would go over the network unencrypted, or the domain is not an address.
        """
        connection = await self.connect()
        token = await connection.client.token()
        url = cluster_url(domain)
        if url not in self._cluster_apis:
            hint = self._auth_hint(connection.credential)
            http = HttpClient(url, provider="runai", read_error=read_log_error, auth_hint=hint)
            if isinstance(connection.credential, ServiceAccount):
                http.hide(connection.credential.secret)
            self._cluster_apis[url] = ClusterApi(url, http)
        api = self._cluster_apis[url]
        api.http.authorize(headers={"authorization": SecretStr(f"Bearer {token.get_secret_value()}")})
        return api

    async def identity(self) -> RemoteIdentity:
        """Whom the account speaks to and as whom; needs neither the network nor a secret that is right."""
        return await to_thread.run_sync(self._identity)

    def _identity(self) -> RemoteIdentity:
        try:
            options = Options.of(self.account)
            origin = Base.parse(options.url).origin
        except SettingsError:
            return RemoteIdentity(provider="runai", origin=str(self.account.options.get("base_url") or ""))
        try:
            credential = credential_of(self.account, options, origin)
        except SettingsError:
            return RemoteIdentity(provider="runai", origin=origin)
        return RemoteIdentity(provider="runai", origin=origin, credential=_mark_of(credential))

    def note(self, workload_id: str, *, is_live: bool = False) -> None:
        """This workload is known from now on, if it was not before; a live one is missed when lists lack it."""
        if is_live:
            self.live.add(workload_id)
        if workload_id not in self._known_since:
            if len(self._known_since) >= _KEPT:
                self._known_since.pop(next(iter(self._known_since)))
            self._known_since[workload_id] = asyncio.get_running_loop().time()

    def is_young(self, workload_id: str) -> bool:
        """Whether this process has known the workload only for a short while; not known at all counts as old."""
        since = self._known_since.get(workload_id)
        return since is not None and asyncio.get_running_loop().time() - since < GRACE_S

    async def aclose(self) -> None:
        """Close the connections."""
        connection, self._connection = self._connection, None
        apis, self._cluster_apis = list(self._cluster_apis.values()), {}
        for http in (*(connection.http if connection is not None else ()), *(api.http for api in apis)):
            await http.aclose()


def cluster_url(domain: str) -> str:
    """The base of a cluster's API; a bare domain means HTTPS. The control plane itself told the domain.

    Raises
    ------
    SettingsError : it is not an address, or would have the token sent unencrypted to another machine.
    """
    url = (domain if "://" in domain else f"https://{domain}").rstrip("/")
    base = Base.parse(url)
    if base.origin.startswith("http:") and not is_loopback(base.origin):
        raise SettingsError(
            f"The cluster's address {base.origin} is not encrypted, so the token is not sent there.", provider="runai"
        )
    return url


def is_loopback(origin: str) -> bool:
    """Whether an origin is this machine, where only the sandbox is."""
    host = httpx.URL(origin).host
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _mark_of(credential: ServiceAccount | Login) -> str:
    """Of a login it is whose it is that counts, for the token is another one after every login."""
    if isinstance(credential, ServiceAccount):
        return fingerprint(SecretStr(credential.client_id), credential.secret)
    subject = claims_of(credential.token).get("sub")
    return fingerprint(SecretStr(f"sub:{subject}") if isinstance(subject, str) else credential.token)
