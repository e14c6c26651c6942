"""What can be asked of Lium: the whole rent under its own names, words that are shorter to write, and actions.

One node and several are the same job; with one, the request goes to the route for single nodes. A short word is looked
up and fills the place that it stands for; where both are written and differ, that is a problem and not a choice.
Source: contract, sections 3 and 4.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from ...core.choices import looked_up

_MOST = 1000
Text = Annotated[StrictStr, Field(min_length=1)]
Uuid = Annotated[StrictStr, Field(pattern=r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")]
PublicKey = Annotated[StrictStr, Field(min_length=1, max_length=16384)]


def _field(title: str, description: str, **more: Any) -> Any:
    return Field(None, title=title, description=description, **more)


class Part(BaseModel):
    """One object of a request; what is unknown here is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class LiumSpec(Part):
    """Whole nodes on one fabric, all or none of them; or one node. Billed per second until deleted."""

    gpu: Text | None = _field("GPU", "Part of the GPU's name, for example H100; the cheapest nodes that fit.")
    nodes: Annotated[StrictInt, Field(ge=1, le=254)] | None = _field(
        "Nodes", "How many; 2 when left out, unless executor_uuids says."
    )
    fabric: Text | None = _field(
        "Fabric", "Id of a fabric, or its beginning.", json_schema_extra=looked_up("fabrics", ["gpu", "nodes"])
    )
    ssh_keys: Annotated[list[Text], Field(max_length=_MOST)] | None = _field(
        "SSH keys", "Names of keys that Lium keeps.", json_schema_extra=looked_up("ssh_keys")
    )
    template: Text | None = _field(
        "Template",
        "Name or id; for several nodes the newest cluster image when left out.",
        json_schema_extra=looked_up("templates"),
    )
    volume: Text | None = _field(
        "Volume", "Name of a volume; one pod at a time can have it.", json_schema_extra=looked_up("volumes")
    )
    max_price_per_hour: Annotated[Decimal, Field(gt=0)] | None = _field(
        "Price limit (USD/h)", "Refuses a plan that costs more in all."
    )
    customer_ref: Annotated[StrictStr, Field(min_length=1, pattern=r"^[!-~]+( [!-~]+)*$")] | None = _field(
        "Customer reference", "Your tag for this rental; the order's own mark when left out."
    )
    termination_hours: Annotated[StrictInt, Field(ge=1, le=720)] | None = _field(
        "Ends after (h)", "Hours from its start until it is removed; never by itself when left out."
    )
    exact_name: StrictBool = Field(
        False,
        title="Exact name",
        description="Sends the name without a mark; a lost answer can then not be found again by itself.",
    )
    executor_uuids: Annotated[list[Text], Field(min_length=1, max_length=254)] | None = _field(
        "Nodes by id",
        "These nodes, in this order, which is taken as their rank order.",
        json_schema_extra=looked_up("executors", ["fabric", "gpu"]),
    )
    user_public_key: Annotated[list[PublicKey], Field(max_length=_MOST)] | None = _field(
        "Public keys", "Whole public keys that may log in."
    )
    template_id: Uuid | None = _field(
        "Template id", "The same as template.", json_schema_extra=looked_up("template_ids")
    )
    gpu_count: Annotated[StrictInt, Field(ge=1)] | None = _field(
        "GPUs", "GPUs of one single node; of several nodes always the whole number."
    )
    volume_id: Text | None = _field("Volume id", "The same as volume.", json_schema_extra=looked_up("volume_ids"))
    backup_log_id: Uuid | None = _field(
        "Backup", "Restores this backup; together with restore_path.", json_schema_extra=looked_up("backups")
    )
    restore_path: Text | None = _field("Restore to", "A new or empty folder; together with backup_log_id.")
    skip_add_agent_ssh_key: StrictBool | None = _field("No agent key", "Leaves out Lium's own key.")
    initial_port_count: Annotated[StrictInt, Field(ge=0)] | None = _field("Ports", "Ports that each node opens.")
    enable_jupyter: StrictBool | None = _field("Jupyter", "Installs Jupyter on the nodes.")
    enable_volume_encryption: StrictBool | None = _field(
        "Encrypted volume", "It is mounted over /root after the start and hides what is written there before."
    )
    enable_backups: StrictBool | None = _field("Backups", "On when left out, as far as is known; billed by size.")
    dockerfile_content: StrictStr | None = _field(
        "Dockerfile", "Builds an image first; single nodes only, as far as is known."
    )
    ncu_profiling: StrictBool | None = _field("Nsight profiling", "Allows Nsight Compute to read counters.")
    build_context_sha256: Text | None = _field("Build context", "Digest of an uploaded build context; single nodes.")


class Nothing(Part):
    """An action that needs nothing."""


class Members(Part):
    """Which nodes an action is for."""

    node: Annotated[StrictInt, Field(ge=0)] | None = _field("Node", "Index of one node; all when left out.")


class ScheduleRemoval(Part):
    """When the nodes are removed."""

    hours: Annotated[float, Field(gt=0, le=24 * 365)] | None = _field("In hours", "From now.")
    at: datetime | None = _field("At", "A time with its zone, for example 2026-12-24T18:00:00Z.")


class Reboot(Members):
    """Which nodes start again, and with which volume."""

    volume_id: Text | None = _field("Volume id", "A volume to mount.", json_schema_extra=looked_up("volume_ids"))


class ResetGpu(Members):
    """Which GPUs are reset."""

    gpu_indices: Annotated[list[Annotated[StrictInt, Field(ge=0)]], Field(max_length=64)] | None = _field(
        "GPUs", "Indices of GPUs; all when left out."
    )


class SwitchTemplate(Members):
    """What the containers are made of from now on."""

    template: Text | None = _field("Template", "Name of a template.", json_schema_extra=looked_up("templates"))
    template_id: Uuid | None = _field(
        "Template id", "The same as template.", json_schema_extra=looked_up("template_ids")
    )


class InstallJupyter(Members):
    """Where Jupyter listens."""

    jupyter_internal_port: Annotated[StrictInt, Field(ge=1, le=65535)] = Field(
        8888, title="Port", description="Port inside the container."
    )


class MakeBackup(Members):
    """What the backup is called."""

    name: Text = Field(title="Name", description="Name of the backup.")
    description: StrictStr = Field("", title="Description", description="A note for people.")


class Restore(Part):
    """Which backup goes where."""

    node: Annotated[StrictInt, Field(ge=0)] = Field(0, title="Node", description="Index of the node.")
    backup_id: Uuid = Field(title="Backup", description="Id of a backup.", json_schema_extra=looked_up("backups"))
    restore_path: Text = Field(title="Restore to", description="A new or empty folder.")


class Feedback(Members):
    """What you think of it."""

    feedback_text: Text = Field(title="Feedback", description="Goes to Lium.")
    rating: Annotated[StrictInt, Field(ge=1, le=5)] | None = _field("Rating", "1 to 5.")
    reason: Text | None = _field("Reason", "A word for it.")
