"""Synthetic spec models with every kind of field that a provider may bring."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class Policy(StrEnum):
    NEVER = "Never"
    ALWAYS = "Always"


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Port(Strict):
    container: int = Field(ge=1, le=65535)
    external: int | None = None


class Variable(Strict):
    name: str
    value: str | None = None
    exclude: bool | None = None


class Resources(Strict):
    """What each worker gets."""

    cpus: float = Field(1.0, gt=0)
    memory: str | None = None
    devices: int | None = Field(None, ge=0)


class Nfs(Strict):
    kind: Literal["nfs"] = "nfs"
    server: str
    read_only: bool = False


class HostPath(Strict):
    kind: Literal["host_path"] = "host_path"
    path: str


class Deep(Strict):
    inner: dict[str, list[int]] = Field(default_factory=dict)


class Tree(Strict):
    name: str
    children: list[Tree] = Field(default_factory=list)


class Everything(Strict):
    image: str = Field(
        title="Container image", description="Where the image is pulled from", min_length=3, max_length=40
    )
    workers: int = Field(2, ge=1, le=64, description="Without the master.")
    gpus_per_node: int | None = Field(None, ge=0)
    share: float = Field(0.5, ge=0, le=1)
    budget: Decimal | None = Field(None, gt=0)
    until: datetime | None = None
    grace: timedelta | None = None
    is_spot: bool = False
    has_infiniband: bool | None = None
    policy: Policy = Policy.NEVER
    plan: Literal["hourly", "monthly"] | None = None
    region: Literal["delhi", "mumbai"]
    port_or_name: int | str | None = None
    script: str | None = None
    tags: list[str] = Field(default_factory=list)
    ranks: list[int] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)
    limits: dict[str, int] | None = None
    password: SecretStr | None = None
    resources: Resources = Field(default_factory=Resources)
    override: Resources | None = None
    needed: Port
    ports: list[Port] = Field(default_factory=list)
    routes: dict[str, list[Port]] = Field(default_factory=dict)
    variables: list[Variable] | None = Field(None, alias="environmentVariables")
    caps: list[Literal["IPC_LOCK", "SYS_TIME"]] | None = None
    storage: Annotated[Nfs | HostPath, Field(discriminator="kind")] | None = None
    root: Annotated[Nfs | HostPath, Field(discriminator="kind")] = HostPath(path="/")
    deep: Deep | None = None
    tree: Tree | None = None
    anything: Any = None
    restartPolicy: str | None = None
    aliased: str | None = Field(None, alias="gpuDevicesRequest")
