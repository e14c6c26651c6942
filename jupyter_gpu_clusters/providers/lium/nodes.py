"""Which hosts a rent is for: those that the user names, else the cheapest that fit. Source: contract, section 2."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from ...core.findings import Findings, named
from ...core.models import Money
from .client import Client
from .convert import cheapest_first, free_gpus, price_of, wholly_free
from .spec import LiumSpec
from .wire import Executor, Fabric


async def choose(spec: LiumSpec, count: int, client: Client, findings: Findings) -> tuple[list[str], list[Executor]]:
    """Ids in rank order, and what is known of the hosts behind them (fewer where a list cannot be read)."""
    if count == 1:
        ids, nodes = await _one_node(spec, client, findings)
    else:
        ids, nodes = await _several(spec, count, client, findings)
    _warn(nodes, findings)
    return ids, nodes


def price_in_all(nodes: Sequence[Executor], ids: Sequence[str], gpus: int | None) -> Money | None:
    """The sum, USD per hour; unknown if one of the prices is."""
    prices = [price for node in nodes if (price := price_of(node, gpus)) is not None]
    if not prices or not len(prices) == len(nodes) == len(ids):
        return None
    return prices[0].model_copy(update={"amount": sum(price.amount for price in prices)})


async def _several(spec: LiumSpec, count: int, client: Client, findings: Findings) -> tuple[list[str], list[Executor]]:
    fabrics = await findings.unless_silent("fabrics", client.list_fabrics)
    if fabrics is None:
        if spec.executor_uuids is None:
            findings.wrong("nodes", "cannot be chosen, since fabrics cannot be looked up now; write executor_uuids.")
        return list(spec.executor_uuids or ()), []
    if spec.executor_uuids is not None:
        chosen = _given_nodes(spec, fabrics, findings)
    elif (fitting := _fabrics(spec, fabrics, findings)) is not None:
        chosen = _cheapest_on_one(spec, count, fitting, findings)
    else:
        chosen = []
    ids = list(spec.executor_uuids or (node.id or "" for node in chosen))
    if any(not fabric.fabric_measured and node.id in ids for fabric in fabrics for node in fabric.nodes):
        findings.warnings.append("Lium has not measured the wire between these nodes.")
    return ids, chosen


def _given_nodes(spec: LiumSpec, fabrics: Sequence[Fabric], findings: Findings) -> list[Executor]:
    """The hosts behind ids; all must be free on one fabric, as far as can be seen."""
    wanted = spec.executor_uuids or []
    homes = {node.id: fabric.fabric_id for fabric in fabrics for node in fabric.nodes if node.id in wanted}
    known = {node.id: node for fabric in fabrics for node in fabric.nodes if node.id in homes}
    strange = [one for one in wanted if one not in known]
    if strange:
        findings.wrong("executor_uuids", f"{', '.join(strange)}: not free on any fabric now.")
    if len(set(homes.values())) > 1:
        findings.wrong("executor_uuids", "the nodes are on different fabrics; all must be on one.")
    elif spec.fabric is not None and any(not (home or "").startswith(spec.fabric) for home in homes.values()):
        findings.wrong("fabric", f"{spec.fabric!r} is not that of the nodes in executor_uuids; leave one out.")
    chosen = [known[one] for one in wanted if one in known]
    _check_gpu(spec, chosen, findings)
    return chosen


def _check_gpu(spec: LiumSpec, nodes: Sequence[Executor], findings: Findings) -> None:
    """Whether nodes that are given by id are of the kind that is asked for."""
    others = sorted({one.machine_name or "?" for one in nodes if not _is_named(one, spec.gpu)})
    if others:
        findings.wrong("gpu", f"is {spec.gpu!r}, and executor_uuids names nodes with {', '.join(others)}.")


def _is_named(executor: Executor, gpu: str | None) -> bool:
    return (gpu or "").lower() in (executor.machine_name or "").lower()


def _fabrics(spec: LiumSpec, fabrics: Sequence[Fabric], findings: Findings) -> list[Fabric] | None:
    """Those that the user's word leaves; none at all where it means nothing, which is noted."""
    fitting = [one for one in fabrics if one.fabric_id is not None]
    if spec.fabric is not None:
        exact = [one for one in fitting if one.fabric_id == spec.fabric]
        begun = [one for one in fitting if (one.fabric_id or "").startswith(spec.fabric)]
        fitting = exact or begun
        if not exact and len(begun) != 1:
            text = "is the beginning of several" if begun else "is none that has free nodes"
            findings.wrong("fabric", f"{spec.fabric!r} {text}.{named(one.fabric_id for one in begun or fabrics)}")
            return None
    return fitting


def _cheapest_on_one(spec: LiumSpec, count: int, fabrics: Sequence[Fabric], findings: Findings) -> list[Executor]:
    """The cheapest `count` nodes that share a fabric: all or none."""
    sets = []
    for fabric in fabrics:
        nodes = cheapest_first(node for node in wholly_free(fabric) if _is_named(node, spec.gpu))
        if len(nodes) >= count:
            sets.append(nodes[:count])
    if not sets:
        free = [f"{len(one.nodes)} x {one.nodes[0].machine_name if one.nodes else '?'}" for one in fabrics]
        findings.wrong(
            "nodes", f"no fabric has {count} free nodes{f' with {spec.gpu}' if spec.gpu else ''}.{named(free)}"
        )
    return min(sets, key=_rank, default=[])


def _rank(nodes: Sequence[Executor]) -> tuple[bool, Decimal, list[str]]:
    ids = [node.id or "" for node in nodes]
    price = price_in_all(nodes, ids, None)
    return price is None, price.amount if price is not None else Decimal(0), ids


async def _one_node(spec: LiumSpec, client: Client, findings: Findings) -> tuple[list[str], list[Executor]]:
    executors = await findings.unless_silent("nodes", client.list_executors)
    if spec.fabric is not None:
        findings.wrong("fabric", "is for several nodes; one node needs none.")
    if spec.executor_uuids is not None:
        found = [one for one in executors or () if one.id == spec.executor_uuids[0]][:1]
        if executors is not None and not found:
            findings.warnings.append(f"Node {spec.executor_uuids[0]} is not among those listed; its price is unknown.")
        for one in found:
            if fault := _why_not(one, spec.gpu_count):
                findings.wrong("gpu_count", fault)
        _check_gpu(spec, found, findings)
        return list(spec.executor_uuids), found
    if executors is None:
        findings.wrong("nodes", "cannot be chosen, since nodes cannot be looked up now; write executor_uuids.")
        return [], []
    named_so = [one for one in executors if _is_named(one, spec.gpu) and one.active is not False]
    chosen = cheapest_first((one for one in named_so if _why_not(one, spec.gpu_count) is None), spec.gpu_count)[:1]
    if not chosen:
        names = sorted({one.machine_name or "" for one in executors})
        findings.wrong("gpu", f"no free node fits{f' {spec.gpu!r}' if spec.gpu else ''}.{named(names)}")
    return [one.id or "" for one in chosen], chosen


def _why_not(executor: Executor, wanted: int | None) -> str | None:
    """Why so many GPUs of the host cannot be had: a rent without a count takes, and bills, every free one."""
    whole, free = executor.gpus or 0, free_gpus(executor)
    least = executor.min_gpu_count_for_rental
    if wanted is None:
        told = f"is needed: the node has {free} of {whole} GPUs free, and without a count all of them are taken."
        return None if whole > 0 and free == whole else told
    if wanted > free:
        return f"is {wanted}, and the node has {free} free."
    if least is None and wanted < whole:
        return f"is {wanted}, and the node is rented as a whole only, with {whole} GPUs."
    if least is not None and wanted < least:
        return f"is {wanted}, and the node is rented with {least} GPUs or more."
    return None


def _warn(nodes: Sequence[Executor], findings: Findings) -> None:
    spot = [node.id or "?" for node in nodes if (node.tier or "").lower() == "spot"]
    weak = [node.id or "?" for node in nodes if node.frequent_rent_failures]
    if spot:
        findings.warnings.append(f"Spot, can be taken back at any time without refund: {', '.join(spot)}.")
    if weak:
        findings.warnings.append(f"Rents often fail on {', '.join(weak)}, Lium says.")
