"""The crash matrix: ``python -m tests.crash.matrix [--limit N] [--only PREFIX] [--case N]``."""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

from .books import Wrong
from .cases import Case, all_cases, pairwise
from .kernels import Nursery
from .play import Report, play

_TOLD_EVERY = 100


def chosen(cases: Sequence[Case], options: argparse.Namespace) -> list[Case]:
    """The cases that the options ask for; a limit takes those that show the most pairs."""
    if options.case:
        return [case for case in cases if case.number in options.case]
    found = [case for case in cases if all(part in case.slug for part in options.only)]
    if options.limit is not None and options.limit < len(found):
        found = pairwise(found, options.limit)
    part, parts = map(int, options.part.split("/"))
    return [case for case in found if case.number % parts == part]


def run_all(cases: Sequence[Case], folder: Path, *, workers: int = 1, verbose: bool = False) -> list[Report]:
    """All of them, `workers` at a time; each failure is told at once."""
    nursery, began, done = Nursery(), time.monotonic(), count(1)

    def run(case: Case) -> Report:
        own = folder / f"case-{case.number}"
        own.mkdir()
        report = play(case, nursery, own)
        _tell(report, verbose)
        if (number := next(done)) % _TOLD_EVERY == 0:
            sys.stderr.write(f"{number} of {len(cases)} cases, {time.monotonic() - began:.0f} s\n")
        shutil.rmtree(own, ignore_errors=True)
        return report

    try:
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(run, cases))
    finally:
        nursery.close()


def _tell(report: Report, verbose: bool) -> None:
    if report.violations or verbose:
        lines = [f"{report.case}", *(f"  {one}" for one in report.violations)]
        if verbose:
            lines += [f"  {report.outcome}", *report.log]
        sys.stderr.write("\n".join([*lines, ""]))


def table(reports: Sequence[Report]) -> str:
    """Write x step x fault -> outcomes, as Markdown, with how often each came."""
    rows: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for report in reports:
        case = report.case
        rows[case.write, case.step, case.fault][report.outcome + (" **WRONG**" if report.violations else "")] += 1
    lines = ["| service | write | step | fault | outcome |", "|---|---|---|---|---|"]
    for (write, step, fault), outcomes in rows.items():
        service, _, verb = write.partition(" ")
        told = "; ".join(f"{text} ({count})" if count > 1 else text for text, count in outcomes.most_common())
        lines.append(f"| {service} | {verb} | {step} | {fault} | {told} |")
    return "\n".join(lines)


def totals(reports: Sequence[Report], took_s: float) -> str:
    """One line for each thing that may not be."""
    counted = Counter(one.kind for report in reports for one in report.violations)
    lines = [f"- {kind}: {counted[kind]}" for kind in Wrong]
    wrong = sum(bool(report.violations) for report in reports)
    return "\n".join([*lines, f"- cases: {len(reports)}, wrong: {wrong}, {took_s:.0f} s"])


def main(argv: Sequence[str] | None = None) -> int:
    """Run and print; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.matrix", description=__doc__)
    parser.add_argument("--limit", type=int, help="at most so many cases: those that show the most pairs")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="TEXT",
        help="cases whose slug has this text, and that of every other --only",
    )
    parser.add_argument("--part", default="0/1", metavar="I/N", help="the cases whose number divided by N leaves I")
    parser.add_argument("--case", action="append", default=[], type=int, metavar="N", help="this case alone")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="so many cases at a time")
    parser.add_argument("-v", "--verbose", action="store_true", help="what each cell said")
    parser.add_argument("--list", action="store_true", help="only name the cases")
    options = parser.parse_args(argv)
    cases = chosen(all_cases(), options)
    if options.list:
        sys.stdout.write("".join(f"{case}\n" for case in cases))
        return 0
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="crash-") as folder:
        reports = run_all(cases, Path(folder), workers=options.workers, verbose=options.verbose)
    wrong = [report for report in reports if report.violations]
    replay = [f"replay: python -m tests.crash.matrix -v --case {report.case.number}" for report in wrong]
    sys.stdout.write("\n\n".join([table(reports), totals(reports, time.monotonic() - began), "\n".join(replay), ""]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
