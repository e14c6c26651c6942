"""The settings of a Lium account. Source: contract, section 1."""

from __future__ import annotations

from pydantic import Field, SecretStr, StrictStr

from ...core.account_options import AccountOptions
from ...core.errors import SettingsError
from ...core.settings import Account

DEFAULT_URL = "https://lium.io/api"


class Options(AccountOptions):
    """An account's own settings. ``customer_ref`` tags every rental that says no other; ``ssh_key`` opens the nodes."""

    base_url: StrictStr = DEFAULT_URL
    customer_ref: StrictStr | None = Field(None, min_length=1, pattern=r"^[!-~]+( [!-~]+)*$")
    ssh_key: StrictStr | None = Field(None, min_length=1)


def key_of(account: Account, origin: str) -> SecretStr:
    """The account's API key. Blocks for one small file.

    Raises
    ------
    SettingsError : there is none.
    """
    key = account.secret(origin)
    if key is None:
        raise SettingsError(
            f"Account {account.name!r} has no API key.", hint=f"Log in: %cluster_login {account.name}", provider="lium"
        )
    return key
