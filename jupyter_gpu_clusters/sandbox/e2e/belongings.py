"""Keys, security groups, volumes and reserved addresses: listing, making, changing, removing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..service import Answer, Call, Refused, Route
from .bodies import GroupBody, RulesBody, RuleUpdate, SfsBody, SshKeyBody
from .errors import absent, bad
from .route import PAGES, TirRoute
from .state import Tir, done, number_in_path, paged
from .things import Group, Table, Volume

_SORTS = ("is_advanced_search", "storage_type", "encrypted")


class Belongings:
    """The operations on everything that clusters use."""

    def __init__(self, tir: Tir) -> None:
        self._tir = tir

    def routes(self) -> Sequence[Route]:
        """All of them."""
        at, page = ("location",), ("active_iam", *PAGES)
        group = "/security_groups/{security_group_id}/"
        return [
            TirRoute("GET", "/ssh_keys/", self.list_keys, needs=at),
            TirRoute("POST", "/ssh_keys/", self.add_key, "change", needs=at, has_body=True),
            TirRoute("GET", "/ssh_keys/sync/", self.sync_keys, "change", needs=at),
            TirRoute("DELETE", "/ssh_keys/{ssh_key_pk}/", self.delete_key, "change", needs=at),
            TirRoute("GET", "/security_groups/", self.list_groups),
            TirRoute("POST", "/security_groups/", self.add_group, "change", has_body=True),
            TirRoute("GET", group, self.get_group),
            TirRoute("PUT", f"{group}rules/", self.change_rules, "change", has_body=True),
            TirRoute("DELETE", f"{group}rules/", self.delete_group, "change"),
            TirRoute("GET", "/distributed_jobs/sfs/", self.list_sfs, takes=page),
            TirRoute("POST", "/distributed_jobs/sfs/", self.add_sfs, "change", has_body=True),
            TirRoute("GET", "/pfs/", self.list_pfs, takes=page),
            TirRoute("GET", "/datasets/", self.list_datasets, takes=(*page, *_SORTS)),
            TirRoute("GET", "/reserved_ips/", self.list_ips, needs=("project_id",), takes=("active_iam", "location")),
            TirRoute("POST", "/reserved_ips/", self.reserve_ip, "change"),
        ]

    def list_keys(self, call: Call) -> Answer:
        """The account's SSH keys in a location."""
        return done([key.json() for key in self._tir.keys.at(self._tir.place(call))])

    def add_key(self, call: Call) -> Answer:
        """One more SSH key."""
        body = self._tir.parse(call, SshKeyBody)
        key = self._tir.add_key(self._tir.place(call), body.label, body.ssh_key)
        call.made.append(str(key.pk))
        return done(key.short())

    def sync_keys(self, call: Call) -> Answer:
        """Copy over the keys that only the MyAccount side has; a GET that changes data."""
        place = self._tir.place(call)
        for key in self._tir.unsynced.at(place):
            self._tir.unsynced.remove(key.pk)
            self._tir.keys.add(place, key.pk, key)
            call.made.append(str(key.pk))
        return done({})

    def delete_key(self, call: Call) -> Answer:
        """Take an SSH key away; clusters keep it."""
        pk = number_in_path(call, "ssh_key_pk")
        if self._tir.keys.get(self._tir.place(call), pk) is None:
            raise absent("SSH key")
        self._tir.keys.remove(pk)
        call.ended.append(str(pk))
        return done({})

    def list_groups(self, call: Call) -> Answer:
        """Security groups with their rules."""
        return done([group.json() for group in self._tir.groups.at(self._tir.place(call))])

    def add_group(self, call: Call) -> Answer:
        """One more security group."""
        body = self._tir.parse(call, GroupBody)
        rules = [rule.model_dump(exclude_none=True) for rule in body.rules]
        group = self._tir.add_group(self._tir.place(call), body.name, body.description, rules)
        call.made.append(str(group.id))
        return done(group.json(), status=int(self._tir.world.choices["e2e.created_code"]))

    def get_group(self, call: Call) -> Answer:
        """One group, or only its rules."""
        group = self._group(call)
        return done(group.json() if self._tir.world.choices["e2e.group_detail"] == "group" else group.rules)

    def change_rules(self, call: Call) -> Answer:
        """The array becomes the group's rules: old ones by id, new ones without or with ``isNew``."""
        group = self._group(call)
        wanted = self._tir.parse(call, RulesBody).root
        known = {str(rule["id"]) for rule in group.rules}
        lost = [n for n, rule in enumerate(wanted) if not _is_new(rule) and str(rule.id) not in known]
        if lost:
            raise bad(f"{lost[0]}.id", "No rule of this group has this id.")
        group.rules = [self._rule(rule) for rule in wanted]
        return done(group.json())

    def _rule(self, rule: RuleUpdate) -> dict[str, Any]:
        number = self._tir.next_id("rule") if _is_new(rule) else int(rule.id or 0)
        return {"id": number, **rule.model_dump(exclude_none=True, exclude={"id", "isNew"})}

    def delete_group(self, call: Call) -> Answer:
        """Delete the whole group, whatever the path says; not while a cluster has it."""
        group, now = self._group(call), self._tir.now()
        if any(group.id in one.groups and one.is_there(now) for one in self._tir.clusters.values()):
            raise Refused(412, "The security group is attached to a cluster")
        self._tir.groups.remove(group.id)
        call.ended.append(str(group.id))
        return done("Security group deleted")

    def _group(self, call: Call) -> Group:
        group = self._tir.groups.get(self._tir.place(call), number_in_path(call, "security_group_id"))
        if group is None:
            raise absent("security group")
        return group

    def list_sfs(self, call: Call) -> Answer:
        """Shared file systems."""
        return self._volumes(call, self._tir.sfs)

    def add_sfs(self, call: Call) -> Answer:
        """One more shared file system, which costs."""
        body = self._tir.parse(call, SfsBody)
        volume = self._tir.add_sfs(self._tir.place(call), body.name, body.disk_size)
        call.made.append(str(volume.id))
        return done(volume.row)

    def list_pfs(self, call: Call) -> Answer:
        """Parallel file systems."""
        return self._volumes(call, self._tir.pfs)

    def list_datasets(self, call: Call) -> Answer:
        """Datasets, maybe of one storage type."""
        wanted = call.asked("storage_type")
        rows = [one.row for one in self._tir.datasets.at(self._tir.place(call))]
        return paged(call, self._tir, [row for row in rows if wanted in (None, row["storage_type"])])

    def _volumes(self, call: Call, table: Table[Volume]) -> Answer:
        return paged(call, self._tir, [one.row for one in table.at(self._tir.place(call))])

    def list_ips(self, call: Call) -> Answer:
        """Reserved addresses, of every location unless one is named."""
        word = self._tir.world.choices["e2e.free_ip_word"]
        return done({"reserved_ips": [ip.json(word) for ip in self._tir.ips.at(self._tir.place(call))]})

    def reserve_ip(self, call: Call) -> Answer:
        """One more reserved address, which costs."""
        ip = self._tir.add_ip(self._tir.place(call))
        call.made.append(str(ip.id))
        return done(ip.json(self._tir.world.choices["e2e.free_ip_word"]))


def _is_new(rule: RuleUpdate) -> bool:
    return rule.isNew or rule.id is None
