"""What a user asks to be run: the workload model shared by all launchers."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt, StrictStr, model_validator

MAX_ARGUMENT_BYTES = 128 * 1024 - 1
"""What Linux takes as one argument or one ``NAME=value`` (``MAX_ARG_STRLEN`` without the final zero byte)."""

MAX_SCRIPT_BYTES = 1024 * 1024
"""A script is a text that somebody wrote; data belongs into files (`CommandSpec.sync`)."""

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _plain(text: str) -> str:
    if "\0" in text:
        raise ValueError("holds a zero byte, which no program can receive")
    return text


def _argument(text: str) -> str:
    if len(_plain(text).encode()) > MAX_ARGUMENT_BYTES:
        raise ValueError(f"is longer than {MAX_ARGUMENT_BYTES} bytes; put it into a file and pass its path")
    return text


def _script(text: str) -> str:
    if not _plain(text).strip():
        raise ValueError("is empty")
    if len(text.encode()) > MAX_SCRIPT_BYTES:
        raise ValueError(f"is longer than {MAX_SCRIPT_BYTES} bytes; put data into files")
    return text


def _env(values: dict[str, str]) -> dict[str, str]:
    for name, value in values.items():
        if not _ENV_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a name for a variable: letters, digits and _, no digit first")
        if len(name) + 1 + len(value.encode()) > MAX_ARGUMENT_BYTES:
            raise ValueError(f"the value of {name} is longer than {MAX_ARGUMENT_BYTES} bytes")
    return values


Argument = Annotated[StrictStr, AfterValidator(_argument)]
Text = Annotated[StrictStr, AfterValidator(_plain)]


class CommandSpec(BaseModel):
    """One distributed command: what runs, on how many nodes, in which surroundings.

    Exactly one of `command` and `script`. Values are data: nothing is split, expanded or run by a shell
    unless the user's own script does so.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: list[Argument] | None = Field(
        None,
        title="Command",
        description="Program and arguments, as a list; run without a shell.",
        min_length=1,
        max_length=10_000,
    )
    script: Annotated[StrictStr, AfterValidator(_script)] | None = Field(
        None,
        title="Script",
        description="Text of a script; run by the program its first line names (#!), else by bash or sh.",
    )
    nodes: StrictInt | None = Field(
        None, title="Nodes", description="How many nodes of the cluster; all when left out.", ge=1, le=100_000
    )
    procs_per_node: StrictInt | None = Field(
        None,
        title="Processes per node",
        description="Start the command so many times on every node, as ranks. When left out it starts once per node, "
        "with torchrun's own defaults set, so that a bare `torchrun train.py` works.",
        ge=1,
        le=1024,
    )
    gpus_per_node: StrictInt | None = Field(
        None,
        title="GPUs per node",
        description="How many of a node's GPUs the command sees; all when left out.",
        ge=0,
        le=1024,
    )
    env: Annotated[dict[StrictStr, Text], AfterValidator(_env)] = Field(
        default_factory=dict,
        title="Environment",
        description="Variables for every rank. The ones that say who is which rank are always set by the launcher.",
        max_length=1000,
    )
    workdir: Text | None = Field(
        None,
        title="Working directory",
        description="Where the command runs; with `sync`, a relative path is inside the copied directory.",
        min_length=1,
        max_length=4096,
    )
    sync: Text | None = Field(
        None,
        title="Directory to copy",
        description="A directory that every node gets a copy of; the command runs in that copy. .gitignore and .ignore "
        "files are honoured.",
        min_length=1,
        max_length=4096,
    )

    @model_validator(mode="after")
    def _one_thing_to_run(self) -> Self:
        if (self.command is None) == (self.script is None):
            raise ValueError("give either a command or a script" + (", not both" if self.command else ""))
        if self.command is not None and not self.command[0]:
            raise ValueError("the program's name (first item of command) is empty")
        return self
