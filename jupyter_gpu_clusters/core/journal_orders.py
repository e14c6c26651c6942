"""The journal's part about orders: what was started, and what became of it."""

from __future__ import annotations

from datetime import timedelta

from . import rows
from .claims import Claims
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
        """Copy orders that only the intent files know into the database (after a crash or a lost database)."""
        known = set(self._order_ids())
        lost = [order for order in self.claims.all() if order.order_id not in known]
        if lost:
            self.database.write(lambda c: rows.put_orders(c, lost))

    def _order_ids(self) -> list[str]:
        found = self.database.read(lambda c: c.execute("SELECT order_id FROM orders").fetchall())
        return [str(row[0]) for row in found]
