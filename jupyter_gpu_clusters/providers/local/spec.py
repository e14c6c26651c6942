"""What can be asked of a local cluster."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict, Field

NAME_PATTERN = re.compile(r"[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?")
NAME_RULE = "must be 1 to 48 lower-case letters, digits and hyphens, with a letter or digit at both ends"


class LocalSpec(BaseModel):
    """A cluster of folders and processes on this machine. Free; nothing is reserved but GPUs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    nodes: int = Field(1, strict=True, ge=1, le=64, title="Nodes", description="How many nodes this machine plays.")
    gpus_per_node: int = Field(
        0,
        strict=True,
        ge=0,
        le=64,
        title="GPUs per node",
        description="GPUs of this machine that each node sees alone (CUDA_VISIBLE_DEVICES).",
    )
