"""The settings of an E2E account, and the two halves of its credential. Source: contract, section 1."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, StrictStr

from ...core.account_options import AccountOptions
from ...core.errors import SettingsError
from ...core.settings import Account

Location = Literal["Delhi", "Chennai"]
LOCATIONS: tuple[Location, ...] = ("Delhi", "Chennai")
DEFAULT_URL = "https://api.e2enetworks.com/myaccount/api/v1/gpu"
_HOST_PART = "/myaccount"
_API_PART = "/api/v1/gpu"
_ADDRESS = re.compile(r"https?://[^/]+(?P<path>/.*)?")


def _digits(value: object) -> object:
    return int(value) if isinstance(value, str) and value.strip().isdecimal() else value


def normalised(address: str) -> str:
    """The base URL from a host, the form that ends in ``/myaccount/``, or the whole."""
    text = address.strip().rstrip("/")
    if "://" not in text:
        text = f"https://{text}"
    found = _ADDRESS.fullmatch(text)
    path = (found["path"] or "") if found else ""
    if path.endswith(_API_PART):
        return text
    return text + _API_PART if path.endswith(_HOST_PART) else text + _HOST_PART + _API_PART


Number = Annotated[int, BeforeValidator(_digits), Field(strict=True, ge=0)]


class Options(AccountOptions):
    """An account's own settings. ``variant`` and ``frameworks`` are words the vendor does not publish."""

    base_url: Annotated[StrictStr, AfterValidator(normalised)] = DEFAULT_URL
    project_id: Number | None = None
    location: Location = "Delhi"
    locations: tuple[Location, ...] = Field(LOCATIONS, min_length=1)
    active_iam: Number | None = None
    variant: StrictStr = Field("e2e", min_length=1)
    frameworks: tuple[StrictStr, ...] = Field(("Slurm", "NeMo"), min_length=1, max_length=20)
    ssh_user: StrictStr = Field("root", min_length=1, pattern=r"^[a-z_][a-z0-9_-]*$")
    alias: StrictStr | None = None


@dataclass(frozen=True)
class Credential:
    """Both halves; neither alone is enough. ``project_id`` stands in the vendor's file beside them."""

    api_key: SecretStr
    auth_token: SecretStr
    project_id: int | None = None


def credential_of(account: Account, options: Options, origin: str) -> Credential:
    """What the account proves itself with, from any of the vendor's files. Blocks for one small file.

    Raises
    ------
    SettingsError : there is no secret, or not both halves of one.
    """
    secret = account.secret(origin)
    if secret is None:
        raise SettingsError(
            f"Account {account.name!r} has no secret.", hint=f"Log in: %cluster_login {account.name}", provider="e2e"
        )
    found = _parts(secret, options.alias)
    key, token = found.get("api_key"), found.get("auth_token") or found.get("api_auth_token")
    if not (isinstance(key, str) and key and isinstance(token, str) and token):
        raise SettingsError(
            f"The secret of account {account.name!r} ({account.credential}) must be a JSON object with both `api_key` "
            "and `auth_token`.",
            hint=f"Log in: %cluster_login {account.name}; where a file holds several aliases, name one in `alias`.",
            provider="e2e",
        )
    project = _digits(found.get("project_id"))
    project_id = project if isinstance(project, int) and not isinstance(project, bool) else None
    return Credential(SecretStr(key), SecretStr(token), project_id)


def _parts(secret: SecretStr, alias: str | None) -> Mapping[str, Any]:
    try:
        data = json.loads(secret.get_secret_value())
    except ValueError:
        return {}
    if not isinstance(data, dict):
        return {}
    if "api_key" in data:
        return data
    chosen = data.get(alias) if alias is not None else next(iter(data.values())) if len(data) == 1 else None
    return chosen if isinstance(chosen, dict) else {}
