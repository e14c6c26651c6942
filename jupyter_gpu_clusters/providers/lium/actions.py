"""What Lium can do to pods, for every member of a cluster or one of them. Source: contract, section 4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel

from ...core.errors import GpuClustersError, Problem, ProviderError
from ...core.findings import Findings
from ...core.models import Cluster, Node, utc_now
from ...core.provider import Action
from .client import Client
from .spec import (
    Feedback,
    InstallJupyter,
    MakeBackup,
    Nothing,
    Reboot,
    ResetGpu,
    Restore,
    ScheduleRemoval,
    SwitchTemplate,
)

ACTIONS: Mapping[str, Action] = {
    "schedule_removal": Action(
        title="Set end time", description="Removes all nodes at that time; survives reboots.", model=ScheduleRemoval
    ),
    "cancel_removal": Action(
        title="Cancel end time", description="The nodes stay, and are billed, until they are deleted.", model=Nothing
    ),
    "reboot": Action(
        title="Reboot",
        description="New containers with new SSH host keys; what runs there ends.",
        model=Reboot,
        is_restart=True,
    ),
    "reset_gpu": Action(title="Reset GPUs", description="Resets GPUs; once a minute at most.", model=ResetGpu),
    "switch_template": Action(
        title="Switch template", description="New containers from another template.", model=SwitchTemplate
    ),
    "install_jupyter": Action(
        title="Install Jupyter", description="Installs and starts Jupyter in the containers.", model=InstallJupyter
    ),
    "backup": Action(title="Back up", description="Makes a backup now; billed by size.", model=MakeBackup),
    "restore": Action(title="Restore", description="Puts a backup into a folder of one node.", model=Restore),
    "feedback": Action(title="Feedback", description="Tells Lium what you think of a node.", model=Feedback),
}
MAKES_ANEW = frozenset({"reboot", "switch_template"})
"""What gives containers new SSH host keys (contract, section 4)."""

_CONFIRM: Mapping[str, str] = {
    "cancel_removal": "It then has no end time and is billed until it is deleted.",
    "reboot": "What runs on it ends, and what lies outside a volume is lost.",
    "reset_gpu": "What uses these GPUs ends.",
    "switch_template": "What runs on it ends, and what lies outside a volume is lost.",
    "backup": "Backups are billed by their size.",
    "restore": "Files in that folder may be replaced.",
}


@dataclass(frozen=True)
class Deed:
    """An action as it was planned: for these pods, with these values."""

    cluster_id: str
    action: str
    pods: tuple[tuple[int, str], ...]
    values: Mapping[str, Any]
    before: Cluster


def confirm_of(action: str) -> str | None:
    """What must be agreed to."""
    return _CONFIRM.get(action)


def targets(cluster: Cluster, spec: BaseModel, findings: Findings) -> tuple[tuple[int, str], ...]:
    """The nodes that an action is for: index and pod."""
    wanted: int | None = getattr(spec, "node", None)
    nodes: list[Node] = [node for node in cluster.nodes if wanted is None or node.index == wanted]
    if not nodes:
        indices = ", ".join(str(node.index) for node in cluster.nodes)
        no_such = f"there is no node {wanted}; there is: {indices}." if indices else "the cluster shows no nodes."
        findings.problems.append(Problem("node", no_such))
    return tuple((node.index, node.node_id) for node in nodes)


def end_of(spec: ScheduleRemoval, findings: Findings) -> datetime | None:
    """The moment that was asked for, in the future."""
    if (spec.hours is None) == (spec.at is None):
        findings.wrong("hours", "is needed: either hours from now, or `at`.")
        return None
    if spec.hours is not None:
        return (utc_now() + timedelta(hours=spec.hours)).replace(microsecond=0)
    assert spec.at is not None
    at = spec.at if spec.at.tzinfo is not None else spec.at.replace(tzinfo=UTC)
    if at <= utc_now():
        findings.wrong("at", "is in the past.")
    return at.astimezone(UTC)


async def carry_out(client: Client, deed: Deed) -> None:
    """Do it on every node, all of them tried.

    Raises
    ------
    GpuClustersError : some would not; the message says which did and which did not.
    """
    failed: list[tuple[int, GpuClustersError]] = []
    for index, pod_id in deed.pods:
        try:
            await _on_one(client, pod_id, deed)
        except GpuClustersError as exc:
            failed.append((index, exc))
    if not failed:
        return
    if len(deed.pods) == 1:
        raise failed[0][1]
    told = "; ".join(f"node {index}: {exc.message}" for index, exc in failed)
    done = len(deed.pods) - len(failed)
    is_definite = all(exc.is_definite for _, exc in failed)
    has_node = "node" in ACTIONS[deed.action].model.model_fields
    raise ProviderError(
        f"{deed.action} was accepted by {done} of {len(deed.pods)} nodes: {told}",
        hint="Do it again for those nodes" + (" with `node`." if has_node else "; for the others it changes nothing."),
        provider="lium",
        is_definite=is_definite,
    )


async def _on_one(client: Client, pod_id: str, deed: Deed) -> None:
    values = deed.values
    match deed.action:
        case "schedule_removal":
            await client.schedule_removal(pod_id, values["at"])
        case "cancel_removal":
            await client.cancel_removal(pod_id)
        case "reboot":
            await client.reboot(pod_id, values.get("volume_id"))
        case "reset_gpu":
            await client.reset_gpu(pod_id, values.get("gpu_indices"))
        case "switch_template":
            await client.switch_template(pod_id, values["template_id"])
        case "install_jupyter":
            await client.install_jupyter(pod_id, values["jupyter_internal_port"])
        case "backup":
            await client.backup(pod_id, values["name"], values["description"])
        case "restore":
            await client.restore(pod_id, values["backup_id"], values["restore_path"])
        case "feedback":
            await client.feedback(pod_id, values["feedback_text"], values.get("rating"), values.get("reason"))
