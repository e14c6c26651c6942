"""Which node type and which price row a request means.

One wrong price row buys a term that is not given back, so a row counts only where node type, place, kind and days all
agree with what was asked for. Source: contract, section 6, trap 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from ...core.findings import Findings, named
from ...core.nearest import did_you_mean
from .lists import Lists
from .spec import E2ESpec
from .wire import Price, Sku

_DAYS = {"hourly": 0, "30d": 30, "90d": 90, "365d": 365}


@dataclass(frozen=True)
class NodeType:
    """What create is told of it; ``sku`` and ``price`` are ``None`` where they could not be found out."""

    sku: Sku | None = None
    sku_id: int | None = None
    price: Price | None = None
    price_id: int | None = None


async def node_type(spec: E2ESpec, lists: Lists, findings: Findings) -> NodeType:
    """The node type and price row that `spec` asks for; faults and doubts go into `findings`."""
    plans = await lists.plans()
    if plans is None:
        return _unseen(spec, findings)
    search = _Search(spec, plans, lists.location, findings)
    sku = search.sku()
    price = search.price(sku)
    if sku is not None and not sku.is_offered:
        findings.warnings.append(f"E2E says that {sku.title} cannot be had now.")
    return NodeType(
        sku=sku,
        sku_id=spec.sku_id if sku is None else sku.sku_id,
        price=price,
        price_id=price.sku_item_price_id if price is not None else spec.sku_item_price_id,
    )


def _unseen(spec: E2ESpec, findings: Findings) -> NodeType:
    """Without a list only plain ids will do, and nobody knows what they cost."""
    for field, value in (("sku_id", spec.sku_id), ("sku_item_price_id", spec.sku_item_price_id)):
        if value is None:
            findings.wrong(field, "is needed, since node types cannot be looked up now.")
    if spec.sku_item_price_id is not None:
        findings.warnings.append(_doubt(spec.sku_item_price_id))
    return NodeType(sku_id=spec.sku_id, price_id=spec.sku_item_price_id)


def _doubt(number: int) -> str:
    return f"What price {number} buys is not known: it may be hourly or a committed term that is paid at once."


@dataclass(frozen=True)
class _Search:
    spec: E2ESpec
    plans: Sequence[Sku]
    location: str
    findings: Findings

    @property
    def _titles(self) -> list[str]:
        return [sku.title for sku in self.plans]

    @property
    def _days(self) -> int:
        return _DAYS[self.spec.plan or "hourly"]

    def sku(self) -> Sku | None:
        """By id, by name, by its price, or the cheapest that has the GPU; all that is written must agree."""
        spec, findings = self.spec, self.findings
        if spec.sku_id is not None:
            found = next((sku for sku in self.plans if sku.sku_id == spec.sku_id), None)
            if found is None:
                findings.warnings.append(f"Node type {spec.sku_id} is not among those listed; its price is unknown.")
            elif spec.sku is not None and spec.sku.lower() != found.title.lower():
                findings.wrong("sku", f"says {spec.sku!r} and sku_id {spec.sku_id} is {found.title!r}; leave one out.")
        elif spec.sku is not None:
            found = self._named(spec.sku)
        elif spec.sku_item_price_id is not None:
            found = next((owner for owner, _ in self._given_rows()), None)
            if found is None:
                findings.wrong("sku", f"is needed: sku or sku_id, since that price is not listed.{named(self._titles)}")
        elif spec.gpu is not None:
            return self._cheapest(spec.gpu)
        else:
            findings.wrong("sku", f"is needed: sku, gpu or sku_id.{named(self._titles)}")
            return None
        if found is not None and spec.gpu is not None and not _has(found, spec.gpu):
            findings.wrong("gpu", f"says {spec.gpu!r} and the node type is {found.title!r}; leave one out.")
        return found

    def _named(self, wanted: str) -> Sku | None:
        found = [sku for sku in self.plans if sku.title.lower() == wanted.lower()]
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(str(sku.sku_id) for sku in found)
            text = f"{wanted!r} may mean several: write one as sku_id: {ids}."
        else:
            text = f"there is no {wanted!r} here.{did_you_mean(wanted, self._titles)}{named(self._titles)}"
        self.findings.wrong("sku", text)
        return None

    def _cheapest(self, gpu: str) -> Sku | None:
        fitting = [sku for sku in self.plans if _has(sku, gpu)]
        if not fitting:
            self.findings.wrong("gpu", f"no node type has {gpu!r}.{named(self._titles)}")
            return None

        def cost(sku: Sku) -> tuple[bool, Decimal, int]:
            rows = [row for row in sku.plans if row.fits(self._days, self.location)]
            known = [row.unit_price for row in rows if row.unit_price is not None]
            return not sku.is_offered, min(known, default=Decimal("Infinity")), sku.sku_id or 0

        return min(fitting, key=cost)

    def price(self, sku: Sku | None) -> Price | None:
        """The row that was given, else the only one that fits."""
        if self.spec.sku_item_price_id is not None:
            return self._given(self.spec.sku_item_price_id, sku)
        if sku is None:
            if self.spec.sku_id is not None:
                self.findings.wrong("sku_item_price_id", f"is needed: node type {self.spec.sku_id} is not listed.")
            return None
        plan = self.spec.plan or "hourly"
        rows = [row for row in sku.plans if row.fits(self._days, self.location) and row.sku_item_price_id is not None]
        if len(rows) == 1:
            return rows[0]
        offered = ", ".join(f"{row.sku_item_price_id} ({row})" for row in sku.plans) or "none"
        text = f"{sku.title!r} has {len(rows) or 'no'} prices for {plan} in {self.location}"
        self.findings.wrong("plan", f"{text}; write one as sku_item_price_id. Listed: {offered}.")
        return None

    def _given_rows(self) -> list[tuple[Sku, Price]]:
        wanted = self.spec.sku_item_price_id
        return [(sku, row) for sku in self.plans for row in sku.plans if row.sku_item_price_id == wanted]

    def _given(self, number: int, sku: Sku | None) -> Price | None:
        rows = self._given_rows()
        owner, price = next((one for one in rows if one[0] is sku), rows[0] if rows else (None, None))
        if price is None or owner is None:
            self.findings.warnings.append(_doubt(number))
            return None
        if sku is not None and owner is not sku:
            text = f"{number} is a price of {owner.title!r}, not of {sku.title!r}."
            self.findings.wrong("sku_item_price_id", text)
        if (price.location or self.location).lower() != self.location.lower():
            text = f"{number} is a price of {price.location}, not of {self.location}."
            self.findings.wrong("sku_item_price_id", text)
        if self.spec.plan is not None and price.days != self._days:
            self.findings.wrong("plan", f"says {self.spec.plan} and price {number} is {price}; leave one out.")
        if price.is_active is False:
            self.findings.warnings.append(f"E2E says that price {number} is not offered now.")
        if price.days is None:
            self.findings.warnings.append(_doubt(number))
        return price


def _has(sku: Sku, gpu: str) -> bool:
    return gpu.lower() in f"{sku.gpu_card_type or ''} {sku.name or ''}".lower()
