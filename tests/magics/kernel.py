"""A real kernel that sees the provider `slowcloud`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests import kernel

Done = kernel.Done


class Kernel(kernel.Kernel):
    """``books`` is the folder of the provider `slowcloud` that it sees."""

    def __init__(self, *, env: Mapping[str, str], folder: Path, books: Path) -> None:
        self.books = books
        super().__init__(env=env, folder=folder)
