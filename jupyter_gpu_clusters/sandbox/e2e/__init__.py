"""E2E Networks TIR training clusters, written from ``tests/contracts/e2e.md``.

What that contract marks UNKNOWN or INFERRED is a `Choice` (``choices.py``), never a fact of the code. ``service.py``
is what the frame sees; ``clusters.py``, ``actions.py``, ``lookups.py`` and ``belongings.py`` are the operations;
``state.py`` holds everything they share.
"""

from .service import E2E

__all__ = ["E2E"]
