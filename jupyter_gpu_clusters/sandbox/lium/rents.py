"""The three ways of renting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..service import Answer, Call, Refused, Route
from .bodies import ClusterRentBody, RentBody, RentBySpecBody, SingleRentBody
from .errors import in_band
from .idempotency import Idempotency
from .inventory import Executor
from .keys import Key
from .making import Order, given_name, make_pod
from .pod import Pod
from .show import pod_json
from .state import CLUSTER_IMAGE, State


class Rents:
    """Orders: what is checked before the idempotency key, what after it, and the pods that come of it."""

    def __init__(self, state: State, refuse: Callable[[Refused], Answer]) -> None:
        self.state = state
        self.idempotency = Idempotency(refuse)

    def routes(self) -> Sequence[Route]:
        """The orders."""
        return [
            Route("POST", "/executors/cluster/rent", self.rent_cluster, "create"),
            Route("POST", "/executors/rent-by-spec", self.rent_by_spec, "create"),
            Route("POST", "/executors/{executor_uuid}/rent", self.rent_one, "create"),
        ]

    def rent_cluster(self, call: Call) -> Answer:
        """POST /executors/cluster/rent."""
        body = call.parse(ClusterRentBody)
        nodes = [self.state.inventory.executors.get(name) for name in body.executor_uuids]
        price = sum(node.price_per_gpu * node.gpu_count for node in nodes if node)
        return self._order(call, body, price, lambda key: self._cluster(call, key, body))

    def rent_one(self, call: Call) -> Answer:
        """POST /executors/{executor_uuid}/rent."""
        body = call.parse(SingleRentBody)
        node = self.state.inventory.executors.get(call.params["executor_uuid"])
        count = body.gpu_count or (self.state.free_gpus(node) if node else 0)
        price = node.price_per_gpu * count if node else 0.0

        def work(key: Key) -> Answer:
            pod = self._single(call, key, body, self._node(call.params["executor_uuid"], key))
            if self.state.world.choices["lium.single_answer"] == "pod":
                return Answer.json(pod_json(self.state, pod))
            return Answer.json({"success": True, "pod_id": pod.id})

        return self._order(call, body, price, work)

    def rent_by_spec(self, call: Call) -> Answer:
        """POST /executors/rent-by-spec."""
        if "rent_by_spec" not in self.state.features():
            raise Refused(404, "Not Found", shape="detail")
        body = call.parse(RentBySpecBody)
        fitting = self._fitting(body)
        price = fitting[0].price_per_gpu * (body.gpu_count or fitting[0].gpu_count) if fitting else 0.0

        def work(key: Key) -> Answer:
            if not fitting:
                raise Refused(409, "No node matches", code="no_matching_node")
            pod = None if body.dry_run else self._single(call, key, body, fitting[0])
            return Answer.json(_choice_json(self.state, body, fitting, price, pod))

        return self._order(call, body, price, work, fragile=body.dry_run)

    def _order(
        self, call: Call, body: RentBody, price: float, work: Callable[[Key], Answer], *, fragile: bool = False
    ) -> Answer:
        key = self.state.known_key(call)
        key.need("rent")
        self._check_account(key, price)
        self.state.note(call, "rent")
        call.note["name"] = body.pod_name
        call.note["customer_ref"] = call.headers.get("x-customer-ref", key.customer_ref)
        if not self.state.keeps_answers():
            return work(key)
        return self.idempotency.run(key.account, call, lambda: work(key), fragile=fragile)

    def _check_account(self, key: Key, price: float) -> None:
        account = key.account
        if not account.verified:
            raise Refused(403, "Verify the account before renting", code="account_not_verified")
        needed, have = self.state.needed_balance(account, price), self.state.balance(account)
        if have <= needed:
            raise Refused(
                403,
                f"Insufficient balance. This costs ${price:.2f}/hour, so renting it requires at least ${needed:.2f} "
                f"(15 minutes of runtime). Your balance is ${have:.2f}.",
                code="insufficient_balance",
            )

    def _cluster(self, call: Call, key: Key, body: ClusterRentBody) -> Answer:
        self._check_market(key, body)
        nodes = [self._node(name, key) for name in body.executor_uuids]
        template = self._cluster_template(body)
        self._check_group(body, nodes)
        ranks = list(nodes)
        if self.state.world.choices["lium.rank_order"] == "shuffled":
            self.state.world.random.shuffle(ranks)
        cluster_id = call.note["cluster_id"] = self.state.world.uuid()
        order = Order(call, key, body, template, given_name(self.state, body.pod_name), cluster_id)
        pods = [make_pod(self.state, order, node, gpus=node.gpu_count, index=n) for n, node in enumerate(ranks)]
        answer: dict[str, Any] = {"success": True, "pod_ids": [pod.id for pod in pods]}
        if self.state.world.choices["lium.cluster_answer"] == "with_cluster_id":
            answer["cluster_id"] = cluster_id
        return Answer.json(answer)

    def _check_group(self, body: ClusterRentBody, nodes: Sequence[Executor]) -> None:
        fabrics = [self.state.inventory.fabric_of(node.id) for node in nodes]
        if any(fabric is None or fabric is not fabrics[0] for fabric in fabrics):
            raise in_band("All nodes of a cluster must be on one fabric")
        if any(not self._is_whole(node, body.gpu_count) for node in nodes):
            raise in_band("A cluster rental must take whole nodes")
        _check_ports(body, nodes)

    def _is_whole(self, node: Executor, wanted: int | None) -> bool:
        return wanted in (None, node.gpu_count) and self.state.free_gpus(node) == node.gpu_count

    def _cluster_template(self, body: ClusterRentBody) -> dict[str, Any]:
        if body.dockerfile_content is not None:
            raise in_band("A cluster runs the cluster image only, so a Dockerfile cannot be used")
        if body.volume_id is not None:
            raise in_band("A volume belongs to one pod and cannot be attached to a cluster")
        template = self._template(body.template_id)
        if not template["docker_image"].startswith(CLUSTER_IMAGE):
            raise in_band(f"A cluster needs a template with the image {CLUSTER_IMAGE}")
        return template

    def _template(self, template_id: str | None) -> dict[str, Any]:
        if template_id is None:
            ours = [t for t in self.state.templates.values() if t["docker_image"] == CLUSTER_IMAGE]
            return max(ours, key=lambda template: str(template["docker_image_tag"]))
        template = self.state.templates.get(template_id)
        if template is None:
            raise Refused(400, "Template not found", code="template_not_found")
        return template

    def _single(self, call: Call, key: Key, body: RentBody, node: Executor) -> Pod:
        self._check_market(key, body)
        free = self.state.free_gpus(node)
        count = body.gpu_count or free
        if node.share is None and count != node.gpu_count:
            raise Refused(400, "This node is rented as a whole only", code="whole_node_only")
        if count > free or count < (node.share or 1):
            raise _unavailable(node)
        _check_ports(body, [node])
        if body.volume_id is not None:
            self._check_volume(key, body.volume_id)
        order = Order(call, key, body, self._template(body.template_id), given_name(self.state, body.pod_name))
        return make_pod(self.state, order, node, gpus=count)

    def _check_volume(self, key: Key, volume_id: str) -> None:
        volume = self.state.volumes.get(volume_id)
        if volume is None or volume["account"] != key.account.name:
            raise Refused(400, "Volume not found", code="volume_not_found")
        if any(pod.volume_id == volume_id for pod in self.state.listed(key.account)):
            raise Refused(400, "The volume is attached to another pod", code="volume_in_use")

    def _check_market(self, key: Key, body: RentBody) -> None:
        self.state.check_budget(key)
        if self.state.paused:
            raise Refused(409, "Rentals are paused", code="rentals_paused")
        unique = self.state.world.choices["lium.names"] == "unique"
        if unique and any(pod.name == body.pod_name for pod in self.state.listed(key.account)):
            raise Refused(409, f"A pod named {body.pod_name} exists", code="name_in_use")

    def _node(self, name: str, key: Key) -> Executor:
        node = self.state.inventory.executors.get(name)
        if node is None:
            raise Refused(400, "Node not found", code="node_unavailable")
        now = self.state.now()
        broken = [p for p in self.state.listed(key.account) if p.executor is node and p.state(now) == "BROKEN"]
        if broken:
            text = f"Pod {broken[0].id} on this node is broken; delete it before renting the node again"
            raise Refused(400, text, code="broken_pod_on_node")
        if self.state.free_gpus(node) <= 0:
            raise _unavailable(node)
        return node

    def _fitting(self, body: RentBySpecBody) -> list[Executor]:
        nodes = [n for n in self.state.inventory.executors.values() if _fits(n, body, self.state.free_gpus(n))]
        return sorted(nodes, key=lambda node: (node.price_per_gpu, node.id))


def _check_ports(body: RentBody, nodes: Sequence[Executor]) -> None:
    if any((body.initial_port_count or 0) > node.ports for node in nodes):
        raise Refused(409, "The node has not enough free ports", code="no_ports")


def _unavailable(node: Executor) -> Refused:
    return Refused(400, f"Node {node.id} is not available", code="node_unavailable")


def _fits(node: Executor, body: RentBySpecBody, free: int) -> bool:
    count = body.gpu_count or node.gpu_count
    specs = node.json(free)["specs"]
    wishes = (
        body.gpu_type.lower() in node.machine_name.lower(),
        free >= count and (count == node.gpu_count or count >= (node.share or node.gpu_count)),
        (body.min_vram_gb or 0) <= specs["gpu"]["details"][0]["capacity"] / 1024,
        (body.min_cpus or 0) <= specs["cpu"]["count"],
        (body.min_ram_gb or 0) <= specs["ram"]["total"] / 2**20,
        (body.min_disk_gb or 0) <= specs["hard_disk"]["free"] / 2**20,
        (body.min_download_mbps or 0) <= node.download_mbps,
        (body.min_ports or 0) <= node.ports,
        body.max_price_per_gpu_hour is None or node.price_per_gpu <= body.max_price_per_gpu_hour,
        body.country is None or body.country.upper() == node.country,
    )
    return all(wishes)


def _choice_json(
    state: State, body: RentBySpecBody, fitting: Sequence[Executor], price: float, pod: Pod | None
) -> dict[str, Any]:
    best, others = fitting[0], fitting[1:6]
    return {
        "selected_executor": best.json(state.free_gpus(best)),
        "price_per_hour": round(price, 4),
        "pod_id": pod.id if pod else None,
        "template_id": pod.template["id"] if pod else body.template_id,
        "candidates": len(fitting),
        "alternatives_considered": [{"id": node.id, "price_per_gpu": node.price_per_gpu} for node in others],
        "attempts": 0 if pod is None else 1,
        "dry_run": body.dry_run,
    }
