"""The command line of the sandbox."""

from __future__ import annotations

import argparse
import asyncio
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from .accounts_file import write_accounts
from .frame import Sandbox
from .scenarios import SCENARIOS
from .server import listen, server_for, url_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; the exit code is 0 then, and 2 for a mistake."""
    options = _parser().parse_args(arguments)
    try:
        sandbox, sock = _prepare(options)
    except (ValueError, OSError) as exc:
        sys.stderr.write(f"The sandbox did not start: {exc}\n")
        return 2
    asyncio.run(_serve(sandbox, sock))
    return 0


def _prepare(options: argparse.Namespace) -> tuple[Sandbox, socket.socket]:
    choices = dict(options.choose)
    sandbox = Sandbox(seed=options.seed, speed=options.speed, scenarios=options.scenario, choices=choices)
    sock = listen(options.host, options.port)
    sandbox.url = url_of(sock)
    try:
        if options.write_accounts is not None:
            accounts = {name: service.account(sandbox.url) for name, service in sandbox.services.items()}
            write_accounts(options.write_accounts, accounts)
    except OSError:
        sock.close()
        raise
    return sandbox, sock


async def _serve(sandbox: Sandbox, sock: socket.socket) -> None:
    server = server_for(sandbox.app, lambda: _announce(sandbox))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, server.stop)
    await server.serve([sock])


def _announce(sandbox: Sandbox) -> None:
    lines = [f"{name}={value}" for name, value in sandbox.variables().items()]
    sys.stdout.write("\n".join([*lines, "READY", ""]))
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m jupyter_gpu_clusters.sandbox",
        description="Simulated E2E, Lium and Run:ai services on one loopback port. Nothing here costs money.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="a loopback address (127.0.0.1)")
    parser.add_argument("--port", type=int, default=0, help="0 takes any free port (0)")
    parser.add_argument("--seed", type=int, default=0, help="makes ids and random choices repeatable (0)")
    parser.add_argument("--speed", type=float, default=1.0, help="sandbox seconds per real second (1)")
    parser.add_argument(
        "--scenario", action="append", default=[], metavar="NAME", help=f"may be repeated: {', '.join(SCENARIOS)}"
    )
    parser.add_argument(
        "--choose",
        action="append",
        default=[],
        type=_pair,
        metavar="KEY=VALUE",
        help="decide an open point",
    )
    parser.add_argument("--write-accounts", type=Path, metavar="FILE", help="write an accounts file too")
    return parser


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value
