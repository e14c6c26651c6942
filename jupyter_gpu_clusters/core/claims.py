"""Intent files: the authority on what was started, claimed by one atomic file creation.

A claim says "this name, under this identity, is taken by this order". It exists before the first byte of a
request leaves and is released when the order was refused, was closed by the user, or its cluster is proven
gone. The journal's tables are rebuilt from these files when the database is lost.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import ValidationError

from .errors import JournalError
from .locks import file_lock
from .models import Order, Verb
from .paths import make_private, sync_folder, write_durably, write_once


class DamagedIntentError(JournalError):
    """An intent file is there and says nothing that can be understood."""


_KEPT_RELEASED = 2000
_LOCKED_WITHIN_S = 10.0
_SCRATCH_FOR_S = 3600.0


def claim_key(order: Order) -> str:
    """What an order claims: the name for a create, cluster and name for a submit, the cluster for the rest."""
    subject = order.name if order.verb in (Verb.CREATE, Verb.SUBMIT) else ""
    text = "\0".join((order.identity_key, order.verb, order.target_id or "", subject))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class Claims:
    """The folder of intent files. All methods block for a disk write or two; call them off the event loop."""

    def __init__(self, folder: Path) -> None:
        self._live = folder / "intents"
        self._released = folder / "intents" / "released"

    def claim(self, order: Order) -> Order:
        """Claim the order's name; returns the order that holds it: this one, or the one that was first.

        Raises
        ------
        JournalError : the claim cannot be made durable, so nothing may be sent.
        """
        path = self._path(order)
        try:
            self._make_folders()
            try:
                write_once(path, _to_bytes(order))
            except FileExistsError:
                holder = self._read(path)
                return holder if holder is not None else self.claim(order)
            self._make_certain(path)
        except OSError as exc:
            raise JournalError(
                f"The intent cannot be written to {path.parent} ({exc.strerror or exc}), so nothing was sent.",
                hint="Make room there or make it writable, then run it again.",
            ) from exc
        return order

    def _make_certain(self, path: Path) -> None:
        """Make a new claim durable, or take it back: nothing is sent for it."""
        try:
            sync_folder(path.parent)
        except OSError:
            path.unlink()
            raise

    def update(self, order: Order) -> Order:
        """Record what became of a claimed order (durable before return), on top of what others recorded meanwhile.

        A released one stays released. One without any trace is claimed again: the folder was replaced by an older
        copy meanwhile.
        """
        path = self._path(order)
        with self._locked():
            known = self._read(path)
            if known is not None and known.order_id == order.order_id:
                order = order.following(known)
                write_durably(path, _to_bytes(order))
            elif known is None and not self._record(order).exists():
                write_once(path, _to_bytes(order))
                sync_folder(path.parent)
        return order

    def mend(self, order: Order) -> None:
        """Write the claim of an order anew where its file is damaged."""
        with self._locked():
            try:
                self._read(self._path(order))
            except DamagedIntentError:
                if not self._record(order).exists():
                    write_durably(self._path(order), _to_bytes(order))

    def release(self, order: Order) -> None:
        """Give the name back; the file is kept among the released ones as a record. Calm when it is free already."""
        with self._locked():
            if not self._holds(order):
                return
            path = self._path(order)
            with suppress(OSError):  # a full disk: the name is given back all the same, the record is older
                write_durably(path, _to_bytes(order))
            os.replace(path, self._record(order))
            sync_folder(path.parent)
            self._forget_old()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self._make_folders()
            with file_lock(self._live / ".lock", within_s=_LOCKED_WITHIN_S):
                yield
        except OSError as exc:
            raise JournalError(
                f"The intent files in {self._live} cannot be changed ({exc.strerror or exc}).",
                hint="Make room there or make it writable; %cluster_recover then finds out what is there.",
            ) from exc

    def _make_folders(self) -> None:
        make_private(self._live)
        make_private(self._released)

    def _holds(self, order: Order) -> bool:
        held = self._read(self._path(order))
        return held is not None and held.order_id == order.order_id

    def holder(self, order: Order) -> Order | None:
        """The order that holds the claim `order` would need, if any."""
        return self._read(self._path(order))

    def released(self, order: Order) -> Order | None:
        """The record of an order that has given its name back; it may be older than what became of it."""
        return self._read(self._record(order))

    def all(self) -> Iterator[Order]:
        """Every claim that is held now."""
        for path in self._files():
            order = self._read(path)
            if order is not None:
                yield order

    def _files(self) -> list[Path]:
        try:
            names = sorted(os.listdir(self._live))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as exc:
            raise self._unreadable(self._live, exc) from exc
        return [self._live / name for name in names if name.endswith(".json")]

    def _record(self, order: Order) -> Path:
        return self._released / f"{order.order_id}.json"

    def _path(self, order: Order) -> Path:
        return self._live / f"{claim_key(order)}.json"

    def _read(self, path: Path) -> Order | None:
        try:
            return Order.model_validate_json(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as exc:
            raise self._unreadable(path, exc) from exc
        except ValidationError as exc:
            raise DamagedIntentError(
                f"The intent file {path} cannot be understood; what it ordered may exist.",
                hint="Look at the provider's own list, then move the file away.",
            ) from exc

    def _unreadable(self, path: Path, exc: OSError) -> JournalError:
        return JournalError(
            f"The intents in {path} cannot be read ({exc.strerror}); what they ordered may exist.",
            hint="Make it readable, then run it again.",
        )

    def _forget_old(self) -> None:
        """Remove old records, and what killed processes left half done; others may be quicker."""
        with suppress(OSError):
            files = sorted(self._released.glob("*.json"), key=lambda file: file.stat().st_mtime)
            for file in files[:-_KEPT_RELEASED]:
                file.unlink()
        for scratch in self._live.glob(".*.json.*"):
            with suppress(OSError):
                if time.time() - scratch.stat().st_mtime > _SCRATCH_FOR_S:
                    scratch.unlink()


def _to_bytes(order: Order) -> bytes:
    return order.model_dump_json(indent=1).encode()
