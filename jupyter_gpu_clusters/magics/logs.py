"""``%workload_logs``: the output of the ranks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

from ..core import bridge
from ..core.errors import SettingsError, WaitInterruptedError
from ..core.format import bytes_text, clean, exit_text
from ..core.models import LogChunk, Workload
from .arguments import Logs
from .blocks import Block, Heading, Note
from .log_printer import MAX_CHARACTERS, MAX_LINES, LogPrinter
from .log_saving import save_logs
from .run import Call
from .shown import Shown
from .ticking import following

_HALF_LINES_AFTER_S = 0.5


def show(call: Call[Logs]) -> Shown:
    """``%workload_logs``: print, then say how the workload stands."""
    wanted, service = call.arguments, bridge.service()
    workload = bridge.call(service.find_workload, wanted.workload)
    if wanted.save is not None:
        return _saved(call, workload, Path(wanted.save).expanduser())
    printer = LogPrinter()
    tail = wanted.tail or _tail_of_large(workload)
    ref = clean(f"{workload.cluster_name}/{workload.name}")
    try:
        with following(partial(_stream, workload, wanted, tail), lambda: _HALF_LINES_AFTER_S) as chunks:
            for chunk in chunks:
                if chunk is None:
                    printer.show_halves()
                else:
                    printer.take(chunk)
    except KeyboardInterrupt:
        raise WaitInterruptedError(
            f"Showing the output of {ref} was interrupted. The workload was {workload.phase} and goes on.",
            hint=f"`%workload_logs {ref} -f` shows it again, `%workload_cancel {ref}` ends it.",
        ) from None
    finally:
        printer.finish()
    workload = bridge.call(service.find_workload, workload.workload_id)
    call.keep(workload)
    how = f", {exit_text(workload.exit_code)}" if workload.exit_code is not None else ""
    blocks: list[Block] = [Heading(f"Workload {workload.full_name}: {workload.phase}{how}")]
    if printer.is_cut or (tail and not wanted.tail):
        blocks.append(Note(_where_the_rest_is(workload, ref, printer)))
    return Shown("workload", workload, blocks)


def _saved(call: Call[Logs], workload: Workload, folder: Path) -> Shown:
    wanted = call.arguments
    if wanted.tail is not None:
        raise SettingsError("--save takes the whole output, so --tail does not go with it.", hint="Leave one out.")
    sizes = save_logs(call.shell, partial(_stream, workload, wanted, None), folder, workload.log_bytes)
    call.keep(workload)
    ranks = f"{len(sizes)} ranks" if len(sizes) != 1 else f"rank {next(iter(sizes))}"
    what = (
        f"The output of {ranks}, {bytes_text(sum(sizes.values()))}, is in {folder}." if sizes else "There is no output."
    )
    return Shown("workload", workload, [Heading(f"Workload {workload.full_name}: {workload.phase}"), Note(what)])


def _tail_of_large(workload: Workload) -> int | None:
    """Of a log that is larger than what may be shown, the end is shown rather than the beginning."""
    if workload.log_bytes <= MAX_CHARACTERS:
        return None
    return max(1, MAX_LINES // max(1, len(workload.ranks)))


def _where_the_rest_is(workload: Workload, ref: str, printer: LogPrinter) -> str:
    hidden = "What follows was not shown" if printer.is_cut else "Lines before those above were not shown"
    if printer.hidden_lines:
        hidden = f"{printer.hidden_lines} lines after those above were not shown"
    return (
        f"{hidden}; the whole log has {bytes_text(workload.log_bytes)}. "
        f"`%workload_logs {ref} --rank R --tail N` shows the end of one rank's, "
        f"`%workload_logs {ref} --save DIR` fetches all of it."
    )


def _stream(workload: Workload, wanted: Logs, tail: int | None) -> AsyncIterator[LogChunk]:
    ranks = None if wanted.rank is None else [wanted.rank]
    return bridge.service().stream_logs(workload, ranks=ranks, tail_lines=tail, follow=wanted.follow)
