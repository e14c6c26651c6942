"""The container's output: one line a second while it runs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import anyio

from ..service import Answer, Call, Refused
from .pod import Pod
from .state import State

_LOOK_S = 0.05
_PLAIN_EVERY = 7
_TAIL = 100


def stream_logs(state: State, pod: Pod, call: Call) -> Answer:
    """The last lines and, if asked to follow, what comes until the pod is gone or the reader leaves.

    Raises
    ------
    Refused : 422 for a tail or follow that is no number or no yes/no.
    """
    tail, follow = call.asked("tail") or str(_TAIL), (call.asked("follow") or "false").lower()
    wrong = [("tail", "must be a number, 0 or more")] if not tail.isdigit() else []
    wrong += [("follow", "must be true or false")] if follow not in ("true", "false") else []
    if wrong:
        raise Refused(422, "Validation error", problems=wrong)

    first = max(0, _written(state, pod) - int(tail))

    async def lines() -> AsyncIterator[bytes]:
        shown = first
        while True:
            written = _written(state, pod)
            for number in range(shown, written):
                yield _line(number)
            shown = written
            if follow == "false" or not pod.is_listed(state.now()):
                return
            await anyio.sleep(_LOOK_S)

    return Answer(media_type="text/event-stream", stream=lines)


def _written(state: State, pod: Pod) -> int:
    return int(pod.life.seconds_in(("RUNNING",), 0.0, state.now()))


def _line(number: int) -> bytes:
    text = f"step {number} loss {2.5 / (1 + number / 100):.4f}"
    if number % _PLAIN_EVERY == _PLAIN_EVERY - 1:
        return f"{text}\n\n".encode()
    return f"data: {json.dumps({'log': text})}\n\n".encode()
