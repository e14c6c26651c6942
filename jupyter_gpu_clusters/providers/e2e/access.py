"""One account's connection, made at the first call."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from pydantic import SecretStr

from ...core.access import LazyAccess
from ...core.errors import SettingsError
from ...core.fingerprint import fingerprint
from ...core.http import HttpClient
from ...core.http_request import Base
from ...core.provider import RemoteIdentity
from .client import Client
from .errors import read_error
from .options import DEFAULT_URL, Credential, Options, credential_of


@dataclass(frozen=True)
class Connection:
    """What calls are made with."""

    options: Options
    client: Client


class Access(LazyAccess[Connection]):
    """The way to one account."""

    def _make(self) -> Connection:
        options = Options.of(self.account)
        credential = credential_of(self.account, options, Base.parse(options.base_url).origin)
        project_id = options.project_id if options.project_id is not None else credential.project_id
        if project_id is None:
            raise SettingsError(
                f"Account {self.account.name!r} names no project.",
                hint="Set `project_id` in accounts.toml, or E2E_TIR_PROJECT_ID; the console shows it beside the name.",
                provider="e2e",
            )
        http = self._http(options.base_url, credential)
        sibling = self._http(f"{options.base_url.removesuffix('/gpu')}/pbac", credential)
        return Connection(options, Client(http, sibling, project_id=project_id, active_iam=options.active_iam))

    def _http(self, url: str, credential: Credential) -> HttpClient:
        hint = (
            f"The key or the token ({self.account.credential}) is wrong or expired; both stop together 365 days after "
            f"they were made. Log in: %cluster_login {self.account.name}"
        )
        http = HttpClient(url, provider="e2e", read_error=read_error, auth_hint=hint)
        bearer = SecretStr(f"Bearer {credential.auth_token.get_secret_value()}")
        http.authorize(query={"apikey": credential.api_key}, headers={"Authorization": bearer})
        return http

    def _identity(self) -> RemoteIdentity:
        """Origin, project and credential."""
        origin, project, iam, mark = Base.parse(DEFAULT_URL).origin, None, None, ""
        with suppress(SettingsError):
            options = Options.of(self.account)
            origin, project, iam = Base.parse(options.base_url).origin, options.project_id, options.active_iam
            credential = credential_of(self.account, options, origin)
            project = project if project is not None else credential.project_id
            mark = fingerprint(credential.api_key, credential.auth_token)
        scope = f"project {project}" if project is not None else ""
        scope += f" iam {iam}" if iam is not None else ""
        return RemoteIdentity(provider="e2e", origin=origin, scope=scope, credential=mark)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._connection is not None:
            await self._connection.client.aclose()
