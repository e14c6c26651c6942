"""The settings of a Run:ai account, and what its secret is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StrictInt, StrictStr, ValidationError

from ...core.errors import Problem, SettingsError
from ...core.http_request import Base
from ...core.settings import Account
from ...core.spec_problems import problems_of
from .jwt import login_token

CONFIG_FILE = Path("~/.runai/config.json")
_PREFIX = re.compile(r"/+(api(/+v[0-9]+)?)?/*$")
_AUTHORITY = (
    "is not a setting here. For a service with its own authority, add it to the system's certificates or set "
    "SSL_CERT_FILE; certificates are always checked."
)
_NOT_SETTINGS = ("ca_file", "verify", "verify_ssl", "ssl_ca_cert")


class Options(BaseModel):
    """``base_url`` with or without ``/api/v1``; ``project`` is for workloads that name none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: StrictStr | None = Field(None, min_length=1)
    client_id: StrictStr | None = Field(None, min_length=1, max_length=255)
    project: StrictStr | StrictInt | None = None

    @classmethod
    def of(cls, account: Account) -> Options:
        """The options of `account`. Where the address is missing, the one that Run:ai's command line uses is taken.

        Blocks for one small file.

        Raises
        ------
        SettingsError : with every problem.
        """
        given = dict(account.options)
        problems = [Problem(name, _AUTHORITY) for name in _NOT_SETTINGS if given.pop(name, None) is not None]
        try:
            options = cls.model_validate(given)
        except ValidationError as exc:
            problems += problems_of(exc, cls, given)
        else:
            options = options.model_copy(update={"base_url": _normalised(options.base_url or _configured_url())})
            problems += _check_url(options.base_url)
        if problems:
            raise SettingsError(
                f"The settings of account {account.name!r} are wrong; nothing was sent.",
                problems=problems,
                hint=f"Log in: %cluster_login {account.name}",
                provider=account.provider,
            )
        return options

    @property
    def url(self) -> str:
        """Where the service is, without ``/api/v1``."""
        return self.base_url or ""


@dataclass(frozen=True)
class ServiceAccount:
    """A service account or an access key."""

    client_id: str
    secret: SecretStr


@dataclass(frozen=True)
class Login:
    """A token that somebody got by logging in; it cannot be renewed."""

    token: SecretStr


def credential_of(account: Account, options: Options, origin: str) -> ServiceAccount | Login:
    """What the account proves itself with. Blocks for one small file.

    Raises
    ------
    SettingsError : there is no secret, or no client id to go with it.
    """
    secret = account.secret(origin)
    if secret is None:
        raise SettingsError(
            f"Account {account.name!r} has no secret.", hint=f"Log in: %cluster_login {account.name}", provider="runai"
        )
    token = login_token(secret)
    if token is not None:
        return Login(token)
    if options.client_id is None:
        raise SettingsError(
            f"Account {account.name!r} has a client secret ({account.credential}) but no client_id.",
            hint=f"Log in: %cluster_login {account.name}",
            provider="runai",
        )
    return ServiceAccount(options.client_id, secret)


def _normalised(url: str | None) -> str | None:
    """Public tools disagree on whether the address has ``/api/v1`` (contract, section 1)."""
    return None if url is None else _PREFIX.sub("", url.strip())


def _check_url(url: str | None) -> list[Problem]:
    if not url:
        return [Problem("base_url", "is missing: the address of the web page, for example https://team.run.ai.")]
    try:
        Base.parse(url)
    except SettingsError as exc:
        return [Problem("base_url", exc.message)]
    return []


def _configured_url() -> str | None:
    """The address in the configuration of Run:ai's command line."""
    try:
        config = json.loads(CONFIG_FILE.expanduser().read_text())
    except (OSError, ValueError):
        return None
    plane: Any = config.get("control_plane") if isinstance(config, Mapping) else None
    url = plane.get("url") if isinstance(plane, Mapping) else None
    return url if isinstance(url, str) else None
