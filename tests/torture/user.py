"""A user with kernels, one after the other, and a Jupyter server beside them; every file of theirs is below one folder.

Everything logs at DEBUG into files there. What the cells show is kept in notebooks there, without their sources.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.kernel import Done, Kernel
from tests.until import until

_LOGGING = """
import logging, sys
logging.basicConfig(filename={path!r}, level=1, force=True)
%load_ext jupyter_gpu_clusters
"""
_SERVER_CONFIG = """
import logging
c.EventLogger.handlers = [logging.FileHandler({path!r})]
"""


class User:
    """Runs cells in the current kernel."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._notebook = folder / "notebooks"
        self._notebook.mkdir()
        self._shown: list[Done] = []
        self._born()

    def _born(self) -> None:
        number = len(list(self._notebook.iterdir()))
        self._file = self._notebook / f"{number}.ipynb"
        self._file.touch()
        self._shown = []
        self._kernel = Kernel(env=os.environ, folder=self._folder)
        self.run(_LOGGING.format(path=str(self._folder / f"kernel{number}.log"))).require()

    def run(self, code: str) -> Done:
        """One cell; what it showed is saved."""
        done = self._kernel.run(code)
        self._shown.append(done)
        self._file.write_text(json.dumps([vars(one) for one in self._shown], default=str, ensure_ascii=False))
        return done

    def restart(self) -> None:
        """The kernel is killed, another one begins."""
        assert self._kernel.manager.provisioner is not None
        os.kill(self._kernel.manager.provisioner.process.pid, signal.SIGKILL)  # type: ignore[attr-defined]
        self.close()
        self._born()

    def close(self) -> None:
        """End the kernel."""
        self._kernel.close()


@contextmanager
def jupyter_server(folder: Path, config: Path) -> Iterator[Path]:
    """A server at DEBUG that watches the journal; yields the file of its events."""
    events, log = folder / "events.jsonl", folder / "server.log"
    (config / "jupyter_server_config.py").write_text(_SERVER_CONFIG.format(path=str(events)))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "jupyter_server", "--no-browser", "--ip=127.0.0.1", f"--port={port}", "--debug"]
    options = [f"--ServerApp.root_dir={folder}", "--ServerApp.jpserver_extensions={'jupyter_gpu_clusters': True}"]
    with log.open("wb") as sink:
        server = subprocess.Popen([*command, *options, "--allow-root"], stdout=sink, stderr=sink, cwd=folder)
    try:
        until(lambda: events.exists() and events.stat().st_size > 0, within_s=60)
        yield events
    finally:
        server.terminate()
        server.wait(timeout=30)
