"""How a user proves who they are: part of an account's settings."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, StrictStr


class SshOptions(BaseModel):
    """Settings of an account that are about SSH.

    ``ssh_key`` is a private key file; without it the agent, ``~/.ssh/config`` and the usual key files are tried, as
    the ``ssh`` program does.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ssh_key: StrictStr | None = Field(None, min_length=1)

    @property
    def key_file(self) -> Path | None:
        """The private key file, whole."""
        return Path(self.ssh_key).expanduser() if self.ssh_key is not None else None
