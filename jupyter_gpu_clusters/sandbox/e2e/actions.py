"""The nine actions on a running cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..service import Answer, Call, Refused
from .billing import Charge, needed_credit
from .bodies import (
    ACTIONS,
    AddSecurityGroup,
    AnyAction,
    AttachIp,
    Body,
    DetachIp,
    RemoveSecurityGroup,
    ScaleCluster,
    UpdateImage,
    UpdateSshKeys,
)
from .cluster import RUNNING, Cluster
from .errors import bad
from .orders import find_image, find_keys, need_nodes
from .state import Tir, done

_SERVICE_TYPE = "training_cluster"


class Actions:
    """PUT on a cluster; which fields a body has depends on its ``action``."""

    def __init__(self, tir: Tir) -> None:
        self._tir = tir
        self._table: Mapping[str, Callable[[Cluster, Any], Answer]] = {
            "update_ssh_keys": self._update_ssh_keys,
            "update_image": self._update_image,
            "restart_workers": self._restart,
            "restart_cluster": self._restart,
            "scale_cluster": self._scale,
            "attach_ip": self._attach_ip,
            "detach_ip": self._detach_ip,
            "add_security_group": self._add_groups,
            "remove_security_group": self._remove_group,
        }

    def run(self, call: Call, cluster: Cluster) -> Answer:
        """Do it; raises `Refused` 400 for a wrong body and, as chosen, when the cluster is not running."""
        action = self._tir.parse(call, AnyAction).action
        body = self._tir.parse(call, ACTIONS[action])
        call.note.update(cluster=str(cluster.id), **body.model_dump())
        self._need_running(cluster)
        return self._table[action](cluster, body)

    def _need_running(self, cluster: Cluster) -> None:
        status = cluster.status(self._tir.now())
        if status == RUNNING:
            return
        text = f"The cluster is {status}; this needs a running one"
        answer = self._tir.world.choices["e2e.not_running"]
        if answer == "400":
            raise bad("action", text)
        raise Refused(412, text, shape="under_200" if answer == "200" else None)

    def _shown(self, cluster: Cluster) -> Answer:
        return done(cluster.detail(self._tir.now(), self._tir.world.clock))

    def _busy(self, cluster: Cluster, word: str) -> float:
        """The cluster is at it for a while; when it is done."""
        now, choices = self._tir.now(), self._tir.world.choices
        seconds = choices.number("e2e.action_seconds")
        if choices["e2e.action_words"] == "shown":
            cluster.life.plan(now, (0, word), (seconds, RUNNING))
        return now + seconds

    def _update_ssh_keys(self, cluster: Cluster, body: UpdateSshKeys) -> Answer:
        cluster.ssh_keys = find_keys(self._tir, cluster.place, body.ssh_key_ids)
        return self._shown(cluster)

    def _update_image(self, cluster: Cluster, body: UpdateImage) -> Answer:
        image = find_image(self._tir, cluster.place, body.image_version_id)
        if image is None:
            raise bad("image_version_id", "No image of this location has such a version.")
        cluster.image = image
        self._busy(cluster, "Updating")
        return self._shown(cluster)

    def _restart(self, cluster: Cluster, _: Body) -> Answer:
        self._busy(cluster, "Restarting")
        return self._shown(cluster)

    def _scale(self, cluster: Cluster, body: ScaleCluster) -> Answer:
        hourly = cluster.sku.hourly()
        if hourly is None:
            raise bad("additional_nodes", "This node type has no hourly price.")
        more, now = body.additional_nodes, self._tir.now()
        self._tir.need_credit(cluster.owner, needed_credit(more, hourly.unit_price, 0))
        need_nodes(self._tir, cluster.sku, more)
        ready = self._busy(cluster, "Scaling")
        cluster.charges.append(Charge(more, hourly.unit_price, 0, now, ready, hourly.unit_price))
        return self._shown(cluster)

    def _attach_ip(self, cluster: Cluster, body: AttachIp) -> Answer:
        ip = self._tir.ips.get(cluster.place, body.reserved_ip_id)
        if ip is None:
            raise bad("reserved_ip_id", "No reserved IP of this location has this id.")
        if ip.service is not None:
            raise bad("reserved_ip_id", "This reserved IP is in use.")
        ip.service = (_SERVICE_TYPE, cluster.name, cluster.id)
        cluster.ips[ip.id] = ip.ip_address
        return done(ip.json(self._tir.world.choices["e2e.free_ip_word"]))

    def _detach_ip(self, cluster: Cluster, body: DetachIp) -> Answer:
        if body.reserved_ip_id not in cluster.ips:
            raise bad("reserved_ip_id", "This reserved IP is not attached to the cluster.")
        self._tir.release_ip(cluster, body.reserved_ip_id)
        return done({})

    def _add_groups(self, cluster: Cluster, body: AddSecurityGroup) -> Answer:
        numbers = body.security_groups_ids
        lost = [number for number in numbers if self._tir.groups.get(cluster.place, number) is None]
        if lost:
            raise bad("security_groups_ids", f"No security group of this location has the id {lost[0]}.")
        cluster.groups = list(dict.fromkeys([*cluster.groups, *numbers]))
        return done("Security groups attached")

    def _remove_group(self, cluster: Cluster, body: RemoveSecurityGroup) -> Answer:
        if body.security_group_id not in cluster.groups:
            raise bad("security_group_id", "This security group is not attached to the cluster.")
        cluster.groups.remove(body.security_group_id)
        return done("Security group detached")
