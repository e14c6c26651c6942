"""The journal under kills: the short form of ``python -m tests.torture.soak``."""

from __future__ import annotations

import random
from pathlib import Path

from .violence import Violence


def test_nothing_is_lost_or_held_twice_when_writers_and_readers_are_killed_at_random(tmp_path: Path) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print("seed", seed)  # noqa: T201
    story = Violence(tmp_path, seed).run(5)
    print(story)  # noqa: T201
    assert story.violations == [], seed
    assert story.kills > 5
    assert story.writes > 50
