"""The command line: one request as a line of JSON on stdin, the answer on stdout."""

from __future__ import annotations

import contextlib
import os
import sys

from .cancel import command_cancel, command_end_leftovers
from .check import command_check
from .messages import encode, read_message
from .read_log import LogFeed
from .start import command_start
from .status import command_status


def main(command: str, workload_id: str = "") -> None:
    request, out = read_message(0), sys.stdout.buffer
    if command == "start":
        out.write(encode(command_start(workload_id, request)))
    elif command == "status":
        out.write(encode(command_status(request)))
    elif command == "check":
        out.write(encode(command_check(request)))
    elif command == "cancel":
        out.write(encode(command_cancel(workload_id, request)))
    elif command == "end-leftovers":
        out.write(encode(command_end_leftovers(request)))
    elif command == "read-log":
        LogFeed(workload_id, request, out).run()
    else:
        raise ValueError(f"unknown command {command!r}")
    out.flush()


def run() -> None:
    with contextlib.suppress(BrokenPipeError):
        main(*sys.argv[1:])
    # Without the interpreter's own flush at exit, which would complain about a reader that has left.
    os._exit(0)


if __name__ == "__main__":
    run()
