"""Volumes, backups of pods, and restoring them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..service import Answer, Call, Refused, Route
from .asked import Asked
from .bodies import BackupConfigBody, BackupConfigChangeBody, NamedBody, RestoreBody, VolumeChangeBody
from .keys import Key
from .pod import Pod
from .state import State

_BACKUP_S = 30.0
_DEFAULT_LIMIT = 20
_ROOT = "/root"
Row = dict[str, Any]


class Storage:
    """Everything that outlives a container."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._configs: dict[str, Row] = {}
        self._backups: dict[str, Row] = {}
        self._restores: dict[str, Row] = {}

    def routes(self) -> Sequence[Route]:
        """All of them."""
        return [
            Route("GET", "/volumes", self.list_volumes),
            Route("POST", "/volumes", self.create_volume),
            Route("GET", "/volumes/{volume_id}", self.get_volume),
            Route("PUT", "/volumes/{volume_id}", self.update_volume),
            Route("DELETE", "/volumes/{volume_id}", self.delete_volume),
            Route("GET", "/backup-configs", self.list_configs),
            Route("POST", "/backup-configs", self.create_config),
            Route("GET", "/backup-configs/pod/{pod_id}", self.pod_config),
            Route("PUT", "/backup-configs/{config_id}", self.update_config),
            Route("DELETE", "/backup-configs/{config_id}", self.delete_config),
            Route("POST", "/pods/{pod_id}/backup", self.backup_now),
            Route("POST", "/pods/{pod_id}/restore", self.restore),
            Route("GET", "/pods/{pod_id}/restore-logs", self.list_restores),
            Route("GET", "/backup-logs/", self.list_backups),
            Route("GET", "/backup-logs/pod/{pod_id}", self.list_pod_backups),
            Route("GET", "/backup-logs/{backup_id}", self.get_backup),
            Route("POST", "/backup-logs/{backup_id}/cancel", self.cancel_backup),
            Route("DELETE", "/backup-logs/{backup_id}", self.delete_backup),
        ]

    def _manager(self, call: Call) -> Key:
        key = self.state.known_key(call)
        key.need("manage")
        return key

    def _mine(self, rows: Mapping[str, Row], call: Call) -> list[Row]:
        account = self.state.known_key(call).account.name
        return [row for row in rows.values() if row["account"] == account]

    def _one(self, rows: Mapping[str, Row], call: Call, parameter: str) -> Row:
        row = next((row for row in self._mine(rows, call) if row["id"] == call.params[parameter]), None)
        if row is None:
            raise Refused(404, "Not found", code="not_found")
        return row

    def list_volumes(self, call: Call) -> Answer:
        """GET /volumes."""
        return Answer.json([self._volume_json(row) for row in self._mine(self.state.volumes, call)])

    def get_volume(self, call: Call) -> Answer:
        """GET /volumes/{volume_id}."""
        return Answer.json(self._volume_json(self._one(self.state.volumes, call, "volume_id")))

    def create_volume(self, call: Call) -> Answer:
        """POST /volumes."""
        key = self._manager(call)
        body = call.parse(NamedBody)
        row = self._new(key, body.model_dump())
        self.state.volumes[row["id"]] = row
        return Answer.json(self._volume_json(row))

    def update_volume(self, call: Call) -> Answer:
        """PUT /volumes/{volume_id}."""
        self._manager(call)
        row = self._one(self.state.volumes, call, "volume_id")
        row.update(call.parse(VolumeChangeBody).model_dump(exclude_unset=True))
        return Answer.json(self._volume_json(row))

    def delete_volume(self, call: Call) -> Answer:
        """DELETE /volumes/{volume_id}."""
        key = self._manager(call)
        row = self._one(self.state.volumes, call, "volume_id")
        if any(pod.volume_id == row["id"] for pod in self.state.listed(key.account)):
            raise Refused(400, "The volume is attached to a pod", code="volume_in_use")
        del self.state.volumes[row["id"]]
        return Answer.json({"success": True, "message": "Deleted"})

    def _new(self, key: Key, fields: Row) -> Row:
        return {"id": self.state.world.uuid(), "account": key.account.name, "at": self.state.now(), **fields}

    def _volume_json(self, row: Row) -> Row:
        return {
            "id": row["id"],
            "name": row["name"],
            "description": row["description"],
            "created_at": self.state.written(row["at"]),
            "updated_at": None,
            "current_size_bytes": 0,
            "current_file_count": 0,
            "current_size_gb": 0.0,
            "current_size_mb": 0.0,
            "last_metrics_update": None,
        }

    def list_configs(self, call: Call) -> Answer:
        """GET /backup-configs."""
        return Answer.json([self._config_json(row) for row in self._mine(self._configs, call)])

    def create_config(self, call: Call) -> Answer:
        """POST /backup-configs."""
        key = self._manager(call)
        body = call.parse(BackupConfigBody)
        _check_path(body.backup_path)
        pod = self.state.pods.get(body.pod_id)
        if pod is None or pod.key.account is not key.account or not pod.is_listed(self.state.now()):
            raise Refused(400, "Pod not found", code="pod_not_found")
        row = self._new(key, {**body.model_dump(), "is_active": True, "changed": None})
        self._configs[row["id"]] = row
        return Answer.json(self._config_json(row))

    def pod_config(self, call: Call) -> Answer:
        """GET /backup-configs/pod/{pod_id}."""
        pod = self.state.pod(call, gone=True)
        row = next((row for row in self._configs.values() if row["pod_id"] == pod.id), None)
        if row is None:
            raise Refused(404, "No backups are configured", code="not_found")
        return Answer.json(self._config_json(row))

    def update_config(self, call: Call) -> Answer:
        """PUT /backup-configs/{config_id}."""
        self._manager(call)
        row = self._one(self._configs, call, "config_id")
        changes = call.parse(BackupConfigChangeBody).model_dump(exclude_unset=True)
        _check_path(changes.get("backup_path", _ROOT))
        row.update(changes, changed=self.state.now())
        return Answer.json(self._config_json(row))

    def delete_config(self, call: Call) -> Answer:
        """DELETE /backup-configs/{config_id}."""
        self._manager(call)
        del self._configs[self._one(self._configs, call, "config_id")["id"]]
        return Answer.json({"success": True, "message": "Deleted"})

    def _config_json(self, row: Row) -> Row:
        names = ("id", "backup_frequency_hours", "retention_days", "backup_path", "is_active")
        return {
            **{name: row[name] for name in names},
            "pod_executor_id": row["pod_id"],
            "created_at": self.state.written(row["at"]),
            "updated_at": self.state.written(row["changed"]),
        }

    def _running(self, call: Call) -> Pod:
        pod = self.state.own_pod(call)
        if pod.state(self.state.now()) != "RUNNING":
            raise Refused(400, "The pod does not run", code="pod_not_running")
        return pod

    def backup_now(self, call: Call) -> Answer:
        """POST /pods/{pod_id}/backup."""
        pod = self._running(call)
        body = call.parse(NamedBody)
        row = self._new(pod.key, {**body.model_dump(), "pod_id": pod.id, "cancelled": False})
        self._backups[row["id"]] = row
        return Answer.json({"success": True, "message": "Backup has begun"})

    def restore(self, call: Call) -> Answer:
        """POST /pods/{pod_id}/restore."""
        pod = self._running(call)
        body = call.parse(RestoreBody)
        _check_path(body.restore_path)
        backup = self._backups.get(body.backup_id)
        if backup is None or backup["account"] != pod.key.account.name:
            raise Refused(400, "Backup not found", code="backup_not_found")
        fields = {"backup_id": body.backup_id, "restore_path": body.restore_path, "pod_id": pod.id, "cancelled": False}
        row = self._new(pod.key, fields)
        self._restores[row["id"]] = row
        return Answer.json({"success": True, "message": "Restore has begun"})

    def list_restores(self, call: Call) -> Answer:
        """GET /pods/{pod_id}/restore-logs."""
        pod = self.state.pod(call, gone=True)
        return self._page(call, self._restores, lambda row: row["pod_id"] == pod.id)

    def list_backups(self, call: Call) -> Answer:
        """GET /backup-logs/."""
        account = self.state.known_key(call).account.name
        return self._page(call, self._backups, lambda row: row["account"] == account)

    def list_pod_backups(self, call: Call) -> Answer:
        """GET /backup-logs/pod/{pod_id}."""
        pod = self.state.pod(call, gone=True)
        return self._page(call, self._backups, lambda row: row["pod_id"] == pod.id)

    def get_backup(self, call: Call) -> Answer:
        """GET /backup-logs/{backup_id}."""
        return Answer.json(self._log_json(self._one(self._backups, call, "backup_id")))

    def cancel_backup(self, call: Call) -> Answer:
        """POST /backup-logs/{backup_id}/cancel."""
        self._manager(call)
        row = self._one(self._backups, call, "backup_id")
        if self._log_json(row)["status"] != "RUNNING":
            raise Refused(400, "The backup does not run", code="backup_not_running")
        row["cancelled"] = True
        return Answer.json({"success": True, "message": "Cancelled"})

    def delete_backup(self, call: Call) -> Answer:
        """DELETE /backup-logs/{backup_id}."""
        self._manager(call)
        del self._backups[self._one(self._backups, call, "backup_id")["id"]]
        return Answer.json({"success": True, "message": "Deleted"})

    def _page(self, call: Call, rows: Mapping[str, Row], wanted: Callable[[Row], bool]) -> Answer:
        ask = Asked(call)
        page, limit = ask.integer("page") or 1, ask.integer("limit", 1, 100) or _DEFAULT_LIMIT
        ask.done()
        found = [self._log_json(row) for row in rows.values() if wanted(row)]
        items = found[(page - 1) * limit : page * limit]
        return Answer.json({"items": items, "has_next": len(found) > page * limit})

    def _log_json(self, row: Row) -> Row:
        finished = row["at"] + _BACKUP_S if self.state.now() >= row["at"] + _BACKUP_S else None
        word = "CANCELLED" if row["cancelled"] else "COMPLETED" if finished else "RUNNING"
        shown = {name: value for name, value in row.items() if name not in ("account", "at", "cancelled")}
        started = self.state.written(row["at"])
        return {**shown, "status": word, "started_at": started, "completed_at": self.state.written(finished)}


def _check_path(path: str) -> None:
    if path != _ROOT and not path.startswith(f"{_ROOT}/"):
        raise Refused(400, f"The path must be under the pod's volume, {_ROOT}", code="bad_path")
