"""What many ranks write, on one screen."""

from __future__ import annotations

import time

import pytest

from jupyter_gpu_clusters.core.models import LogChunk
from jupyter_gpu_clusters.magics import log_printer
from jupyter_gpu_clusters.magics.log_printer import LogPrinter


def chunk(rank: int, text: str) -> LogChunk:
    return LogChunk(rank=rank, offset=0, end=len(text), text=text)


def printed(capsys: pytest.CaptureFixture[str], *steps: LogChunk | None) -> str:
    printer = LogPrinter()
    for step in steps:
        if step is None:
            printer.show_halves()
        else:
            printer.take(step)
    printer.finish()
    return capsys.readouterr().out


def test_whole_lines_have_the_rank_before_them(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, chunk(0, "a\nb\n"), chunk(1, "c\n"))
    assert out == "[rank 0] a\n[rank 0] b\n[rank 1] c\n"


def test_what_is_missing_between_two_pieces_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    later = LogChunk(rank=0, offset=102, end=104, text="c\n")
    assert printed(capsys, chunk(0, "a\n"), later) == (
        "[rank 0] a\n[rank 0] \n[rank 0] ... 100 bytes are missing here ...\n[rank 0] c\n"
    )


def test_a_line_in_two_pieces_is_printed_once_whole(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, chunk(0, "hel"), chunk(1, "x\n"), chunk(0, "lo\n"))
    assert out == "[rank 1] x\n[rank 0] hello\n"


def test_half_a_line_is_shown_after_a_while_and_continued_in_place(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, chunk(0, "Epoch 1"), None, None, chunk(0, " done\nnext\n"))
    assert out == "[rank 0] Epoch 1 done\n[rank 0] next\n"


def test_half_a_line_that_another_rank_interrupts_loses_and_repeats_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, chunk(0, "Epoch 1"), None, chunk(1, "x\n"), chunk(0, " done\n"))
    assert out == "[rank 0] Epoch 1\n[rank 1] x\n[rank 0]  done\n"


def test_the_last_line_without_an_end_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, chunk(0, "a\nb")) == "[rank 0] a\n[rank 0] b\n"


def test_of_a_finished_progress_bar_the_last_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, chunk(0, "10%\r50%\r100%\n")) == "[rank 0] 100%\n"
    assert printed(capsys, chunk(0, "windows\r\n")) == "[rank 0] windows\n"


def test_a_progress_bar_overwrites_itself(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, chunk(0, "10%"), None, chunk(0, "\r20%"), None, chunk(0, "\r100%\n"))
    assert out == "[rank 0] 10%\r[rank 0] 20%\r[rank 0] 100%\n"


def test_colours_stay_and_other_escapes_go(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, chunk(0, "\x1b[31mred\x1b[0m\x1b[2J\x1b]0;title\x07\x1b[1A!\n"))
    assert out == "[rank 0] \x1b[31mred\x1b[0m!\n"


def test_a_line_without_end_is_kept_in_pieces(capsys: pytest.CaptureFixture[str]) -> None:
    printer = LogPrinter()
    for _ in range(30):
        printer.take(chunk(0, "x" * 5000))
    assert sum(map(len, printer._halves.values())) <= 25_000
    printer.finish()
    assert capsys.readouterr().out.count("x") == 150_000


def test_what_is_shown_is_bounded_in_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_printer, "MAX_LINES", 3)
    printer = LogPrinter()
    printer.take(chunk(0, "".join(f"{n}\n" for n in range(5))))
    printer.take(chunk(1, "half"))
    printer.finish()
    out = capsys.readouterr().out
    assert out == "[rank 0] 0\n[rank 0] 1\n[rank 0] 2\n... what follows is in the log but not shown here ...\n"
    assert printer.hidden_lines == 2


def test_what_is_shown_is_bounded_in_size(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_printer, "MAX_CHARACTERS", 1000)
    printer = LogPrinter()
    printer.take(chunk(0, ("y" * 99 + "\n") * 50))
    printer.take(chunk(0, "z" * 50_000))
    printer.finish()
    assert capsys.readouterr().out.count("\n") <= 12
    assert printer.hidden_lines >= 40


def test_printing_is_slowed_to_what_a_notebook_takes(capsys: pytest.CaptureFixture[str]) -> None:
    printer, began = LogPrinter(), time.monotonic()
    for _ in range(8):
        printer.take(chunk(0, ("y" * 99 + "\n") * 1000))
    took = time.monotonic() - began
    assert len(capsys.readouterr().out) / took < 1_000_000


def test_output_without_newlines_stops_at_the_bound_with_a_note(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_printer, "_CHARACTERS_PER_S", 1e9)
    printer = LogPrinter()
    for _ in range(200):
        printer.take(chunk(0, "x" * 60_000))
    printer.finish()
    shown, _, note = capsys.readouterr().out.partition("\n")
    assert len(shown) == log_printer.MAX_CHARACTERS
    assert shown == "[rank 0] " + "x" * (log_printer.MAX_CHARACTERS - 9)
    assert note == "... what follows is in the log but not shown here ...\n"
    assert printer.is_cut


def test_one_line_longer_than_the_bound_is_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_printer, "MAX_CHARACTERS", 100)
    out = printed(capsys, chunk(0, "x" * 500 + "\nnext\n"))
    assert out == "[rank 0] " + "x" * 91 + "\n... what follows is in the log but not shown here ...\n"
