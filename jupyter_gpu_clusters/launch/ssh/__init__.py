"""Machines that are reached over SSH: one kept connection each, strict host keys, nothing left behind.

`machines` (who has which connection) -> `connecting` (how one is made) -> `pins` (whose host key it must be).
`host` runs programs (`remote` says how their command line looks and how they are ended), `tree` copies directories,
`forward` forwards ports, `openssh` writes the same targets down for the ``ssh`` program; `reaching` is all of that as
part of a provider.
"""

from .machines import SshMachines
from .options import SshOptions
from .reaching import OverSsh

__all__ = ["OverSsh", "SshMachines", "SshOptions"]
