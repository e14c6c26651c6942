"""What must hold at every moment: the books of the cloud against what every journal says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jupyter_gpu_clusters.core import rows
from jupyter_gpu_clusters.core.models import Billing, Cluster, ClusterPhase, Deleted, Order, OrderState, State, Verb

from .cloud import Rented, Request
from .process import Process
from .provider import IDENTITY

if TYPE_CHECKING:
    from .world import World


class Checks:
    """Tells the world of every broken promise."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.is_over = False
        self._is_due = True
        self._changed: set[str] = set()
        self.fulfilled_at: dict[str, float] = {}

    def note_write(self, process: Process | None) -> None:
        """A process wrote to its journal; without one, the books changed."""
        self._is_due = True
        self._changed |= {process.journal} if process is not None else set(self._world.observers)

    def changed(self) -> list[str]:
        """The journals whose state may be another than at the last call."""
        changed, self._changed = sorted(self._changed), set()
        return changed

    def now(self) -> None:
        """Compare everything, if anything has changed."""
        if self.is_over or not self._is_due:
            return
        self._is_due = False
        for journal in self._world.observers:
            self._clusters(journal)
            self._orders(journal)

    # Nothing that bills is called gone

    def _clusters(self, journal: str) -> None:
        known = {cluster.cluster_id: cluster for cluster in self.known(journal)}
        for rented in self._world.cloud.billing():
            cluster = known.get(rented.cluster_id)
            if cluster is not None:
                self._bills(journal, rented, cluster)

    def known(self, journal: str) -> Sequence[Cluster]:
        """Every cluster that a journal ever knew, as it knows it now."""
        found = self._world.observers[journal].database.read(
            lambda c: c.execute("SELECT snapshot FROM clusters WHERE identity = ?", (IDENTITY.key,)).fetchall()
        )
        return [rows.read_cluster(row["snapshot"]) for row in found]

    def _bills(self, journal: str, rented: Rented, cluster: Cluster) -> None:
        if cluster.phase is not ClusterPhase.DELETED and cluster.billing is not Billing.NO:
            return
        if not self._is_told_gone(journal, rented.cluster_id):
            whose = "its own" if cluster.created_here else "not its own"
            self._world.violate(
                f"{rented.cluster_id} of {rented.owner} bills, and {journal}, where it is {whose}, says "
                f"{cluster.phase}, billing {cluster.billing} ({cluster.reason})"
            )

    def _is_told_gone(self, journal: str, cluster_id: str) -> bool:
        is_wished = self.is_wished(journal, cluster_id)
        return self._world.evidence.is_told_gone(journal, cluster_id, is_wished=is_wished)

    def deleted(self, deleted: Deleted, journal: str) -> None:
        """A delete ended with this report."""
        rented = self._world.cloud.books[deleted.cluster.cluster_id]
        is_told = self._is_told_gone(journal, rented.cluster_id)
        if deleted.is_gone and rented.exists_at(self._world.loop.time()) and not is_told:
            self._world.violate(f"{rented.cluster_id} bills, and {journal} was told that it is deleted")

    def told(self, cluster: Cluster, journal: str) -> None:
        """A verb returned this cluster."""
        rented = self._world.cloud.books.get(cluster.cluster_id)
        if rented is None:
            self._world.violate(f"{journal} was told of {cluster.cluster_id}, which never was")
        elif rented.exists_at(self._world.loop.time()):
            self._bills(journal, rented, cluster)

    def state(self, state: State, journal: str) -> None:
        """What a kernel shows."""
        shown = {cluster.cluster_id: cluster for cluster in state.clusters}
        kept = {cluster.cluster_id for cluster in self.known(journal) if cluster.phase is not ClusterPhase.DELETED}
        for rented in self._world.cloud.billing():
            cluster = shown.get(rented.cluster_id)
            if cluster is not None:
                self._bills(journal, rented, cluster)
            elif rented.cluster_id in kept:
                self._world.violate(f"{rented.cluster_id} bills and is known, and {journal} does not list it")

    # Nothing is ordered twice, nothing is taken for what it is not

    def orders(self, journal: str) -> Sequence[Order]:
        """All orders of a journal."""
        found = self._world.observers[journal].database.read(
            lambda c: c.execute("SELECT body FROM orders ORDER BY rowid").fetchall()
        )
        return [rows.read_order(row["body"]) for row in found]

    def _orders(self, journal: str) -> None:
        for order in self.orders(journal):
            if order.verb is Verb.CREATE:
                self._create_order(order)
            elif order.state is OrderState.DONE:
                self.fulfilled_at.setdefault(order.order_id, self._world.loop.time())

    def _create_order(self, order: Order) -> None:
        world = self._world
        if order.state is OrderState.DONE:
            for cluster_id in order.remote_ids:
                rented = world.cloud.books.get(cluster_id)
                if rented is None or rented.order_id != order.order_id:
                    self._world.violate(f"order {order.order_id} took {cluster_id} for its own, which it did not make")
        made = world.cloud.made_by(order.order_id)
        if order.state is OrderState.REFUSED and made:
            self._world.violate(f"order {order.order_id} is called refused and made {made[0].cluster_id}")
        was_sent = any(request.order_id == order.order_id for request in world.cloud.requests)
        if order.state is OrderState.CLOSED and order.order_id not in world.closed_by_user and was_sent:
            self._world.violate(f"order {order.order_id} was sent, and was closed without the user: {order.note}")

    def request(self, request: Request) -> None:
        """A request to create reached the cloud."""
        world = self._world
        if len(world.cloud.requests) >= world.consents:
            self._world.violate(f"request {len(world.cloud.requests) + 1} with {world.consents} consents")
        for earlier in world.cloud.requests:
            if earlier.order_id == request.order_id:
                self._world.violate(f"order {request.order_id} was sent twice")
            elif (earlier.owner, earlier.base_name) == (request.owner, request.base_name):
                self._second(earlier, request)

    def _second(self, earlier: Request, request: Request) -> None:
        """Another order under a name: only when what the earlier one made is gone, or the user said so."""
        world = self._world
        if earlier.order_id in world.closed_by_user or earlier.fate == "refused":
            return
        made = world.cloud.made_by(earlier.order_id)
        if made and not any(self._bills_unseen(earlier.owner, one) for one in made):
            return
        self._world.violate(
            f"{request.owner} ordered {request.base_name!r} again, and order {earlier.order_id} is not over"
        )

    def _bills_unseen(self, journal: str, rented: Rented) -> bool:
        return rented.exists_at(self._world.loop.time()) and not self._is_told_gone(journal, rented.cluster_id)

    def is_wished(self, journal: str, cluster_id: str) -> bool:
        """Whether the user of a journal wants a cluster gone by now."""
        rented = self._world.cloud.books.get(cluster_id)
        if rented is None:
            return False
        is_unwanted = rented.order_id in self._world.unwanted or self.is_over_time(rented, for_all=False)
        return is_unwanted or cluster_id in self._world.wished[journal]

    def is_over_time(self, rented: Rented, *, for_all: bool) -> bool:
        """Whether the end that its user set has come, by the clock of some host or of all."""
        ends = (one.ends_at for one in self._world.cloud.requests if one.order_id == rented.order_id)
        return any(end is not None and self._world.has_ended(end, for_all=for_all) for end in ends)

    def delete_request(self, journal: str, cluster_id: str) -> None:
        """A request to delete is being sent."""
        rented = self._world.cloud.books.get(cluster_id)
        if not self.is_wished(journal, cluster_id):
            owner = rented.owner if rented is not None else "nobody"
            self._world.violate(f"{journal} deletes {cluster_id} (of {owner}), which nobody wished")
