"""What clients may send, as strict as the contract: unknown fields, wrong types and forbidden nulls are refused."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

UUID_PATTERN = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
Uuid = Annotated[str, StringConstraints(pattern=UUID_PATTERN)]
PublicKey = Annotated[str, StringConstraints(pattern=r"^(ssh-|ecdsa-|sk-)\S+ \S+( .*)?\s*$")]
Moment = Annotated[
    str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$")
]
Positive = Annotated[int, Field(ge=1)]


class Body(BaseModel):
    """The strictness common to all."""

    model_config = ConfigDict(extra="forbid", strict=True)


class RentBody(Body):
    """The fields that all three ways of renting share."""

    pod_name: str = Field(min_length=1)
    user_public_key: list[PublicKey] = Field(min_length=1)
    template_id: Uuid | None = None
    volume_id: str | None = None
    backup_log_id: Uuid | None = None
    restore_path: str | None = None
    skip_add_agent_ssh_key: bool | None = None
    termination_hours: int | None = Field(None, ge=1, le=720)
    initial_port_count: int | None = Field(None, ge=0)
    enable_jupyter: bool | None = None
    enable_volume_encryption: bool | None = None
    enable_backups: bool = True
    dockerfile_content: str | None = None
    ncu_profiling: bool = False
    gpu_count: Positive | None = None

    @model_validator(mode="after")
    def _restore_is_whole(self) -> Self:
        if (self.backup_log_id is None) != (self.restore_path is None):
            raise ValueError("backup_log_id and restore_path go together")
        return self


class ClusterRentBody(RentBody):
    """Several whole nodes of one fabric."""

    executor_uuids: list[str] = Field(min_length=2)

    @model_validator(mode="after")
    def _no_node_twice(self) -> Self:
        if len(set(self.executor_uuids)) < len(self.executor_uuids):
            raise ValueError("executor_uuids must not repeat")
        return self


class SingleRentBody(RentBody):
    """One node or a part of it."""

    build_context_sha256: str | None = None


class RentBySpecBody(RentBody):
    """Wishes instead of a node."""

    gpu_type: str
    min_vram_gb: float | None = None
    min_cpus: int | None = None
    min_ram_gb: float | None = None
    min_disk_gb: float | None = None
    min_download_mbps: float | None = None
    min_ports: int | None = None
    max_price_per_gpu_hour: float | None = None
    country: str | None = None
    docker_in_docker: bool | None = None
    dry_run: bool = False

    @model_validator(mode="before")
    @classmethod
    def _no_null_wishes(cls, data: object) -> object:
        wishes = set(cls.model_fields) - set(RentBody.model_fields)
        nulls = sorted(name for name in wishes if isinstance(data, dict) and data.get(name, "") is None)
        if nulls:
            raise ValueError(f"must not be null: {', '.join(nulls)}")
        return data


class ScheduleBody(Body):
    removal_scheduled_at: Moment


class RebootBody(Body):
    volume_id: str = ""


class ResetBody(Body):
    gpu_indices: list[Annotated[int, Field(ge=0)]] | None = None


class SwitchBody(Body):
    template_id: Uuid


class JupyterBody(Body):
    jupyter_internal_port: int = Field(ge=1, le=65535)


class FeedbackBody(Body):
    feedback_text: str = ""
    rating: int | None = Field(None, ge=1, le=5)
    reason: str | None = None


class NamedBody(Body):
    name: str = Field(max_length=100)
    description: str = ""


class VolumeChangeBody(Body):
    name: str = Field("", max_length=100)
    description: str = ""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("name or description is needed")
        return self


class RestoreBody(Body):
    backup_id: Uuid
    restore_path: str


class BackupConfigBody(Body):
    pod_id: Uuid
    backup_frequency_hours: Positive
    retention_days: Positive
    backup_path: str


class BackupConfigChangeBody(Body):
    backup_frequency_hours: Positive = 1
    retention_days: Positive = 1
    backup_path: str = ""
    is_active: bool = True

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("at least one field is needed")
        return self


class SshKeyBody(Body):
    name: str
    public_key: PublicKey


class TemplateBody(Body):
    name: str
    docker_image: str
    docker_image_tag: str = "latest"
    docker_image_digest: str = ""
    internal_ports: list[int] = Field(default_factory=list)
    startup_commands: str = ""
    category: str = "CUSTOM"
    container_start_immediately: bool = True
    description: str = ""
    entrypoint: str = ""
    environment: dict[str, str] = Field(default_factory=dict)
    is_private: bool = True
    one_time_template: bool = False
    is_temporary: bool = False
    readme: str = ""
    volumes: list[str] = Field(default_factory=list)
