"""Every fault of the sandbox against every kind of call of each service, and what the user would be told.

``python -m tests.faults.table`` prints how often each outcome came. A case is one process-wide service with one fault
set, one verb, and then what the sandbox's books say: nothing may be ordered twice, and every failure is one of ours.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.errors import GpuClustersError
from jupyter_gpu_clusters.core.models import Cluster, Workload
from jupyter_gpu_clusters.core.retry import Limits
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from jupyter_gpu_clusters.providers.lium import renting
from jupyter_gpu_clusters.sandbox import Sandbox
from jupyter_gpu_clusters.sandbox.services import SERVICES

STATUSES = (400, 401, 402, 403, 404, 408, 409, 412, 422, 429, 500, 502, 503, 504)
AFTER_WORK = (408, 500, 502, 503, 504)
"""What may be said although the work was done; the contracts call the others certain."""
DELIVERIES: tuple[dict[str, Any], ...] = (
    {"kind": "drop_before"},
    {"kind": "drop_after"},
    {"kind": "cut_body"},
    {"kind": "truncated"},
    {"kind": "empty"},
    {"kind": "html", "status": 200},
    {"kind": "html", "status": 403},
    {"kind": "html", "status": 502},
    {"kind": "redirect"},
    {"kind": "redirect", "to": "http://127.0.0.1:9"},
    {"kind": "retry_after", "seconds": 0.01},
    {"kind": "commit_late", "seconds": 60},
)
SPECS: dict[str, dict[str, Any]] = {
    "e2e": {"sku": "SX.8xH100-224.1800GB", "nodes": 2, "image": "ubuntu-slurm", "security_group": "ssh-only"},
    "lium": {"gpu": "H100", "nodes": 2, "user_public_key": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample me"]},
    "runai": {"project": "vision", "nodes": 2, "gpus_per_node": 1, "image": "x", "command": ["true"]},
}
SPECS["e2e"]["ssh_keys"] = ["spare"]
IMPATIENT = Limits(
    connect_s=2, read_s=2, write_s=2, pool_s=2, call_s=5, tries=2, first_pause_s=0.001, max_pause_s=0.001
)


@dataclass(frozen=True)
class Case:
    """One fault in the way of one verb."""

    service: str
    verb: str
    fault: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.service} {self.verb} {' '.join(f'{k}={v}' for k, v in self.fault.items())}"


@dataclass(frozen=True)
class Outcome:
    """What came of it: our class of error or "fine", whether it is certain, and how many orders the books show."""

    told: str
    is_definite: bool
    made: int


def cases() -> Iterator[Case]:
    """All of them."""
    sandbox = Sandbox(speed=0)
    for kind in SERVICES:
        shapes = sandbox.shapes(kind.name)
        refusals = [{"kind": "status", "status": s, "shape": shape} for shape in shapes for s in STATUSES]
        lost = [{"kind": "status_after", "status": s, "shape": shapes[0]} for s in AFTER_WORK]
        write = "submit" if kind.name == "runai" else "create"
        for fault in (*refusals, *lost, *DELIVERIES):
            yield Case(kind.name, write, fault)
        for fault in (*refusals, *DELIVERIES):
            yield Case(kind.name, "list", fault)


async def _order(service: Service, case: Case, sandbox: Sandbox) -> Cluster | Workload:
    if case.verb == "submit":
        await service.refresh(["runai"])
        cluster = await service.find_cluster("gpu-east")
        spec = build_spec(service.workload_model("runai"), SPECS["runai"])
        plan = await service.plan_submit(cluster, "case", spec)
        sandbox.fault(service=case.service, action="submit", times=None, **case.fault)
        return (await service.submit(plan, consent=consent_to(plan))).workload
    spec = build_spec(service.spec_model(case.service), SPECS[case.service])
    plan = await service.plan_create(case.service, "case", spec)
    sandbox.fault(service=case.service, action="create", times=None, **case.fault)
    return (await service.create(plan, consent=consent_to(plan))).cluster


async def _list(service: Service, case: Case, sandbox: Sandbox) -> object:
    sandbox.fault(service=case.service, action="list", times=None, **case.fault)
    state = await service.refresh([case.service])
    view = next(one for one in state.accounts if one.account == case.service)
    if view.error is not None:
        raise GpuClustersError(view.error.code)
    return state


async def run(case: Case) -> Outcome:
    """Carry one case out against a sandbox of its own, in folders of its own.

    Raises
    ------
    Exception : anything but one of our errors; it would reach the user as a stack.
    """
    verbs: dict[str, Callable[[Service, Case, Sandbox], Awaitable[object]]] = {
        "create": _order,
        "submit": _order,
        "list": _list,
    }
    kind = next(one for one in SERVICES if one.name == case.service)
    with tempfile.TemporaryDirectory() as folder, Sandbox(speed=0, services=[kind]).serve() as sandbox:
        folders = dict.fromkeys(("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR"), folder)
        with mock.patch.dict(os.environ, {**sandbox.variables(), **folders}):
            service = Service.open()
            try:
                await verbs[case.verb](service, case, sandbox)
                told, is_definite = "fine", True
            except GpuClustersError as exc:
                told = exc.message if case.verb == "list" else type(exc).__name__
                is_definite = exc.is_definite
            finally:
                await service.aclose()
        entries = sandbox.books()["services"][case.service]["entries"]
        made = [e for e in entries if e["action"] in ("create", "submit") and e.get("made")]
    return Outcome(told, is_definite, len(made))


def impatient(**given: Any) -> Limits:
    """The usual limits of a client are shorter here; what a call asks for itself stays."""
    return Limits(**given) if given else IMPATIENT


@contextmanager
def quick() -> Iterator[None]:
    """Without the waits that people need and tests do not."""
    with (
        mock.patch.multiple(renting, _RESEND_AFTER_S=0.0, _LOOK_EVERY_S=0.0),
        mock.patch("jupyter_gpu_clusters.core.http.Limits", impatient),
    ):
        yield


def is_right(case: Case, outcome: Outcome) -> bool:
    """Whether the books agree: at most one order, exactly one that is told as fine, none that is certainly refused."""
    if case.verb == "list":
        return outcome.made == 0
    if outcome.told == "fine":
        return outcome.made == 1
    return outcome.made == 0 if outcome.is_definite else outcome.made <= 1


async def main() -> None:
    """Run all cases and print the table."""
    counted: Counter[tuple[str, str, str]] = Counter()
    wrong = []
    with quick():
        for case in cases():
            outcome = await run(case)
            counted[case.service, case.verb, outcome.told] += 1
            if not is_right(case, outcome):
                wrong.append(f"{case}: {outcome}")
    rows = [f"{service:8} {verb:7} {told:24} {count}" for (service, verb, told), count in sorted(counted.items())]
    total = f"{sum(counted.values())} cases, 0 stacks, at odds with the books: {len(wrong)}"
    sys.stdout.write("\n".join([*rows, total, *wrong, ""]))


if __name__ == "__main__":
    asyncio.run(main())
