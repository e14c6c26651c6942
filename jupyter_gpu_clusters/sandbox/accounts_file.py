"""The same settings as an accounts file of the product, for people who do not want environment variables."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

_MARK = "# Written by the sandbox of jupyter-gpu-clusters; it holds only until that sandbox stops.\n"

Accounts = Mapping[str, tuple[Mapping[str, str], str]]
"""Name of the service -> options of its account and the secret."""


def write_accounts(file: Path, accounts: Accounts) -> None:
    """Write `file`, and beside it one secret file (mode 0600) for each account.

    Raises
    ------
    FileExistsError : `file` is there and the sandbox did not write it.
    """
    if file.exists() and not file.read_text().startswith(_MARK):
        raise FileExistsError(f"{file} exists and was not written by the sandbox. Choose another name or remove it.")
    lines = [_MARK]
    for name, (options, secret) in accounts.items():
        secret_file = file.with_name(f"{file.stem}.{name}.secret").absolute()
        _write(secret_file, secret)
        table = {"provider": name, "secret": f"file:{secret_file}", "sandbox": True, **options}
        lines.append(f"\n[accounts.{name}]\n")
        lines += [f"{key} = {json.dumps(value)}\n" for key, value in table.items()]
    _write(file, "".join(lines))


def _write(file: Path, text: str) -> None:
    part = file.with_name(f".{file.name}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        stream.write(text)
    part.replace(file)
