"""One simulated world: a cloud, two journals, three hosts, four kernels; and what may happen in it, step by step."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import ExitStack, aclosing, suppress
from contextvars import copy_context
from datetime import datetime
from pathlib import Path
from typing import Any

from jupyter_gpu_clusters.core.consent import Consent
from jupyter_gpu_clusters.core.errors import GpuClustersError
from jupyter_gpu_clusters.core.journal import Journal
from jupyter_gpu_clusters.core.models import Cluster, ClusterPhase, Order, Plan, State, Verb
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.state import read_state

from .checks import Checks
from .clock import VirtualLoop, run_now, wall_time
from .cloud import FOREIGN, Cloud, Fate, Fault
from .evidence import Evidence
from .patches import simulated
from .process import CURRENT, Host, Process
from .provider import SimAccounts, SimProvider, SimSpec
from .settling import settle

KERNELS = {"A1": ("A", "J1"), "A2": ("A", "J1"), "B1": ("B", "J1"), "C1": ("C", "J2")}
"""Kernel -> its host and its journal: two on one host, a second host on the same folder, another machine."""

NAMES = ("demo", "train", "x")
JOURNALS = ("J1", "J2")


_WATCHED_FOR_S = 40.0


class Violation(AssertionError):
    """The core broke a promise."""


class World:
    """Every step leaves the world in order or raises `Violation`."""

    def __init__(self) -> None:
        self.loop = VirtualLoop()
        self.folder = Path(tempfile.mkdtemp(prefix="simulation-", dir=_fast_folder()))
        self.cloud = Cloud(self.loop, on_change=self._books_changed)
        self.evidence = Evidence()
        self.hosts = {name: Host(name) for name in "ABC"}
        self.observers = {name: Journal(self.folder / name) for name in JOURNALS}
        self.violations: dict[str, float] = {}
        self.counts: Counter[str] = Counter()
        self.consents = 0
        self.closed_by_user: set[str] = set()
        self.unwanted: set[str] = set()
        self.wished: dict[str, set[str]] = {name: set() for name in JOURNALS}
        self._fates: dict[int, tuple[Plan, Fate]] = {}
        self._everybody: list[Process] = []
        self._cells: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in KERNELS}
        self._dead: set[str] = set()
        self._started = 0
        self.checks = Checks(self)
        self._stack = ExitStack()
        self._stack.enter_context(simulated(self))
        self.kernels = {name: self._start(name) for name in KERNELS}

    # Steps

    def create(
        self,
        kernel: str,
        name: str,
        nodes: int,
        fate: Fate,
        then: float,
        new: bool = False,
        max_hours: float | None = None,
    ) -> None:
        """The user runs a cell that creates a cluster and says yes to its price."""
        self._cells[kernel].setdefault(name, {"name": name, "nodes": nodes})

        async def work(process: Process) -> None:
            service = process.service
            plan = await service.plan_create("sim", name, SimSpec(nodes=nodes), max_hours=max_hours)
            self.consents += 1
            self.counts[f"fault {fate}"] += fate != "made"
            self._fates[id(plan)] = plan, fate
            created = await service.create(plan, consent=Consent(plan, self.loop.time()), new=new)
            self.checks.told(created.cluster, process.journal)

        self._run(kernel, work, then)

    def run_all_again(self, kernel: str, then: float) -> None:
        """The user runs all cells of a notebook again; every cell that creates asks for consent again."""
        for cell in self._cells[kernel].values():
            self.create(kernel, **cell, fate="made", then=0.15)
        self._pass(then)

    def look(self, kernel: str, then: float) -> None:
        """The user lists what there is."""
        self._run(kernel, lambda process: self._refresh(process), then)

    async def _refresh(self, process: Process) -> None:
        self.checks.state(await process.service.refresh(), process.journal)

    def recover(self, kernel: str, then: float) -> None:
        """The user asks what became of things that are not certain."""

        async def work(process: Process) -> None:
            await process.service.recover()

        self._run(kernel, work, then)

    def watch(self, kernel: str, then: float) -> None:
        """A card or the sidebar shows what happens for a while; the kernel may come to hold the lease."""

        async def work(process: Process) -> None:
            process.service.note_attention()
            with suppress(TimeoutError):
                async with asyncio.timeout(_WATCHED_FOR_S), aclosing(process.service.watch()) as states:
                    async for state in states:
                        self.checks.state(state, process.journal)

        self._run(kernel, work, then)

    def delete(self, kernel: str, which: int, then: float) -> None:
        """The user deletes one of the clusters that are said to be created from here."""
        journal = KERNELS[kernel][1]
        ours = self._ours(journal)
        if not ours:
            return
        cluster = ours[which % len(ours)]
        self.wished[journal].add(cluster.cluster_id)

        async def work(process: Process) -> None:
            deleted = await process.service.delete(cluster)
            self.checks.deleted(deleted, process.journal)

        self._run(kernel, work, then)

    def _ours(self, journal: str) -> list[Cluster]:
        return [one for one in self.checks.known(journal) if one.created_here and one.phase is not ClusterPhase.DELETED]

    def has_ours(self) -> bool:
        """Whether there is something that a user could delete."""
        return any(self._ours(journal) for journal in JOURNALS)

    def has_open(self) -> bool:
        """Whether there is something that a user could decide."""
        return any(order.state.is_open for journal in JOURNALS for order in self.checks.orders(journal))

    def close_order(self, kernel: str, which: int, then: float) -> None:
        """The user states that nothing came of an order that is not certain; this may be wrong."""
        order = self._open_order(kernel, which)
        if order is None:
            return
        self.closed_by_user.add(order.order_id)

        async def work(process: Process) -> None:
            await process.service.close_order(order.order_id, "I looked")

        self._run(kernel, work, then)

    def delete_on_sight(self, kernel: str, which: int, then: float) -> None:
        """The user wants what an uncertain order made deleted as soon as it shows."""
        order = self._open_order(kernel, which)
        if order is None or order.verb is not Verb.CREATE:
            return
        self.unwanted.add(order.order_id)

        async def work(process: Process) -> None:
            await process.service.delete_on_sight(order.order_id)

        self._run(kernel, work, then)

    def adopt(self, kernel: str, which: int, then: float) -> None:
        """The user, who knows better, says which cluster an uncertain order made."""
        order = self._open_order(kernel, which)
        made = self.cloud.made_by(order.order_id) if order is not None else []
        if order is None or not made:
            return

        async def work(process: Process) -> None:
            await process.service.adopt(order.order_id, made[0].cluster_id)

        self._run(kernel, work, then)

    def _open_order(self, kernel: str, which: int) -> Order | None:
        orders = [order for order in self.checks.orders(KERNELS[kernel][1]) if order.state.is_open]
        return orders[which % len(orders)] if orders else None

    def interrupt(self, kernel: str, then: float) -> None:
        """Kernel > Interrupt: ends the wait, not the request."""
        for task in self.kernels[kernel].commands:
            task.cancel()
        self._pass(then)

    def kill(self, kernel: str, fuse: int, then: float) -> None:
        """SIGKILL after so many awaits and disk writes; another kernel is started in its place once it is dead."""
        process = self.kernels[kernel]
        process.fuse = fuse
        if fuse == 0:
            process.kill()
        self._pass(then)

    def restart(self, kernel: str, then: float) -> None:
        """Kernel > Restart: what is being sent gets a moment for its answer, then the process ends."""

        async def work(process: Process) -> None:
            await process.service.aclose()
            process.kill()
            await process.gate()

        self._run(kernel, work, then)

    def suspend(self, kernel: str, then: float) -> None:
        """SIGSTOP, or a laptop that sleeps."""
        self.kernels[kernel].is_suspended = True
        self._pass(then)

    def go_on(self, kernel: str, then: float) -> None:
        """SIGCONT."""
        self.kernels[kernel].go_on()
        self._pass(then)

    def set_clocks(self, a: float, b: float, c: float) -> None:
        """The wall clocks of the hosts are so many hours ahead."""
        for host, hours in zip(self.hosts.values(), (a, b, c), strict=True):
            host.offset_s = hours * 3600.0

    def fault(self, fault: Fault) -> None:
        """From now on the cloud misleads in one more way."""
        self.counts[f"fault {fault}"] += 1
        self.cloud.faults.add(fault)

    def cease(self, fault: Fault) -> None:
        """One of the faults ceases."""
        self.cloud.faults.discard(fault)

    def hide(self, which: int) -> None:
        """From now on no listing shows one of the clusters."""
        ids = list(self.cloud.books)
        if ids:
            self.cloud.hidden.add(ids[which % len(ids)])

    def heal(self) -> None:
        """All faults cease."""
        self.cloud.heal()

    def foreign_create(self, name: str, form: str) -> None:
        """Somebody else with the account makes a cluster, by any name."""
        self.cloud.add(FOREIGN, "", form.format(name=name), 2)
        self._pass(0.0)

    def foreign_delete(self, which: int) -> None:
        """Somebody deletes any cluster in the console."""
        billing = self.cloud.billing()
        if billing:
            self.cloud.end(billing[which % len(billing)])
        self._pass(0.0)

    def advance(self, seconds: float) -> None:
        """Nothing is done for a while."""
        self._pass(seconds)

    def settle(self) -> None:
        """Faults cease and everybody is alive: now everything must become certain."""
        settle(self)

    # Running

    def _run(self, kernel: str, work: Callable[[Process], Coroutine[Any, Any, None]], then: float) -> None:
        process = self.kernels[kernel]

        async def quietly() -> None:
            try:
                await work(process)
            except GpuClustersError as exc:
                self.counts[type(exc).__name__] += 1

        context = copy_context()
        context.run(CURRENT.set, process)
        task = self.loop.create_task(quietly(), context=context)
        process.commands.append(task)
        task.add_done_callback(process.commands.remove)
        task.add_done_callback(self._note_end)
        self._pass(then)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        exc = None if task.cancelled() else task.exception()
        if exc is not None and not self.checks.is_over:
            self.violate(f"a command crashed: {exc!r}")

    def _pass(self, seconds: float) -> None:
        self.loop.run_for(seconds)
        for name, process in self.kernels.items():
            if process.is_dead:
                self.kernels[name] = self._start(name)
        self.look_closely()
        for journal in self.checks.changed():
            self.checks.state(self.state_of(journal), journal)
        self.report()

    def violate(self, text: str) -> None:
        """Note a broken promise; `report` raises it."""
        self.violations.setdefault(text, self.loop.time())

    def report(self) -> None:
        """Raise what was found, if anything."""
        if self.violations:
            raise Violation("\n".join(f"{when:.1f} s: {text}" for text, when in self.violations.items()))

    def _start(self, name: str) -> Process:
        self._started += 1
        host, journal = KERNELS[name]
        provider = SimProvider(self, journal)
        opened = Journal(self.folder / journal)
        process = Process(
            f"{name}.{self._started}", self.hosts[host], journal, opened, Service(opened, SimAccounts(provider))
        )
        process.on_death = lambda: self._dead.add(process.sender)
        self._everybody.append(process)
        return process

    def state_of(self, journal: str) -> State:
        """What any kernel on a journal would show now."""
        provider = SimProvider(self, journal)
        return run_now(read_state(self.observers[journal], SimAccounts(provider)))

    def is_dead(self, sender: str) -> bool:
        """Whether a process has certainly ended, as a process on the same host can find out."""
        process = CURRENT.get()
        return process is not None and sender.partition("|")[0] == process.host.name and sender in self._dead

    def look_closely(self) -> None:
        """Compare what everybody says with the books."""
        self.checks.now()

    def has_ended(self, moment: datetime, *, for_all: bool) -> bool:
        """Whether a moment is over by the clock of some host, or of all of them."""
        over = (wall_time(self.loop.time(), host.offset_s) >= moment for host in self.hosts.values())
        return all(over) if for_all else any(over)

    def fate_of(self, plan: Plan) -> Fate:
        """What is to become of the request of a plan."""
        return self._fates[id(plan)][1] if id(plan) in self._fates else "made"

    def _books_changed(self) -> None:
        self.checks.note_write(None)
        self.look_closely()

    def close(self) -> None:
        """Take the world down."""
        self.checks.is_over = True
        self.loop.set_exception_handler(lambda *_: None)
        for process in self._everybody:
            process.end_of_world()
        while tasks := asyncio.all_tasks(self.loop):
            for task in tasks:
                task.cancel()
            self.loop.run_until_complete(asyncio.wait(tasks))
        self._stack.close()
        for journal in (*self.observers.values(), *(process.opened for process in self._everybody)):
            journal.close()
        self.loop.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _fast_folder() -> str | None:
    """A folder in memory, where the system has one."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
