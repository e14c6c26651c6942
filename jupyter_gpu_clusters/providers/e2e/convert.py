"""From E2E's words to ours, pure. Source: contract, sections 2.2 and 4."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...core.models import Billing, Cluster, ClusterPhase, Money, Offer
from ...core.ssh_address import DEFAULT_PORT
from . import wire
from .options import Options

_PHASES: Mapping[str, ClusterPhase] = {
    "creating": ClusterPhase.CREATING,
    "pending": ClusterPhase.CREATING,
    "updating": ClusterPhase.CREATING,
    "restarting": ClusterPhase.CREATING,
    "scaling": ClusterPhase.CREATING,
    "upgrading": ClusterPhase.CREATING,
    "running": ClusterPhase.RUNNING,
    "failed": ClusterPhase.FAILED,
    "error": ClusterPhase.FAILED,
    "createfailed": ClusterPhase.FAILED,
    "suspended": ClusterPhase.STOPPED,
    "stopped": ClusterPhase.STOPPED,
    "deleting": ClusterPhase.DELETING,
    "terminating": ClusterPhase.DELETING,
    "deleted": ClusterPhase.DELETED,
    "terminated": ClusterPhase.DELETED,
}
_BILLED = (ClusterPhase.CREATING, ClusterPhase.RUNNING, ClusterPhase.DEGRADED)


def cluster_id_of(location: str, number: int | str) -> str:
    """``Delhi/123``: ids of two locations may be the same."""
    return f"{location}/{number}"


def split_id(cluster_id: str) -> tuple[str, str]:
    """Location and number; both empty where it is not one of ours."""
    location, _, number = cluster_id.partition("/")
    return (location, number) if number.isdecimal() else ("", "")


def phase_of(word: str | None) -> ClusterPhase:
    """Our phase; a word that is not known is unknown and never an end."""
    return _PHASES.get((word or "").lower().replace("_", "").replace("-", "").replace(" ", ""), ClusterPhase.UNKNOWN)


def price_of(row: wire.Price, nodes: int) -> Money | None:
    """Per hour for all nodes; ``None`` where it is not plainly hourly, unknown, or has no currency."""
    return _sum(row, nodes) if row.days == 0 else None


def commitment_of(row: wire.Price, nodes: int) -> Money | None:
    """The whole sum of a committed term for all nodes (inferred: the unit price is per node)."""
    return _sum(row, nodes) if row.days else None


def _sum(row: wire.Price, nodes: int) -> Money | None:
    if row.unit_price is None or row.currency is None:
        return None
    return Money(amount=row.unit_price, currency=row.currency).times(nodes)


def cluster_of(row: wire.Cluster, location: str, account: str, options: Options) -> Cluster:
    """A cluster as the service shows it, whoever made it."""
    phase = phase_of(row.status)
    specs, plan = row.sku_details.specs, row.sku_details.plan
    nodes = row.no_of_nodes or 0
    return Cluster(
        provider="e2e",
        account=account,
        cluster_id=cluster_id_of(location, row.id or 0),
        name=row.name or f"cluster-{row.id}",
        phase=phase,
        provider_state=row.status,
        node_count=nodes,
        gpu_type=specs.gpu_card_type or (specs.name if specs.gpu else None),
        gpus_per_node=specs.gpu or 0,
        price_per_hour=price_of(plan, nodes) if nodes else None,
        billing=_billing(phase, plan),
        region=location,
        created_at=row.created_at,
        login_address=_login(row.ssh_public_ip, options),
        created_here=False,
        reason=_reason(row, phase),
    )


def _login(host: str | None, options: Options) -> str | None:
    """The contract marks user and port as inferred; both are options of the account."""
    if not host:
        return None
    port = "" if options.ssh_port == DEFAULT_PORT else f":{options.ssh_port}"
    return f"{options.ssh_user}@{f'[{host}]' if ':' in host else host}{port}"


def _billing(phase: ClusterPhase, plan: wire.Price) -> Billing:
    """Inferred: from creation until deletion; a committed term was paid at once."""
    return Billing.YES if phase in _BILLED and plan.days == 0 else Billing.UNKNOWN


def _reason(row: wire.Cluster, phase: ClusterPhase) -> str | None:
    if phase is ClusterPhase.UNKNOWN and row.status:
        return f"E2E says {row.status!r}, which is not known here."
    return None


def offers_of(skus: Iterable[wire.Sku], location: str, account: str) -> list[Offer]:
    """One offer for each price row of each node type."""
    return [_offer(sku, row, location, account) for sku in skus for row in sku.plans or (wire.Price(),)]


def _offer(sku: wire.Sku, row: wire.Price, location: str, account: str) -> Offer:
    spec = {"location": location, "sku_id": sku.sku_id, "sku_item_price_id": row.sku_item_price_id}
    return Offer(
        account=account,
        provider="e2e",
        offer_id=f"{location}/{sku.sku_id}/{row.sku_item_price_id}",
        title=sku.title,
        gpu_type=sku.gpu_card_type or (sku.name if sku.gpu else None),
        gpus_per_node=sku.gpu or 0,
        cpus_per_node=sku.cpu,
        memory_gib_per_node=sku.memory,
        nodes_available=None if sku.is_offered and row.is_active is not False else 0,
        price_per_node_hour=price_of(row, 1),
        region=location,
        commitment_days=row.days or None,
        term_price=commitment_of(row, 1),
        spec={key: value for key, value in spec.items() if value is not None},
    )
