"""Events in a file, once over a kill: what the output holds is not written again, a cut line is ended."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import BinaryIO

import pytest

from explain.eventlog import JsonlAnnouncer
from explain.live import Live, Told
from explain.marks import Left, Mark, Seen
from explain.state import State, Written, load_state, save_state
from tests.helpers import matcher
from tests.torture import code, failure, ordinary

ORDINARY = ordinary(Random(1), 1)
LOG = b"".join(failure(number, number % 3) + ORDINARY for number in range(12))


class Run:
    """One run that appends the events of a log to a file, from a byte on."""

    def __init__(self, target: BinaryIO, before: Written | None) -> None:
        self.events = JsonlAnnouncer(target)
        self.events.names.append("server.log")
        self.events.resume(before)
        self.live = Live(matcher(), self.events.names, lambda *one: self.events.event(*one, self.live.generation))

    def read(self, data: bytes, line: int = 1) -> None:
        self.live.start_at_line(0, 0, line)
        self.live.feed(0, 0, data, 0.0)


def told(path: Path) -> list[str]:
    return [name for name in map(code, range(12)) for _ in range(path.read_text().count(f"planted failure {name}"))]


@pytest.mark.parametrize("mark", [0, 3, 7])
@pytest.mark.parametrize("cut", [None, 1, 200])
def test_a_killed_run_and_the_next_write_each_event_once(tmp_path: Path, mark: int, cut: int | None) -> None:
    """The state is older than the output; `cut` bytes of the last line were written."""
    path = tmp_path / "events.jsonl"
    piece = len(failure(0, 0) + ORDINARY)
    with path.open("ab") as target:
        first = Run(target, None)
        first.read(LOG[: mark * piece])
        written = first.events.place(lambda source, generation, line: line < 1 + 6 * mark)
        assert written is not None and written.ahead == ()
        first.live.feed(0, 0, LOG[mark * piece : 9 * piece], 0.0)
    whole = path.read_bytes()
    if cut is not None:
        last = whole.rstrip(b"\n").rfind(b"\n") + 1
        path.write_bytes(whole[: last + cut])
    with path.open("ab") as target:
        second = Run(target, written)
        second.read(LOG[mark * piece :], line=1 + 6 * mark)
    assert told(path) == [code(number) for number in range(12)]
    assert path.read_bytes().startswith(whole) and b"\n\n" not in path.read_bytes()


def test_events_that_stand_behind_the_mark_are_not_written_again(tmp_path: Path) -> None:
    """One stream is still open, so that reading starts before events that are out already."""
    path = tmp_path / "events.jsonl"
    with path.open("ab") as target:
        first = Run(target, None)
        first.read(LOG)
        written = first.events.place(lambda source, generation, line: line < 7)
    assert written is not None and len(written.ahead) == 11
    with path.open("ab") as target:
        second = Run(target, written)
        second.read(LOG[len(failure(0, 0) + ORDINARY) :], line=7)
        again = second.events.place(lambda source, generation, line: line < 7)
    assert told(path) == [code(number) for number in range(12)]
    assert again is not None and sorted(again.ahead) == sorted(written.ahead)


def test_another_file_is_written_from_the_start(tmp_path: Path) -> None:
    with (tmp_path / "one.jsonl").open("ab") as target:
        first = Run(target, None)
        first.read(LOG)
        written = first.events.place(lambda *_: False)
    with (tmp_path / "two.jsonl").open("ab") as target:
        Run(target, written).read(LOG)
    assert len(told(tmp_path / "two.jsonl")) == 12


def test_the_same_line_of_a_later_file_is_a_new_event(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with path.open("ab") as target:
        first = Run(target, None)
        first.read(LOG)
        written = first.events.place(lambda *_: False)
    with path.open("ab") as target:
        second = Run(target, written)
        second.events.caught_up()
        second.read(LOG)
    assert len(told(path)) == 24


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    mark, seen = Mark(1, 2, 3, b"abc", 4, 5.5), Seen.of(6, 7, 8, b"before")
    told, written = {"id": Told("cause", 4, 0.0, 3)}, Written(1, 2, 3, (("log", 4, "TP0"),))
    state = State({"server.log": Left((mark,), (seen,))}, told, {"id": 3}, ("id", 9), written, 10.5)
    assert save_state(tmp_path / "state.json", state) is None
    assert load_state(tmp_path / "state.json") == (state, None)
