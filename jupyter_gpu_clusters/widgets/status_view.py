"""The live card of a cluster or a workload: a display refreshed in place by a background task.

The card is plain HTML, so it stays readable when the notebook is opened without its kernel. Its buttons
are a widget of their own below it, shown only where somebody can press them.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import uuid
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future
from contextlib import aclosing
from typing import Any, cast

import ipywidgets
from anyio import CancelScope, to_thread
from IPython import get_ipython

from ..core import bridge
from ..core.errors import GpuClustersError
from ..core.models import AccountView, Cluster, ClusterPhase, State, Workload, WorkloadPhase, utc_now
from .actions import Actions, jobs_on
from .card import Sight, card_html, card_text
from .displaying import show
from .html import fault_text
from .output import last_output
from .stale import without_dead_buttons

Publish = Callable[[str, str], None]

MIN_GAP_S = 0.5
"""No card is drawn more often than this."""

LOOK_S = 5.0
"""The age of what is shown is brought up to date this often while nothing changes."""

MOST_LIVE = 20
_RETRY_S = 2.0
_LONGEST_RETRY_S = 60.0
_END_WITHIN_S = 5.0
_TAIL_LINES = 12
_TAIL_CHARACTERS = 4000


class LiveCard:
    """Draws one thing again and again until it has come to its end.

    Parameters
    ----------
    thing : as last seen.
    publish : takes the card as HTML and as text; called on threads of our own, never twice at once.
    on_change : called with every newly seen state, on the background loop.
    """

    def __init__(
        self,
        thing: Cluster | Workload,
        publish: Publish,
        on_change: Callable[[Cluster | Workload], None] = lambda _: None,
    ) -> None:
        self.thing = thing
        self._publish = publish
        self._on_change = on_change
        self._service = bridge.service()
        self._problem: str | None = None
        self._is_orphan = False
        self._state = State()
        self._tail = ""
        self._following: Future[None] | None = None

    @property
    def is_over(self) -> bool:
        """Whether the thing will never change again."""
        if isinstance(self.thing, Cluster):
            return self.thing.phase is ClusterPhase.DELETED
        return self.thing.phase.is_final

    def bundle(self, *, is_stopped: bool = False) -> dict[str, str]:
        """The card as it is now, by MIME type."""
        sight = self._sight(is_stopped)
        return {"text/html": card_html(self.thing, sight), "text/plain": card_text(self.thing, sight)}

    def start(self) -> Future[None]:
        """Begin to follow; of more than 20 live cards the oldest ends. The future is done after the last drawing."""
        self._following = bridge.start(self._follow)
        self._following.add_done_callback(self._show_fault)
        _make_room_for(self)
        return self._following

    @property
    def is_followed(self) -> bool:
        """Whether it will be drawn again."""
        return self._following is not None and not self._following.done()

    def stop(self) -> None:
        """End following; the card says so."""
        if self._following is not None:
            self._following.cancel()

    async def look(self) -> None:
        """Learn when the account was last looked at and whether that failed; at a failed end fetch the last output."""
        try:
            self._state = await self._service.state()
            view = self._view()
            self._problem = view.error.message if view is not None and view.error is not None else None
            self._note_orphan()
            if isinstance(self.thing, Workload) and self.thing.phase is WorkloadPhase.FAILED:
                self._tail = self._tail or await self._last_output(self.thing)
        except GpuClustersError as exc:
            self._problem = exc.message

    def _note_orphan(self) -> None:
        """A workload whose cluster is gone has ended, and nobody saw how."""
        if isinstance(self.thing, Cluster) or self.thing.phase.is_final:
            return
        here = (self.thing.account, self.thing.cluster_id)
        if all((cluster.account, cluster.cluster_id) != here for cluster in self._state.clusters):
            reason = "Its cluster is gone; how it ended was not seen."
            self.thing = self.thing.model_copy(update={"phase": WorkloadPhase.UNKNOWN, "reason": reason})
            self._is_orphan = True

    async def _follow(self) -> None:
        pause_s = _RETRY_S
        try:
            while True:
                try:
                    return await self._until_end()
                except GpuClustersError as exc:
                    self._problem = exc.message
                    await self._draw()
                    await asyncio.sleep(pause_s)
                    pause_s = min(2 * pause_s, _LONGEST_RETRY_S)
        except asyncio.CancelledError:
            self._draw_stopped()
            raise

    async def _until_end(self) -> None:
        changed = asyncio.Event()
        watching = asyncio.create_task(self._watch(changed))
        watching.add_done_callback(lambda _: changed.set())
        try:
            while True:
                changed.clear()
                if is_done := watching.done():
                    watching.result()
                await self.look()
                await self._draw()
                if is_done or self._is_orphan:
                    return
                await asyncio.sleep(MIN_GAP_S)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), LOOK_S - MIN_GAP_S)
        finally:
            watching.cancel()
            with CancelScope(shield=True):
                await asyncio.wait([watching], timeout=_END_WITHIN_S)

    async def _watch(self, changed: asyncio.Event) -> None:
        if isinstance(self.thing, Cluster):
            source: Any = self._service.watch_cluster(self.thing)
        else:
            source = self._service.watch_workload(self.thing)
        async with aclosing(cast("AsyncGenerator[Cluster | Workload]", source)) as things:
            async for thing in things:
                self.thing = thing
                self._on_change(thing)
                changed.set()

    async def _last_output(self, workload: Workload) -> str:
        ranks = None if workload.first_failed_rank is None else [workload.first_failed_rank]
        chunks = await last_output(self._service, workload, lines=_TAIL_LINES, ranks=ranks)
        return "".join(chunk.text for chunk in chunks)[-_TAIL_CHARACTERS:]

    def _view(self) -> AccountView | None:
        return next((view for view in self._state.accounts if view.account == self.thing.account), None)

    def _sight(self, is_stopped: bool) -> Sight:
        view = self._view()
        return Sight(
            observed_at=view.observed_at if view is not None else None,
            now=utc_now(),
            problem=self._problem,
            is_live=not self.is_over,
            is_stopped=is_stopped or self._is_orphan,
            tail=self._tail,
            jobs=tuple(w.name for w in jobs_on(self._state, self.thing)) if isinstance(self.thing, Cluster) else (),
        )

    async def _draw(self) -> None:
        bundle = self.bundle()
        await to_thread.run_sync(self._publish, bundle["text/html"], bundle["text/plain"])

    def _draw_stopped(self) -> None:
        bundle = self.bundle(is_stopped=True)
        self._publish(bundle["text/html"], bundle["text/plain"])

    def _show_fault(self, future: Future[None]) -> None:
        """A fault of ours must not leave a card that looks alive."""
        if not future.cancelled() and (fault := future.exception()) is not None:
            self._problem = fault_text(fault)
            self._draw_stopped()


_live: list[LiveCard] = []
_live_lock = threading.Lock()


def _make_room_for(card: LiveCard) -> None:
    with _live_lock:
        _live[:] = [*(other for other in _live if other.is_followed), card]
        surplus = _live[:-MOST_LIVE]
    for other in surplus:
        other.stop()


def show_card(thing: Cluster | Workload) -> None:
    """Display the live card of a cluster or workload, and its buttons where somebody can press them.

    Returns at once; the card follows in the background until the thing has come to its end. In a terminal
    the card is printed once.
    """
    kernel = getattr(get_ipython(), "kernel", None)
    display_id = uuid.uuid4().hex

    def publish(html: str, text: str) -> None:
        show({"text/html": without_dead_buttons(html), "text/plain": text}, display_id, is_update=True)

    actions = Actions(thing)
    card = LiveCard(thing, publish, actions.update)
    bridge.call(card.look)
    if kernel is None:
        sys.stdout.write(f"{card.bundle()['text/plain']}\n")
        return
    bundle = card.bundle()
    show({**bundle, "text/html": without_dead_buttons(bundle["text/html"])}, display_id)
    if card.is_over:
        return
    if _somebody_can_press(kernel):
        show(actions.bundle())
    card.start()


def card_box(thing: Cluster | Workload) -> Any:
    """The live card and its buttons as one widget, for use inside a form."""
    shown = ipywidgets.HTML()
    actions = Actions(thing)

    def publish(html: str, _: str) -> None:
        shown.value = html

    card = LiveCard(thing, publish, actions.update)
    shown.value = card.bundle()["text/html"]
    card.start()
    return ipywidgets.VBox([shown, actions.widget])


def _somebody_can_press(kernel: Any) -> bool:
    """Whether the cell runs for a person: a headless run (nbclient, papermill) says that it answers no questions."""
    return bool(getattr(kernel, "_allow_stdin", False))
