"""Values that are only referred to: what stands for a secret in a form and in the text of a cell.

``env:NAME`` stands for an environment variable of the kernel, ``$name`` for a variable of the notebook, as in the YAML
of a cell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from .yaml_text import VARIABLE

ENVIRONMENT = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Reference:
    """A value that lies elsewhere: ``source`` is ``env`` or ``notebook``."""

    source: str
    name: str


@dataclass(frozen=True, slots=True)
class Masked:
    """A value (or reference) that must not be written into a cell."""

    value: Any = field(repr=False)


def reference_in(text: str) -> Reference | None:
    """The reference that `text` is, if it is one and nothing else."""
    if found := VARIABLE.fullmatch(text.strip()):
        return Reference("notebook", found[1])
    return None


def secret_reference_in(text: str) -> Reference | None:
    """Like `reference_in`; for secrets ``env:NAME`` counts too."""
    if found := ENVIRONMENT.fullmatch(text.strip()):
        return Reference("env", found[1])
    return reference_in(text)
