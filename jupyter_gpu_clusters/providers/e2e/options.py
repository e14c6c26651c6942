"""The settings of an E2E account, and the two halves of its credential. Source: contract, section 1."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    StrictStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

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
    """An account's own settings. ``variant`` and ``frameworks`` are words the vendor does not publish.

    ``locations`` are those that are listed, ``location`` is where new clusters go: one of them, else nobody would see
    what was made there.
    """

    base_url: Annotated[StrictStr, AfterValidator(normalised)] = DEFAULT_URL
    project_id: Number | None = None
    locations: tuple[Location, ...] = Field(LOCATIONS, min_length=1)
    location: Location = LOCATIONS[0]
    active_iam: Number | None = None
    variant: StrictStr = Field("e2e", min_length=1)
    frameworks: tuple[StrictStr, ...] = Field(("Slurm", "NeMo"), min_length=1, max_length=20)
    ssh_user: StrictStr = Field("root", min_length=1, pattern=r"^[a-z_][a-z0-9_-]*$")
    ssh_port: int = Field(22, strict=True, ge=1, le=65535)
    ssh_key: StrictStr | None = Field(None, min_length=1)
    alias: StrictStr | None = None

    @model_validator(mode="before")
    @classmethod
    def _begin_with_a_listed_one(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        places = given.get("locations")
        if isinstance(places, list | tuple) and places and places[0] in LOCATIONS:
            return {"location": places[0], **given}
        return given

    @field_validator("location")
    @classmethod
    def _need_it_listed(cls, place: Location, info: ValidationInfo) -> Location:
        listed = info.data.get("locations", LOCATIONS)
        if place not in listed:
            raise ValueError(f"must be one of `locations` ({', '.join(listed)})")
        return place


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
    found = _parts(secret, options.alias, account)
    key, token = found.get("api_key"), found.get("auth_token") or found.get("api_auth_token")
    if not (isinstance(key, str) and key and isinstance(token, str) and token):
        raise _unusable(account, "must be a JSON object with both `api_key` and `auth_token`")
    project = _digits(found.get("project_id"))
    project_id = project if isinstance(project, int) and not isinstance(project, bool) else None
    return Credential(SecretStr(key), SecretStr(token), project_id)


def _parts(secret: SecretStr, alias: str | None, account: Account) -> Mapping[str, Any]:
    """Both halves, from the TIR download, or from the MyAccount download, which has one pair for each alias."""
    try:
        data = json.loads(secret.get_secret_value())
    except (ValueError, RecursionError):
        return {}
    if not isinstance(data, dict) or "api_key" in data:
        return data if isinstance(data, dict) else {}
    pairs = {name: pair for name, pair in data.items() if isinstance(pair, dict)}
    if alias is not None and alias not in pairs:
        raise _unusable(account, f"has no alias {alias!r}; correct the option `alias`")
    if alias is None and len(pairs) > 1:
        raise _unusable(account, f"holds {len(pairs)} aliases; name one of them in the option `alias`")
    chosen = pairs[alias] if alias is not None else next(iter(pairs.values()), None)
    return chosen or {}


def _unusable(account: Account, text: str) -> SettingsError:
    return SettingsError(
        f"The secret of account {account.name!r} ({account.credential}) {text}.",
        hint=f"Log in: %cluster_login {account.name}",
        provider="e2e",
    )
