"""How one connection is made, and what its failures mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import asyncssh
from anyio import to_thread
from asyncssh.config import ConfigParseError

from ...core.errors import AuthError, GpuClustersError, SettingsError, TransportError
from ...core.models import SshTarget
from .options import SshOptions
from .pins import Pins, fingerprint_of

if TYPE_CHECKING:
    from asyncssh import SSHClientConnection, SSHKey

CONNECT_TIMEOUT_S = 8.0
KEEPALIVE_S = 10.0
KEEPALIVES = 3
"""A machine that is silent for 30 s is taken for lost."""

_SAME_KEY = {"ssh-rsa": ("rsa-sha2-512", "rsa-sha2-256")}
"""Signature algorithms of a key type, where they have other names."""


class _Client(asyncssh.SSHClient):
    """Decides about the host key: the pinned one, or any at first contact."""

    def __init__(self, pinned: str | None) -> None:
        self._pinned = pinned
        self.shown: str | None = None

    def validate_host_public_key(self, host: str, addr: str, port: int, key: SSHKey) -> bool:
        self.shown = " ".join(key.export_public_key().decode().split()[:2])
        return self._pinned is None or self._pinned == self.shown


async def connect(
    target: SshTarget, name: str, options: SshOptions, pins: Pins, met: Callable[[str], None]
) -> SSHClientConnection:
    """A new connection to a machine whose host key is the pinned one; at first contact its key becomes that.

    Parameters
    ----------
    name : of the machine, for messages.
    met : told the fingerprint at first contact.

    Raises
    ------
    AuthError : the machine takes none of the user's keys, or shows another host key than before.
    SettingsError : the user's own key or configuration cannot be used.
    TransportError : there is no way to it.
    """
    pinned = await to_thread.run_sync(pins.find, target.identity)
    client = _Client(pinned)
    try:
        connection = await asyncssh.connect(
            target.host, target.port, client_factory=lambda: client, **_arguments(target, options, pinned)
        )
    except (asyncssh.Error, OSError, ValueError) as exc:
        raise _failure(exc, target, name, pinned, client.shown) from exc
    if pinned is None and client.shown is not None:
        kept = await to_thread.run_sync(pins.pin, target.identity, client.shown)
        if kept != client.shown:
            connection.abort()
            raise _changed(name, kept, client.shown)
        met(fingerprint_of(kept))
    return connection


def _arguments(target: SshTarget, options: SshOptions, pinned: str | None) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "known_hosts": ([], [], []),
        "preferred_auth": "publickey",
        "connect_timeout": CONNECT_TIMEOUT_S,
        "login_timeout": CONNECT_TIMEOUT_S,
        "keepalive_interval": KEEPALIVE_S,
        "keepalive_count_max": KEEPALIVES,
    }
    if target.user is not None:
        arguments["username"] = target.user
    if options.key_file is not None:
        arguments["client_keys"] = [str(options.key_file)]
    if pinned is not None:
        kind = pinned.split()[0]
        arguments["server_host_key_algs"] = list(_SAME_KEY.get(kind, (kind,)))
    return arguments


def _failure(exc: Exception, target: SshTarget, name: str, pinned: str | None, shown: str | None) -> GpuClustersError:
    where = f"{name} ({target.host}:{target.port})"
    match exc:
        case asyncssh.HostKeyNotVerifiable() if pinned is not None and shown is not None:
            return _changed(where, pinned, shown)
        case asyncssh.KeyExchangeFailed() if pinned is not None:
            return _changed(where, pinned, None)
        case asyncssh.PermissionDenied():
            return AuthError(
                f"{where} takes none of your SSH keys for the user {target.user or 'that you are here'}.",
                hint="Name the private key in the account's `ssh_key`, add it to your agent, or put its public half on "
                "the machine.",
            )
        case asyncssh.KeyImportError() | asyncssh.KeyEncryptionError() | ConfigParseError() | ValueError():
            return SettingsError(
                f"Your SSH key or configuration cannot be used: {exc}.",
                hint="Correct `ssh_key` of the account or ~/.ssh/config; add a key with a passphrase to your agent.",
            )
        case FileNotFoundError() | PermissionError() if exc.filename is not None:
            return SettingsError(
                f"Your SSH key {exc.filename} cannot be read: {exc.strerror}.", hint="Correct the account's `ssh_key`."
            )
        case TimeoutError():
            return TransportError(f"{where} does not answer within {CONNECT_TIMEOUT_S:g} s.")
    return TransportError(f"{where} cannot be reached: {getattr(exc, 'strerror', None) or exc}.")


def _changed(name: str, pinned: str, shown: str | None) -> AuthError:
    now = fingerprint_of(shown) if shown is not None else "one of another kind"
    return AuthError(
        f"The host key of {name} is not the one it had before ({fingerprint_of(pinned)}, now {now}), so nothing was "
        "sent to it.",
        hint="It was made anew or rebooted, or somebody is in between; if you know why, forget the old key: "
        "%cluster_ssh CLUSTER --forget",
    )


def lost(name: str, exc: BaseException | None) -> NoReturn:
    """Raise what a connection that broke in the middle means."""
    raise TransportError(
        f"The connection to {name} was lost; what was running there may have done its work all the same."
    ) from exc
