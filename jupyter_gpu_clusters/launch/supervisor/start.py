"""The command "start": claim a folder, leave a node process behind, wait for its word."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable

from .folder import WORKLOAD_ID, claim
from .login import settle
from .messages import Json, encode, read_message
from .node import Node
from .state_file import write_all
from .status import describe
from .sweep import KILL_S


def command_start(workload_id: str, start: Json) -> Json:
    """Answers when all nodes run it, or none does."""
    if start["workload_id"] != workload_id or not WORKLOAD_ID.fullmatch(workload_id):
        raise ValueError(f"{workload_id!r} cannot be the id of this workload")
    start = settle(start)
    folder = os.path.join(start["root"], workload_id)
    try:
        refusal = claim(start["root"], folder)
    except FileExistsError:
        answer: Json = {"outcome": "exists", "reason": "this workload was started before"}
    else:
        ear, mouth = os.pipe()
        detach(lambda: live(start, folder, refusal, mouth))
        os.close(mouth)
        answer = wait_for_word(ear, start["start_timeout_s"] + start["grace_s"] + KILL_S + 10)
    if start["staged"] and answer["outcome"] in ("exists", "refused"):
        shutil.rmtree(start["staged"], ignore_errors=True)
    return {**answer, "entry": describe(folder)}


def detach(work: Callable[[], None]) -> None:
    """Run `work` in a process that no terminal, session or parent of ours can end."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    try:
        work()
    finally:
        os._exit(0)


def live(start: Json, folder: str, refusal: str | None, mouth: int) -> None:
    """All of the node process. A fault of ours is written down beside the state, since nobody is listening."""

    def answer(word: Json) -> None:
        with contextlib.suppress(OSError):
            write_all(mouth, encode(word))

    try:
        Node(start, folder, refusal, answer).run()
    except BaseException:
        import traceback

        with contextlib.suppress(OSError), open(os.path.join(folder, "supervisor-error.txt"), "w") as file:
            traceback.print_exc(file=file)
        raise


def wait_for_word(ear: int, timeout_s: float) -> Json:
    """What the node process says about its start, "unknown" where it says nothing."""
    try:
        return read_message(ear, timeout_s)
    except TimeoutError:
        return {"outcome": "unknown", "reason": f"the supervisor gave no answer within {timeout_s:.0f} s"}
    except EOFError:
        return {"outcome": "unknown", "reason": "the supervisor ended without an answer"}
