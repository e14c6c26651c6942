"""The service's pages of the sandbox's books."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .cluster import Cluster
from .state import Tir
from .things import ReservedIp, Volume


def alive(tir: Tir) -> Sequence[Mapping[str, Any]]:
    """Everything that exists and may cost."""
    now = tir.now()
    clusters = [one.alive_row(now) for one in tir.clusters.values() if one.is_there(now)]
    return [*clusters, *_side_rows(tir)]


def bill(tir: Tir) -> Mapping[str, Any]:
    """``total`` and one row for each thing, clusters that are gone included."""
    rows = [*(_cluster_row(tir, one) for one in tir.clusters.values()), *_side_rows(tir)]
    return {"total": sum(row["amount"] for row in rows), "rows": rows}


def _cluster_row(tir: Tir, cluster: Cluster) -> dict[str, Any]:
    now, choices = tir.now(), tir.world.choices
    bound = max(charge.bound_until(choices) for charge in cluster.charges)
    return {
        "id": str(cluster.id),
        "kind": "cluster",
        "name": cluster.name,
        "account": cluster.place.account,
        "amount": cluster.cost(now, choices),
        "unit_price": cluster.price.unit_price,
        "committed_days": cluster.price.days,
        "is_billing": cluster.deleted is None or now < bound,
    }


def _side_rows(tir: Tir) -> Iterator[dict[str, Any]]:
    tables = (("sfs", tir.sfs.all()), ("reserved_ip", tir.ips.all()))
    for kind, rows in tables:
        for place, row in rows:
            yield _side_row(tir, kind, place.account, row)


def _side_row(tir: Tir, kind: str, account: int, row: Volume | ReservedIp) -> dict[str, Any]:
    name = row.ip_address if isinstance(row, ReservedIp) else row.name
    amount = tir.side_cost(row)
    return {"id": str(row.id), "kind": kind, "name": name, "account": account, "amount": amount, "is_billing": True}
