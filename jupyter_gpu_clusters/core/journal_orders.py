"""The journal's part about orders: what was started, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from . import rows
from .claims import Claims, DamagedIntentError
from .database import Database
from .models import Order, OrderState, utc_now


class OrderRecords:
    """Files and rows of orders; the file is written first."""

    claims: Claims
    database: Database

    def put_order(self, order: Order) -> None:
        """Mirror an order into the database."""
        self.database.write(lambda c: rows.put_order(c, order))

    def finish_order(self, order: Order) -> Order:
        """Record what became of an order: file first, then the row; a name that is free again is released.

        Returns
        -------
        The order as it is recorded now, with what other processes have recorded meanwhile.
        """
        if order.state in (OrderState.REFUSED, OrderState.CLOSED):
            self.claims.release(order)
        else:
            order = self.claims.update(order)
        self.put_order(order)
        return order

    def release(self, order: Order) -> None:
        """The order's work is over for good (gone, ended): its name is free again."""
        self.claims.release(order)
        self.put_order(order)

    def order(self, order_id: str) -> Order | None:
        """One order by its id."""
        row = self.database.read(
            lambda c: c.execute("SELECT body FROM orders WHERE order_id = ?", (order_id,)).fetchone()
        )
        return rows.read_order(row["body"]) if row else None

    def open_orders(self, identity_key: str | None = None) -> list[Order]:
        """Orders whose outcome nobody has confirmed, oldest first."""
        found = self.database.read(
            lambda c: c.execute(
                "SELECT body FROM orders WHERE state IN ('open', 'not_seen') AND (?1 IS NULL OR identity = ?1) "
                "ORDER BY rowid LIMIT 1000",
                (identity_key,),
            ).fetchall()
        )
        return [rows.read_order(row["body"]) for row in found]

    def late_arrivals(self) -> list[Order]:
        """Orders that the user had closed and that made something after all, the newest first."""
        found = self.database.read(
            lambda c: c.execute(
                "SELECT body FROM orders WHERE state = 'done' AND json_extract(body, '$.is_late') "
                "ORDER BY rowid DESC LIMIT 100"
            ).fetchall()
        )
        return [rows.read_order(row["body"]) for row in found]

    def owed(self, identity_key: str) -> list[Order]:
        """Creates that were answered and whose cluster is to end: on sight, or after some hours."""
        found = self.database.read(
            lambda c: c.execute(
                "SELECT body FROM orders WHERE identity = ? AND state = 'done' AND "
                "(json_extract(body, '$.on_sight') OR json_extract(body, '$.max_hours') IS NOT NULL) "
                "AND json_extract(body, '$.verb') = 'create' ORDER BY rowid DESC LIMIT 1000",
                (identity_key,),
            ).fetchall()
        )
        return [rows.read_order(row["body"]) for row in found]

    def late_orders(self, identity_key: str) -> list[Order]:
        """Orders closed in the last 30 days whose marks may still appear."""
        return self._orders_since(
            identity_key, "state = 'closed' AND json_extract(body, '$.verb') IN ('create', 'submit')", rows.LATE_FOR
        )

    def fulfilled_deletes(self, identity_key: str) -> list[Order]:
        """Wishes to delete that were fulfilled in the last day."""
        where = "state = 'done' AND json_extract(body, '$.verb') = 'delete'"
        return self._orders_since(identity_key, where, rows.STRAGGLERS_FOR)

    def _orders_since(self, identity_key: str, where: str, age: timedelta) -> list[Order]:
        found = self.database.read(
            lambda c: c.execute(
                f"SELECT body FROM orders WHERE identity = ? AND {where} AND json_extract(body, '$.created_at') > ? "
                "ORDER BY rowid DESC LIMIT 1000",
                (identity_key, (utc_now() - age).isoformat()),
            ).fetchall()
        )
        return [rows.read_order(row["body"]) for row in found]

    def members(self, identity_key: str) -> dict[str, tuple[str, ...]]:
        """Cluster id -> ids of the nodes that the answer to its order named."""
        found = self.database.read(
            lambda c: c.execute(
                "SELECT body FROM orders WHERE identity = ? AND json_extract(body, '$.members[0]') IS NOT NULL",
                (identity_key,),
            ).fetchall()
        )
        orders = [rows.read_order(row["body"]) for row in found]
        return {remote_id: order.members for order in orders for remote_id in order.remote_ids}

    def restore_orders(self) -> None:
        """Bring files and rows together again after a crash, a lost database or lost files.

        Rows are read first: what has none among them and a file was claimed meanwhile, or before a crash.
        """
        known = set(self._order_ids())
        still_open, living = self.open_orders(), self._living_creates()
        held = {order.order_id: order for order in self._all_claims(mended_from=(*still_open, *living))}
        lost = [order for order in held.values() if order.order_id not in known]
        if lost:
            self.database.write(lambda c: rows.put_lost_orders(c, lost))
        for order in still_open:
            settled = self._settled_in_file(order, held.get(order.order_id))
            if settled is not None:
                self.put_order(settled)
        for order in (*still_open, *living):
            if order.order_id not in held:
                self.claims.update(order)

    def held_orders(self) -> list[Order]:
        """Every order that holds a name now."""
        self.restore_orders()
        return list(self.claims.all())

    def _all_claims(self, mended_from: Sequence[Order]) -> list[Order]:
        """The claims; damaged files are written anew from rows first."""
        try:
            return list(self.claims.all())
        except DamagedIntentError:
            for order in mended_from:
                self.claims.mend(order)
            return list(self.claims.all())

    def _settled_in_file(self, order: Order, held: Order | None) -> Order | None:
        """What became of an order whose row was not written any more."""
        if held is not None:
            return held if not held.state.is_open else None
        record = self.claims.released(order)
        if record is None:
            return None
        return record if not record.state.is_open else record.model_copy(update={"state": OrderState.CLOSED})

    def _living_creates(self) -> list[Order]:
        """Answered creates whose clusters are not known to be gone: their names are taken."""
        found = self.database.read(
            lambda c: c.execute(
                "SELECT DISTINCT orders.body FROM clusters JOIN orders ON orders.identity = clusters.identity "
                "AND orders.order_id = json_extract(clusters.snapshot, '$.order_id') "
                "WHERE clusters.phase != 'deleted' AND orders.state = 'done' "
                "AND json_extract(orders.body, '$.verb') = 'create'"
            ).fetchall()
        )
        return [rows.read_order(row["body"]) for row in found]

    def _order_ids(self) -> list[str]:
        found = self.database.read(lambda c: c.execute("SELECT order_id FROM orders").fetchall())
        return [str(row[0]) for row in found]
