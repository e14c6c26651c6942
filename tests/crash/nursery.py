"""A process that has imported everything and forks real kernels on demand; run as ``python -m tests.crash.nursery``.

A line on its input is one kernel: a JSON object with ``connection``, ``folder``, ``log`` and ``env``; the answer is a
line with its process id. A kernel made so is what ``python -m ipykernel_launcher`` would have become, a second sooner.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
from importlib import import_module
from typing import Any, NoReturn

from ipykernel.kernelapp import IPKernelApp

from jupyter_gpu_clusters.core import registry

_PROVIDERS = ("e2e", "lium", "runai", "local")
_LATE = (
    "IPython.core.completerlib",
    "IPython.core.magics.extension",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "anyio._backends._asyncio",
    "httpcore",
    "ipykernel.debugger",
    "ipykernel.zmqshell",
    "jupyter_gpu_clusters.core.service",
    "jupyter_gpu_clusters.magics.clusters",
    "jupyter_gpu_clusters.magics.workloads",
    "psutil",
    "pydoc",
    "tests.crash.victim",
    *(f"jupyter_gpu_clusters.providers.{name}.found" for name in _PROVIDERS[:3]),
)
"""What a kernel imports at its start or at the first magic."""


def main() -> None:
    """Fork until the input ends, also because who asked is dead; no kernel outlives that."""
    for module in _LATE:
        import_module(module)
    for provider in _PROVIDERS:
        registry.load(provider)
    gc.collect()
    gc.freeze()
    assert threading.active_count() == 1, threading.enumerate()
    alive: list[int] = []
    for line in sys.stdin:
        alive = [one for one in alive if os.waitpid(one, os.WNOHANG) == (0, 0)]
        pid = os.fork()
        if pid == 0:
            _become_kernel(json.loads(line))
        alive.append(pid)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
    for pid in alive:
        os.kill(pid, signal.SIGKILL)


def _become_kernel(wanted: dict[str, Any]) -> NoReturn:
    os.setsid()
    log = os.open(wanted["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    empty = os.open(os.devnull, os.O_RDONLY)
    for target, source in enumerate((empty, log, log)):
        os.dup2(source, target)
    os.environ.clear()
    os.environ.update(wanted["env"])
    os.chdir(wanted["folder"])
    IPKernelApp.launch_instance(argv=["-f", wanted["connection"]])
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
