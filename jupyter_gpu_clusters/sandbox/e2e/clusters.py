"""Create, list, show, delete; the nine actions are in ``actions.py``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from ..service import Answer, Call, Refused, Route
from .accounts import Place
from .actions import Actions
from .billing import Charge
from .bodies import CreateBody
from .cluster import CREATING, Cluster, plan_of_start
from .errors import absent
from .orders import given_name, resolve
from .route import PAGES, TirRoute
from .state import Tir, done, number_in_path, paged


class Clusters:
    """The operations on training clusters."""

    def __init__(self, tir: Tir) -> None:
        self._tir = tir
        self._actions = Actions(tir)

    def routes(self) -> Sequence[Route]:
        """All of them."""
        every, one = "/distributed_jobs_v2/cluster/", "/distributed_jobs_v2/cluster/{cluster_id}/"
        return [
            TirRoute("POST", every, self.create, "create", has_body=True),
            TirRoute("GET", every, self.list, "list", takes=("active_iam", *PAGES)),
            TirRoute("GET", one, self.get),
            TirRoute("PUT", one, self.act, "change", has_body=True),
            TirRoute("DELETE", one, self.delete, "delete"),
        ]

    def create(self, call: Call) -> Answer:
        """Order a cluster."""
        body, place = self._tir.parse(call, CreateBody), self._tir.place(call)
        cluster = self.make(place, body, key=call.key)
        call.made.append(str(cluster.id))
        call.note.update(asdict(place), name=body.name, given_name=cluster.name, nodes=body.no_of_nodes)
        message = "Cluster created successfully"
        return done(cluster.detail(self._tir.now(), self._tir.world.clock), message, 201)

    def make(self, place: Place, body: CreateBody, *, key: str) -> Cluster:
        """A new cluster; raises `Refused` when it cannot be had."""
        tir, now = self._tir, self._tir.now()
        order = resolve(tir, place, body)
        choices, hourly = tir.world.choices, order.sku.hourly() or order.price
        life, ready = plan_of_start(now, choices.number("e2e.start_seconds"), tir.fate)
        charge = Charge(body.no_of_nodes, order.price.unit_price, order.price.days, now, ready, hourly.unit_price)
        cluster = Cluster(
            id=tir.next_id("cluster"),
            place=place,
            name=given_name(tir, body.name),
            body=body,
            owner=next(one for one in tir.accounts if one.id == place.account),
            key=key,
            sku=order.sku,
            price=order.price,
            image=order.image,
            ssh_keys=order.ssh_keys,
            groups=[body.security_group_id],
            created=now,
            life=life,
            charges=[charge],
            address=tir.next_host(),
            ip_s=choices.number("e2e.ip_seconds"),
        )
        tir.clusters[cluster.id] = cluster
        return cluster

    def list(self, call: Call) -> Answer:
        """The project's clusters in a location."""
        place, now, clock = self._tir.place(call), self._tir.now(), self._tir.world.clock
        rows = [
            one.summary(now, clock) for one in self._tir.clusters.values() if one.place == place and one.is_there(now)
        ]
        if self._tir.world.choices["e2e.list_order"] == "newest":
            rows.reverse()
        return paged(call, self._tir, rows)

    def get(self, call: Call) -> Answer:
        """One cluster in full."""
        return done(self._find(call).detail(self._tir.now(), self._tir.world.clock))

    def act(self, call: Call) -> Answer:
        """One of nine actions."""
        return self._actions.run(call, self._find(call))

    def delete(self, call: Call) -> Answer:
        """Begin the teardown."""
        cluster, tir, now = self._find(call), self._tir, self._tir.now()
        choices = tir.world.choices
        if cluster.deleted is not None:
            return self._again(choices["e2e.delete_again"])
        if cluster.status(now) == CREATING and choices["e2e.delete_while_creating"] == "412":
            raise Refused(412, "The cluster is still being created")
        cluster.delete(now, choices["e2e.deleting_word"], choices.number("e2e.teardown_seconds"))
        for number in list(cluster.ips):
            tir.release_ip(cluster, number)
        call.ended.append(str(cluster.id))
        return done("Cluster deletion started")

    def _again(self, answer: str) -> Answer:
        if answer == "404":
            raise absent("cluster")
        if answer == "412":
            raise Refused(412, "The cluster is being deleted")
        return done("Cluster deletion started")

    def _find(self, call: Call) -> Cluster:
        cluster = self._tir.clusters.get(number_in_path(call, "cluster_id"))
        if cluster is None or cluster.place != self._tir.place(call) or not cluster.is_there(self._tir.now()):
            raise absent("cluster")
        return cluster
