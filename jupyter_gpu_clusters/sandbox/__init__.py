"""Simulated services over real HTTP, for tests, examples and people without an account.

``python -m jupyter_gpu_clusters.sandbox`` serves them on one loopback port; `Sandbox` does the same inside a test.
Nothing here imports a provider of this package: services are written from the contracts alone, so that a client and
its sandbox can disagree and be found out.

How it works
------------
A request becomes a `Call`; the service turns it into an `Answer` in one step, without waiting, under one lock
(``exchange.py``). Faults stand around that step: some keep the work from being done, some edit the answer
(``transforms.py``), some spoil its delivery (``delivery.py``). Every answer that a fault may have spoilt carries the
header ``X-Sandbox-Fault``. Nothing runs in the background: states follow from the `Clock` whenever somebody looks.

How a service is added
----------------------
1. Write ``sandbox/NAME/`` (or ``NAME.py``) with a subclass of `Service` and put the class into ``services.py``.
2. Set ``name``, ``prefix`` (for example ``/lium/api``), ``choices`` (what the contract leaves open, one `Choice` each,
   keys beginning with ``NAME.``) and ``shapes`` (every error body the contract knows: name -> function from `Refused`).
3. ``routes()`` returns `Route` objects: method, template below the prefix, handler, and an action. ``create``,
   ``submit``, ``delete`` and ``change`` are booked; ``list`` marks the listing of clusters, pods or workloads.
4. A handler takes the `Call` and returns an `Answer` (``Answer.json(...)``) or raises `Refused`; ``error()`` gives a
   refusal its shape. ``call.parse(Model)`` validates the body strictly with a pydantic model (``extra="forbid"``) and
   raises `Refused` 422 with all problems, which ``error()`` may turn into the service's own status and shape. Ids of
   what was created go into ``call.made`` (members in rank order), of what was removed into ``call.ended``, anything
   else worth keeping into ``call.note``.
5. ``label(call)`` names the credential without showing it, ``admit(call, route)`` checks it; ``variables()`` and
   ``account()`` say how clients are pointed here; ``secrets()`` lists what must never be recorded.
6. States come from `Lifecycle` (steps planned ahead, read at ``world.clock.now()``); ids and chance from
   ``world.uuid()`` and ``world.random``; times on the wire from ``world.clock.shown(moment)``; real SSH addresses from
   ``world.addresses()``. ``alive()`` and ``bill()`` are the service's pages of the books.
7. ``setup(what)`` is for tests that need another world (balance, keys, a node that dies); ``expect(call, route)`` for
   services that must know of work whose commit comes late; ``extra_routes()`` for WebSockets.
8. Test it with the fixtures of ``tests/contracts/fixtures.py``: a real port, a clock that stands still, and every
   request and answer held to ``tests/contracts/NAME.openapi.yaml``.
"""

from .choices import Choice
from .clock import Clock
from .faults import Fault
from .frame import Sandbox
from .lifecycle import Lifecycle
from .scenarios import SCENARIOS
from .service import Answer, Call, Refused, Route, Service
from .world import World

__all__ = [
    "SCENARIOS",
    "Answer",
    "Call",
    "Choice",
    "Clock",
    "Fault",
    "Lifecycle",
    "Refused",
    "Route",
    "Sandbox",
    "Service",
    "World",
]
