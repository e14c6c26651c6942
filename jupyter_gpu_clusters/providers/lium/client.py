"""The calls of the contract, one method each. Source: contract, sections 2 to 4 and 6."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel

from ...core.http import Answer, Body, HttpClient, segment
from .wire import Backup, ClusterRemoved, Event, Executor, Fabric, Pod, SshKey, Template, User, Version, Volume

W = TypeVar("W", bound=BaseModel)


class Rows(list[W]):
    """Rows of one answer; ``is_whole`` unless some of it could not be read."""

    is_whole: bool = True


class Client:
    """One account's calls over a client that carries the key."""

    def __init__(self, http: HttpClient) -> None:
        self._http = http

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    # The service and the account

    async def version(self) -> Version:
        """``GET /version``: which features the server has."""
        return _one(await self._http.get("/version"), Version)

    async def me(self) -> User:
        """``GET /users/me``."""
        return _one(await self._http.get("/users/me"), User)

    async def my_events(self, limit: int = 100) -> list[dict[str, Any]]:
        """``GET /users/me/events``, the newest first."""
        return _plain(await self._http.get("/users/me/events", {"limit": limit}))

    async def statement(self, start_day: str, end_day: str) -> dict[str, Any]:
        """``GET /billing/statement``; days as ``YYYY-MM-DD``."""
        return _mapping(await self._http.get("/billing/statement", {"start_day": start_day, "end_day": end_day}))

    async def audit(self, limit: int = 100) -> list[dict[str, Any]]:
        """``GET /account/audit``: the newest page."""
        return _plain(await self._http.get("/account/audit", {"limit": limit}), "items")

    # Hosts

    async def list_fabrics(self) -> Rows[Fabric]:
        """``GET /executors/infiniband-clusters``."""
        return _rows(await self._http.get("/executors/infiniband-clusters"), Fabric)

    async def list_executors(self) -> Rows[Executor]:
        """``GET /executors``: a plain array."""
        return _rows(await self._http.get("/executors", {"view": "full"}), Executor)

    async def list_machines(self) -> list[str]:
        """``GET /machines``: GPU names."""
        return [str(row["name"]) for row in _plain(await self._http.get("/machines")) if row.get("name")]

    async def quote(self, executor_id: str, *, hours: int, gpu_count: int | None = None) -> dict[str, Any]:
        """``GET /executors/{id}/quote``."""
        params = {"hours": hours} | ({"gpu_count": gpu_count} if gpu_count is not None else {})
        return _mapping(await self._http.get(f"/executors/{segment(executor_id)}/quote", params))

    async def deployment_estimate(self, executor_id: str, template_id: str) -> dict[str, Any]:
        """``GET /executors/deployment-estimate``."""
        params = {"executor_id": executor_id, "template_id": template_id}
        return _mapping(await self._http.get("/executors/deployment-estimate", params))

    async def default_images(self, gpu_model: str, driver_version: str) -> list[dict[str, Any]]:
        """``GET /executors/default-docker-image``."""
        params = {"gpu_model": gpu_model, "driver_version": driver_version}
        return _plain(await self._http.get("/executors/default-docker-image", params))

    # Renting; paid, and repeated only by `renting`, under its rules

    async def rent_cluster(self, body: Body, headers: Mapping[str, str]) -> Answer:
        """``POST /executors/cluster/rent``."""
        return await self._http.send("POST", "/executors/cluster/rent", body, headers=headers)

    async def rent_one(self, executor_id: str, body: Body, headers: Mapping[str, str]) -> Answer:
        """``POST /executors/{id}/rent``."""
        return await self._http.send("POST", f"/executors/{segment(executor_id)}/rent", body, headers=headers)

    async def try_rent_by_spec(self, wishes: Mapping[str, Any]) -> dict[str, Any]:
        """``POST /executors/rent-by-spec`` as a dry run: rents nothing; sent without a key (section 3)."""
        body = Body.from_json({**wishes, "dry_run": True})
        return _mapping(await self._http.send("POST", "/executors/rent-by-spec", body))

    # Pods and clusters

    async def list_pods(self) -> Rows[Pod]:
        """``GET /pods``: a plain array of everything the key sees, each pod once."""
        return _identified(_rows(await self._http.get("/pods"), Pod))

    async def get_pod(self, pod_id: str) -> Pod:
        """``GET /pods/{id}``."""
        return _one(await self._http.get(_pod(pod_id)), Pod)

    async def delete_pod(self, pod_id: str) -> None:
        """``DELETE /pods/{id}``; the removal finishes later."""
        await self._http.send("DELETE", _pod(pod_id))

    async def delete_cluster(self, cluster_id: str) -> ClusterRemoved:
        """``DELETE /clusters/{id}``: a row for every member; some may have failed."""
        return _one(await self._http.send("DELETE", f"/clusters/{segment(cluster_id)}"), ClusterRemoved)

    async def schedule_removal(self, pod_id: str, at: datetime) -> None:
        """``POST /pods/{id}/schedule-removal``; safe to repeat."""
        await self._post(pod_id, "schedule-removal", {"removal_scheduled_at": at.isoformat()}, is_repeatable=True)

    async def cancel_removal(self, pod_id: str) -> None:
        """``DELETE /pods/{id}/schedule-removal``."""
        await self._http.send("DELETE", f"{_pod(pod_id)}/schedule-removal", is_repeatable=True)

    async def reboot(self, pod_id: str, volume_id: str | None = None) -> None:
        """``POST /pods/{id}/reboot``: a new container with a new SSH host key."""
        await self._post(pod_id, "reboot", {"volume_id": volume_id} if volume_id else {})

    async def reset_gpu(self, pod_id: str, gpu_indices: list[int] | None = None) -> str | None:
        """``POST /pods/{id}/reset-gpu``; the id to ask for."""
        data = await self._post(pod_id, "reset-gpu", {"gpu_indices": gpu_indices})
        found = data.get("request_id")
        return found if isinstance(found, str) else None

    async def reset_gpu_status(self, pod_id: str, request_id: str) -> dict[str, Any]:
        """``GET /pods/{id}/reset-gpu/{request_id}``."""
        return _mapping(await self._http.get(f"{_pod(pod_id)}/reset-gpu/{segment(request_id)}"))

    async def switch_template(self, pod_id: str, template_id: str) -> None:
        """``PUT /pods/{id}/switch-template``: a new container."""
        body = Body.from_json({"template_id": template_id})
        await self._http.send("PUT", f"{_pod(pod_id)}/switch-template", body)

    async def install_jupyter(self, pod_id: str, port: int) -> None:
        """``POST /pods/{id}/install-jupyter``."""
        await self._post(pod_id, "install-jupyter", {"jupyter_internal_port": port})

    async def backup(self, pod_id: str, name: str, description: str) -> None:
        """``POST /pods/{id}/backup``."""
        await self._post(pod_id, "backup", {"name": name, "description": description})

    async def restore(self, pod_id: str, backup_id: str, path: str) -> None:
        """``POST /pods/{id}/restore``."""
        await self._post(pod_id, "restore", {"backup_id": backup_id, "restore_path": path})

    async def feedback(self, pod_id: str, text: str, rating: int | None, reason: str | None) -> None:
        """``POST /pods/{id}/feedback``."""
        given = {"feedback_text": text, "rating": rating, "reason": reason}
        await self._post(pod_id, "feedback", {key: value for key, value in given.items() if value is not None})

    async def events(self, pod_id: str) -> Rows[Event]:
        """``GET /pods/{id}/events``, the oldest first; also of a pod that is gone."""
        return _rows(await self._http.get(f"{_pod(pod_id)}/events"), Event)

    async def record(self, pod_id: str) -> dict[str, Any]:
        """``GET /pods/{id}/record``: what a removed pod was and cost."""
        return _mapping(await self._http.get(f"{_pod(pod_id)}/record"))

    async def logs(self, pod_id: str, *, tail: int, follow: bool = False) -> AsyncGenerator[str, None]:
        """``GET /pods/{id}/logs``: lines, out of SSE frames or plain."""
        params = {"tail": tail, "follow": "true" if follow else "false"}
        async for line in self._http.lines(f"{_pod(pod_id)}/logs", params):
            if (text := _log_line(line)) is not None:
                yield text

    # Belongings

    async def list_templates(self) -> Rows[Template]:
        """``GET /templates``."""
        return _rows(await self._http.get("/templates"), Template)

    async def get_template(self, template_id: str) -> Template:
        """``GET /templates/{id}``."""
        return _one(await self._http.get(f"/templates/{segment(template_id)}"), Template)

    async def create_template(self, template: Mapping[str, Any]) -> Template:
        """``POST /templates``; fields as the contract's section 4 lists them."""
        return _one(await self._http.send("POST", "/templates", Body.from_json(dict(template))), Template)

    async def put_template(self, template_id: str, template: Mapping[str, Any]) -> None:
        """``PUT /templates/{id}``: reboots the pods that run it; fields that are null are dropped."""
        fields = {key: value for key, value in template.items() if value is not None}
        await self._http.send("PUT", f"/templates/{segment(template_id)}", Body.from_json(fields))

    async def list_ssh_keys(self) -> Rows[SshKey]:
        """``GET /ssh-keys``."""
        return _rows(await self._http.get("/ssh-keys"), SshKey)

    async def add_ssh_key(self, name: str, public_key: str) -> SshKey:
        """``POST /ssh-keys``."""
        body = Body.from_json({"name": name, "public_key": public_key})
        return _one(await self._http.send("POST", "/ssh-keys", body), SshKey)

    async def delete_ssh_key(self, key_id: str) -> None:
        """``DELETE /ssh-keys/{id}`` (inferred path)."""
        await self._http.send("DELETE", f"/ssh-keys/{segment(key_id)}")

    async def list_volumes(self) -> Rows[Volume]:
        """``GET /volumes``."""
        return _rows(await self._http.get("/volumes"), Volume)

    async def get_volume(self, volume_id: str) -> Volume:
        """``GET /volumes/{id}``."""
        return _one(await self._http.get(f"/volumes/{segment(volume_id)}"), Volume)

    async def create_volume(self, name: str, description: str) -> Volume:
        """``POST /volumes``."""
        body = Body.from_json({"name": name, "description": description})
        return _one(await self._http.send("POST", "/volumes", body), Volume)

    async def put_volume(self, volume_id: str, name: str, description: str) -> None:
        """``PUT /volumes/{id}``."""
        body = Body.from_json({"name": name, "description": description})
        await self._http.send("PUT", f"/volumes/{segment(volume_id)}", body)

    async def delete_volume(self, volume_id: str) -> None:
        """``DELETE /volumes/{id}``."""
        await self._http.send("DELETE", f"/volumes/{segment(volume_id)}")

    async def list_backup_configs(self) -> list[dict[str, Any]]:
        """``GET /backup-configs``."""
        return _plain(await self._http.get("/backup-configs"))

    async def backup_config_of(self, pod_id: str) -> dict[str, Any]:
        """``GET /backup-configs/pod/{id}``."""
        return _mapping(await self._http.get(f"/backup-configs/pod/{segment(pod_id)}"))

    async def create_backup_config(self, pod_id: str, every_hours: int, kept_days: int, path: str) -> None:
        """``POST /backup-configs``; the path must be under the pod's volume."""
        body = {"pod_id": pod_id, "backup_frequency_hours": every_hours, "retention_days": kept_days}
        await self._http.send("POST", "/backup-configs", Body.from_json({**body, "backup_path": path}))

    async def put_backup_config(self, config_id: str, every_hours: int, kept_days: int, path: str) -> None:
        """``PUT /backup-configs/{id}``."""
        body = {"backup_frequency_hours": every_hours, "retention_days": kept_days, "backup_path": path}
        await self._http.send("PUT", f"/backup-configs/{segment(config_id)}", Body.from_json(body))

    async def delete_backup_config(self, config_id: str) -> None:
        """``DELETE /backup-configs/{id}``."""
        await self._http.send("DELETE", f"/backup-configs/{segment(config_id)}")

    async def list_backups(self, pod_id: str | None = None) -> Rows[Backup]:
        """``GET /backup-logs/`` or those of one pod: the first page."""
        path = "/backup-logs/" if pod_id is None else f"/backup-logs/pod/{segment(pod_id)}"
        return _rows(await self._http.get(path, {"page": 1, "limit": 100}), Backup, "items")

    async def get_backup(self, backup_id: str) -> Backup:
        """``GET /backup-logs/{id}``."""
        return _one(await self._http.get(f"/backup-logs/{segment(backup_id)}"), Backup)

    async def cancel_backup(self, backup_id: str) -> None:
        """``POST /backup-logs/{id}/cancel``."""
        await self._http.send("POST", f"/backup-logs/{segment(backup_id)}/cancel")

    async def delete_backup(self, backup_id: str) -> None:
        """``DELETE /backup-logs/{id}``."""
        await self._http.send("DELETE", f"/backup-logs/{segment(backup_id)}")

    async def restore_logs(self, pod_id: str) -> Rows[Backup]:
        """``GET /pods/{id}/restore-logs``: the first page."""
        return _rows(await self._http.get(f"{_pod(pod_id)}/restore-logs", {"page": 1, "limit": 100}), Backup, "items")

    async def _post(
        self, pod_id: str, what: str, body: Mapping[str, Any], *, is_repeatable: bool = False
    ) -> dict[str, Any]:
        path = f"{_pod(pod_id)}/{what}"
        return _mapping(await self._http.send("POST", path, Body.from_json(dict(body)), is_repeatable=is_repeatable))


def _pod(pod_id: str) -> str:
    return f"/pods/{segment(pod_id)}"


def _mapping(answer: Answer) -> dict[str, Any]:
    return answer.data if isinstance(answer.data, dict) else {}


def _one(answer: Answer, kind: type[W]) -> W:
    return kind.model_validate(_mapping(answer))


def _plain(answer: Answer, wrapped: str | None = None) -> list[dict[str, Any]]:
    data = answer.data
    rows = data.get(wrapped) if wrapped is not None and isinstance(data, dict) else data
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _rows(answer: Answer, kind: type[W], wrapped: str | None = None) -> Rows[W]:
    data = answer.data
    found = data.get(wrapped) if wrapped is not None and isinstance(data, dict) else data
    rows: Rows[W] = Rows()
    if not isinstance(found, list):
        rows.is_whole = False
        return rows
    rows.extend(kind.model_validate(row) for row in found if isinstance(row, dict))
    rows.is_whole = len(rows) == len(found)
    return rows


def _identified(rows: Rows[Pod]) -> Rows[Pod]:
    """Each pod once; what has no id cannot be told from others, so the list is not whole."""
    pods: Rows[Pod] = Rows({pod.id: pod for pod in rows if pod.id is not None}.values())
    pods.is_whole = rows.is_whole and all(pod.id is not None for pod in rows)
    return pods


def _log_line(line: str) -> str | None:
    """One line of a log; comments and empty lines of the stream are none."""
    if not line or line.startswith(":"):
        return None
    if not line.startswith("data:"):
        return line
    text = line.removeprefix("data:").strip()
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return str(found.get("log", "")) if isinstance(found, dict) else text
