"""Templates and SSH keys."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..service import Answer, Call, Refused, Route
from .bodies import UUID_PATTERN, SshKeyBody, TemplateBody
from .keys import Key
from .state import State

_REBOOT_S = 15.0


class Library:
    """What rents refer to."""

    def __init__(self, state: State) -> None:
        self.state = state

    def routes(self) -> Sequence[Route]:
        """All of them."""
        return [
            Route("GET", "/templates", self.list_templates),
            Route("POST", "/templates", self.create_template),
            Route("GET", "/templates/{template_id}", self.get_template),
            Route("PUT", "/templates/{template_id}", self.update_template, "change"),
            Route("GET", "/ssh-keys", self.list_keys),
            Route("POST", "/ssh-keys", self.add_key),
            Route("DELETE", "/ssh-keys/{ssh_key_id}", self.delete_key),
        ]

    def list_templates(self, call: Call) -> Answer:
        """GET /templates."""
        key = self.state.known_key(call)
        return Answer.json([row for row in self.state.templates.values() if _visible(row, key)])

    def get_template(self, call: Call) -> Answer:
        """GET /templates/{template_id}."""
        return Answer.json(self._template(call, self.state.known_key(call)))

    def create_template(self, call: Call) -> Answer:
        """POST /templates."""
        key = self._manager(call)
        body = call.parse(TemplateBody)
        row = self.state.add_template(key.account.id, body.model_dump())
        self.state.note(call, "create_template", row["id"])
        return Answer.json(row)

    def update_template(self, call: Call) -> Answer:
        """PUT /templates/{template_id}; pods that run it are started again."""
        key = self._manager(call)
        row = self._template(call, key)
        if row["user_id"] != key.account.id:
            raise Refused(404, "Template not found", code="template_not_found")
        row.update(call.parse(TemplateBody).model_dump(exclude_unset=True), status="UPDATED")
        now = self.state.now()
        for pod in self.state.pods.values():
            if pod.template is row and pod.state(now) == "RUNNING":
                pod.go(now, (0, "REBOOT_PENDING"), (_REBOOT_S, "RUNNING"))
                pod.host_key += 1
        self.state.note(call, "update_template", row["id"])
        return Answer.json(row)

    def _template(self, call: Call, key: Key) -> dict[str, Any]:
        name = call.params["template_id"]
        if not re.fullmatch(UUID_PATTERN, name):
            raise Refused(422, "Validation error", problems=[("template_id", "must be a UUID")])
        row = self.state.templates.get(name)
        if row is None or not _visible(row, key):
            raise Refused(404, "Template not found", code="template_not_found")
        return row

    def _manager(self, call: Call) -> Key:
        key = self.state.known_key(call)
        key.need("manage")
        return key

    def list_keys(self, call: Call) -> Answer:
        """GET /ssh-keys."""
        account = self.state.known_key(call).account.name
        rows = [row for row in self.state.ssh_keys.values() if row["account"] == account]
        return Answer.json([self._key_json(row) for row in rows])

    def add_key(self, call: Call) -> Answer:
        """POST /ssh-keys."""
        key = self._manager(call)
        body = call.parse(SshKeyBody)
        row = {"id": self.state.world.uuid(), **body.model_dump(), "at": self.state.now(), "account": key.account.name}
        self.state.ssh_keys[row["id"]] = row
        return Answer.json(self._key_json(row))

    def delete_key(self, call: Call) -> Answer:
        """DELETE /ssh-keys/{ssh_key_id}."""
        key = self._manager(call)
        row = self.state.ssh_keys.get(call.params["ssh_key_id"])
        if row is None or row["account"] != key.account.name:
            raise Refused(404, "SSH key not found", code="not_found")
        del self.state.ssh_keys[row["id"]]
        return Answer.json({"success": True, "message": "Deleted"})

    def _key_json(self, row: dict[str, Any]) -> dict[str, Any]:
        shown = {name: row[name] for name in ("id", "name", "public_key")}
        return {**shown, "created_at": self.state.written(row["at"])}


def _visible(row: dict[str, Any], key: Key) -> bool:
    return row["user_id"] in (None, key.account.id)
