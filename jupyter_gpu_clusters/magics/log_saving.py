"""``%workload_logs --save DIR``: the very bytes of every rank's output, a file for each rank."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ..core.errors import SettingsError
from ..core.format import bytes_text
from ..core.models import LogChunk
from .progress import progress_for
from .ticking import following

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_TICK_S = 0.5


def save_logs(
    shell: InteractiveShell, source: Callable[[], AsyncIterator[LogChunk]], folder: Path, total_bytes: int
) -> dict[int, int]:
    """Write ``rank-R.log`` for every rank; what stood there before is replaced.

    Returns
    -------
    Rank -> bytes.

    Raises
    ------
    SettingsError : the folder cannot be written; what was written by then remains.
    """
    sizes: dict[int, int] = {}
    files: dict[int, BinaryIO] = {}
    progress, shown_at = progress_for(shell), 0.0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as opened, following(source, lambda: _TICK_S) as chunks:
            for chunk in chunks:
                if chunk is not None:
                    if chunk.rank not in files:
                        files[chunk.rank] = opened.enter_context((folder / f"rank-{chunk.rank}.log").open("wb"))
                    files[chunk.rank].write(chunk.data or chunk.text.encode())
                    sizes[chunk.rank] = chunk.end
                if time.monotonic() >= shown_at + _TICK_S:
                    shown_at = time.monotonic()
                    line = f"{bytes_text(sum(sizes.values()))} of {bytes_text(total_bytes)} saved"
                    progress.show(line, is_news=False)
    except OSError as exc:
        raise SettingsError(
            f"The output cannot be saved to {folder}: {exc.strerror}.", hint="Make room there, or name another folder."
        ) from exc
    finally:
        progress.close()
    return sizes
