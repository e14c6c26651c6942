"""One process of a workload."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import signal
import subprocess
from collections.abc import Iterable

from .loop import Loop
from .messages import Json
from .processes import die_with_parent, start_of
from .program import Program
from .rank_log import RankLog

RESET_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD)
"""Whatever a supervisor or its caller does about them, no rank inherits it."""


class Rank:
    """A rank of this node: its process, and its output on the way into its log."""

    READ_BYTES = 1024 * 1024

    def __init__(self, number: int, local: int, log: RankLog, loop: Loop) -> None:
        self.number = number
        self.local = local
        self.log = log
        self.pid: int | None = None
        self.started = ""
        self.code: int | None = None
        self.was_ended = False
        self._loop = loop
        self._pipe: int | None = None

    @property
    def is_running(self) -> bool:
        return self.pid is not None and self.code is None

    @property
    def has_open_pipe(self) -> bool:
        """Whether more output may come."""
        return self._pipe is not None

    def spawn(self, program: Program, env: dict[str, str], open_files: tuple[int, int]) -> None:
        """Start the process. Raises OSError, SubprocessError."""
        read_end, write_end = os.pipe()
        with contextlib.suppress(OSError):
            fcntl.fcntl(write_end, getattr(fcntl, "F_SETPIPE_SZ", 1031), self.READ_BYTES)
        us = os.getpid()
        try:
            process = subprocess.Popen(
                program.argv,
                stdin=subprocess.DEVNULL,
                stdout=write_end,
                stderr=write_end,
                cwd=program.workdir,
                env=env,
                start_new_session=True,
                preexec_fn=lambda: _become_rank(us, open_files),
            )
        except BaseException:
            os.close(read_end)
            raise
        finally:
            os.close(write_end)
        process.returncode = 0  # The exit code is collected in `collect_ended`; Popen shall not wait for it.
        self.pid, self.started = process.pid, start_of(process.pid)
        self._pipe = read_end
        os.set_blocking(read_end, False)
        self._loop.watch(read_end, lambda _: self._read(read_end))

    def _read(self, pipe: int) -> None:
        try:
            data = os.read(pipe, self.READ_BYTES)
        except BlockingIOError:
            return
        if data:
            self.log.write(data)
        else:
            self._close_pipe()

    def _close_pipe(self) -> None:
        if self._pipe is not None:
            self._loop.unwatch(self._pipe)
            os.close(self._pipe)
            self._pipe = None

    def close(self) -> None:
        """The log is whole; what writes to it still writes into nothing."""
        self._close_pipe()
        self.log.close()

    def snapshot(self) -> Json:
        return {
            "rank": self.number,
            "pid": self.pid,
            "start": self.started,
            "exit_code": self.code,
            "was_ended": self.was_ended,
            "lost_bytes": self.log.lost_bytes,
        }


def _become_rank(parent: int, open_files: tuple[int, int]) -> None:
    """Between fork and exec: no rank outlives its supervisor unseen, and none inherits its settings."""
    die_with_parent(parent)
    for number in RESET_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_NOFILE, open_files)


def collect_ended(ranks: Iterable[Rank]) -> list[Rank]:
    """Reap who has ended: ranks, which are returned with their exit codes, and orphans that became our children."""
    running = {rank.pid: rank for rank in ranks if rank.is_running}
    ended = []
    with contextlib.suppress(ChildProcessError):
        pid, status = os.waitpid(-1, os.WNOHANG)
        while pid:
            if pid in running:
                running[pid].code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
                ended.append(running[pid])
            pid, status = os.waitpid(-1, os.WNOHANG)
    return ended


def raise_open_files(count: int) -> tuple[int, int]:
    """Allow this process so many open files, as far as may be; what was allowed before."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return soft, hard
