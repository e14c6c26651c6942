"""Everything the simulated service knows, and the questions that all its operations ask."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any, TypeVar

from pydantic import BaseModel

from ..service import Answer, Call, Refused
from ..world import World
from .accounts import LOCATIONS, Account, Credential, Place, Project, acting_account, place_of, presented, whole_number
from .billing import IP_PER_HOUR, SFS_PER_GB_HOUR, hours_cost
from .catalogue import Sku, make_images, make_skus
from .cluster import Cluster
from .things import Group, ReservedIp, SshKey, Table, Volume

M = TypeVar("M", bound=BaseModel)
_ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI"
_FIRST_IDS = {
    "cluster": 220401,
    "ssh_key": 7301,
    "group": 5501,
    "rule": 88101,
    "sfs": 641,
    "pfs": 71,
    "dataset": 331,
    "ip": 9012,
}


class Tir:
    """The state of the service."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.skus, self.images = make_skus(), make_images()
        self.clusters: dict[int, Cluster] = {}
        self.keys: Table[SshKey] = Table()
        self.unsynced: Table[SshKey] = Table()
        self.groups: Table[Group] = Table()
        self.sfs: Table[Volume] = Table()
        self.pfs: Table[Volume] = Table()
        self.datasets: Table[Volume] = Table()
        self.ips: Table[ReservedIp] = Table()
        self.fate = "Running"
        self._counters = {kind: count(first) for kind, first in _FIRST_IDS.items()}
        self._addresses = count()
        born = world.clock.now()
        partner = Account(616, "Sandbox partner", "partner@example.org", [Project(31101, "partner", 40120)])
        own = [Project(31007, "default-project", 40110), Project(31008, "second-project", 40111)]
        self.account = Account(615, "Sandbox", "sandbox@example.org", own)
        self.accounts = [self.account, partner]
        key, token = "sandbox-e2e-key-5f1c9a7be2", "sandbox-e2e-token-1b8d04c63e7f"
        self.credentials = [Credential("e2e-key", key, token, self.account, born, may_act_for=[partner])]
        for account in self.accounts:
            for location in LOCATIONS:
                self._furnish(account, location, born)

    def _furnish(self, account: Account, location: str, born: float) -> None:
        keys = Place(account.id, 0, location)
        for label in ("lab-desktop", "spare"):
            self.add_key(keys, label, f"{_ED25519}{self.world.hex(20)} {account.email}")
        pk = self.next_id("ssh_key")
        waiting = SshKey(pk, "myaccount-key", f"{_ED25519}{self.world.hex(20)} {account.email}", self.day(born))
        self.unsynced.add(keys, pk, waiting)
        for project in account.projects:
            place = Place(account.id, project.id, location)
            ssh = {"rule_type": "inbound", "protocol": "TCP", "protocol_type": "CustomTCP", "network_type": "any"}
            self.add_group(place, "ssh-only", "", [{**ssh, "ports": [22], "description": "ssh"}])
            self.add_group(place, "closed", "", [])
            self.add_sfs(place, "shared-scratch", 500)
            self.add_pfs(place, "fast-scratch", 4000)
            self.add_dataset(place, "tiles", "managed")
            self.add_dataset(place, "corpus", "encrypted")
            self.add_ip(place)
            self.add_ip(place).service = ("notebook", "old-notebook", 77)

    def now(self) -> float:
        """The sandbox's time."""
        return self.world.clock.now()

    def next_id(self, kind: str) -> int:
        """The id of the next thing of a kind."""
        return next(self._counters[kind])

    def day(self, moment: float) -> str:
        """A day as key listings write it."""
        return self.world.clock.shown(moment).strftime("%d-%b-%Y")

    def stamp(self, moment: float) -> str:
        """A moment as everything else writes it."""
        return self.world.clock.shown(moment).strftime("%Y-%m-%dT%H:%M:%SZ")

    def next_host(self) -> str:
        """The host of the next cluster's login node: a real one if there are any."""
        number = next(self._addresses)
        real = self.world.addresses()
        return real[number % len(real)].host if real else f"203.0.113.{number % 254 + 1}"

    def caller(self, call: Call) -> Credential:
        """Whose call it is; it was admitted before."""
        found = presented(call, self.credentials)
        if found is None:
            raise LookupError("this call was never admitted")
        return found

    def acting(self, call: Call) -> Account:
        """For which account it is."""
        return acting_account(call, self.caller(call))

    def place(self, call: Call) -> Place:
        """For which project and location it is."""
        return place_of(call, self.acting(call))

    def parse(self, call: Call, model: type[M]) -> M:
        """The body; raises `Refused` 415 or 422."""
        media_type = call.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            raise Refused(415, f'Unsupported media type "{media_type}" in request.')
        return call.parse(model)

    def free_nodes(self, sku: Sku) -> int:
        """How many nodes of a type nobody has."""
        now = self.now()
        return sku.stock - sum(one.nodes for one in self.clusters.values() if one.sku is sku and one.is_there(now))

    def spent(self, account: Account) -> float:
        """What everything of an account has cost by now."""
        now, choices = self.now(), self.world.choices
        own = [one for one in self.clusters.values() if one.place.account == account.id]
        charged = sum(one.cost(now, choices) for one in own)
        rows: list[tuple[Place, Volume | ReservedIp]] = [*self.sfs.all(), *self.ips.all()]
        return charged + sum(self.side_cost(row) for place, row in rows if place.account == account.id)

    def side_cost(self, row: Volume | ReservedIp) -> float:
        """What a file system or a reserved address has cost by now."""
        per_hour = IP_PER_HOUR if isinstance(row, ReservedIp) else row.paid_gb * SFS_PER_GB_HOUR
        return hours_cost(per_hour, row.created, self.now())

    def need_credit(self, account: Account, amount: float) -> None:
        """Refuse, with the amounts, what the account cannot pay."""
        left = account.credit - self.spent(account)
        if left < amount:
            text = f"Insufficient credits: {amount:.2f} {account.currency} needed, {left:.2f} {account.currency} left"
            raise Refused(412, text)

    def add_key(self, place: Place, label: str, ssh_key: str) -> SshKey:
        """A new SSH key."""
        pk = self.next_id("ssh_key")
        return self.keys.add(place, pk, SshKey(pk, label, ssh_key, self.day(self.now())))

    def add_group(self, place: Place, name: str, description: str, rules: Sequence[dict[str, Any]]) -> Group:
        """A new security group."""
        number = self.next_id("group")
        owned = [{"id": self.next_id("rule"), **rule} for rule in rules]
        return self.groups.add(place, number, Group(number, name, description, owned))

    def add_sfs(self, place: Place, name: str, size_gb: int, *, number: int | None = None) -> Volume:
        """A new shared file system."""
        number, now = number or self.next_id("sfs"), self.now()
        row = {
            "id": number,
            "name": name,
            "created_by": place.account,
            "sfs_ip": f"192.0.2.{number % 254 + 1}",
            "created_at": self.stamp(now),
            "disk_size": f"{size_gb}GB",
            "size_in_gb": str(size_gb),
            "location": place.location,
        }
        return self.sfs.add(place, number, Volume(number, name, row, size_gb, now))

    def add_pfs(self, place: Place, name: str, size_gb: int, *, number: int | None = None) -> Volume:
        """A new parallel file system; there is no call that makes one."""
        number, stamp = number or self.next_id("pfs"), self.stamp(self.now())
        row = {
            "id": number,
            "name": name,
            "disk_size": size_gb,
            "disk_size_in_gb": str(size_gb),
            "disk_size_in_tb": f"{size_gb / 1000:g}",
            "created_by": place.account,
            "created_at": stamp,
            "updated_at": stamp,
            "status": "Running",
        }
        return self.pfs.add(place, number, Volume(number, name, row))

    def add_dataset(self, place: Place, name: str, storage_type: str, *, number: int | None = None) -> Volume:
        """A new dataset; there is no call that makes one."""
        number = number or self.next_id("dataset")
        row = {
            "id": number,
            "name": name,
            "project_id": place.project,
            "description": None,
            "storage_type": storage_type,
            "pvc": None,
            "bucket": {"id": 1000 + number, "bucket_name": f"{name}-{number}"},
        }
        return self.datasets.add(place, number, Volume(number, name, row))

    def add_ip(self, place: Place) -> ReservedIp:
        """A new reserved address."""
        number = self.next_id("ip")
        owner = next(one for one in self.accounts if one.id == place.account)
        sibling = next(one.sibling_id for one in owner.projects if one.id == place.project)
        address = f"198.51.100.{number % 254 + 1}"
        return self.ips.add(place, number, ReservedIp(number, address, place.location, sibling, self.now()))

    def release_ip(self, cluster: Cluster, number: int) -> None:
        """Take a reserved address from a cluster; the account keeps it."""
        del cluster.ips[number]
        ip = self.ips.get(cluster.place, number)
        if ip is not None:
            ip.service = None


def done(data: object, message: str = "Success", status: int = 200) -> Answer:
    """The success envelope."""
    return Answer.json({"code": status, "data": data, "errors": {}, "message": message}, status)


def paged(call: Call, tir: Tir, rows: Sequence[dict[str, Any]]) -> Answer:
    """One page of rows with the totals; raises `Refused` 400 for a wrong page and maybe 404 beyond the last."""
    size = whole_number(call, "per_page", int(tir.world.choices.number("e2e.per_page")), 1)
    page = whole_number(call, "page_no", 1, 1)
    pages = max(1, -(-len(rows) // size))
    if page > pages and tir.world.choices["e2e.past_last_page"] == "404":
        raise Refused(404, "There is no such page", shape="detail")
    body = {"code": 200, "data": list(rows[(page - 1) * size : page * size]), "errors": {}, "message": "Success"}
    return Answer.json({**body, "total_page_number": pages, "total_count": len(rows)})


def number_in_path(call: Call, name: str) -> int:
    """An id out of the path; 0, which nothing has, when it is no number."""
    text = call.params[name]
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else 0
