"""The same machines for the ``ssh`` program: a file for its ``Include``, so that ``ssh NAME`` works in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...core.errors import SettingsError
from ...core.models import SshTarget
from ...core.paths import data_dir, make_private, write_durably
from ...core.ssh_address import plain_name, ssh_names
from .options import SshOptions
from .pins import Pins, alias_of


def include_line() -> str:
    """What a user puts at the top of ``~/.ssh/config``, once."""
    return f'Include "{data_dir() / "ssh" / "config.d" / "*"}"'


def write_include(account: str, clusters: Mapping[str, Sequence[SshTarget]], options: SshOptions, pins: Pins) -> Path:
    """Write the file of one account anew, mode 0600; the user's own files are not touched.

    Parameters
    ----------
    clusters : name -> its machines.

    Raises
    ------
    SettingsError : it cannot be written.
    """
    blocks = [
        _block(ssh_names(name, target, targets), target, options, pins)
        for name, targets in clusters.items()
        for target in targets
    ]
    path = data_dir() / "ssh" / "config.d" / f"{plain_name(account)}.conf"
    try:
        make_private(path.parent.parent)
        make_private(path.parent)
        write_durably(path, "\n".join(blocks).encode())
    except OSError as exc:
        raise SettingsError(f"{path} cannot be written: {exc.strerror}.", hint="Make room there.") from exc
    return path


def _block(names: Sequence[str], target: SshTarget, options: SshOptions, pins: Pins) -> str:
    lines = [f"Host {' '.join(names)}", f"    HostName {target.host}", f"    Port {target.port}"]
    if target.user is not None:
        lines.append(f"    User {target.user}")
    if options.key_file is not None:
        lines += [f'    IdentityFile "{options.key_file}"', "    IdentitiesOnly yes"]
    lines += [
        f"    HostKeyAlias {alias_of(target.identity)}",
        f'    UserKnownHostsFile "{pins.path}"',
        "    HashKnownHosts no",
        "    StrictHostKeyChecking accept-new",
        "    ServerAliveInterval 10",
        "",
    ]
    return "\n".join(lines)
