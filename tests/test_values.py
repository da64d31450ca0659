"""Our cheap dataclasses behave like the standard ones; expressions and tables that come late are the same ones."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import explain.model
from explain.expressions import expression
from explain.owners import GROUPS, Owners, cached_owners
from explain.values import dataclass, field, fields_of, replace


@dataclass(frozen=True, slots=True)
class Lamp:
    """A value."""

    watts: int
    name: str = "desk"
    places: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Growing:
    count: int = 0
    parts: list[int] = field(default_factory=list)
    later: str = field(init=False)


@dataclass(slots=True)
class Doubled:
    once: int
    twice: int = field(init=False)

    def __post_init__(self) -> None:
        self.twice = 2 * self.once


@dataclass(frozen=True, slots=True)
class Single:
    only: int


def test_construction_by_position_name_and_default() -> None:
    assert Lamp(40) == Lamp(watts=40, name="desk", places=[])
    assert Lamp(40, "wall", ["hall"]).places == ["hall"]
    assert Lamp(1).places is not Lamp(2).places
    for wrong in ({}, {"watts": 1, "volts": 2}):
        with pytest.raises(TypeError):
            Lamp(**wrong)  # type: ignore[arg-type]


def test_many_values_are_made_like_the_first_ones() -> None:
    # Behind the first few a constructor of the class's own makes them.
    for number in range(50):
        assert Lamp(number).places == [] and Lamp(number, places=["hall"]) == Lamp(number, "desk", ["hall"])
        assert Doubled(number).twice == 2 * number and Growing(parts=[number]).count == 0
    for cls in (Lamp, Growing):
        for arguments, named in (
            ((1, "a", [], 4), {}),
            ((1,), {"watts": 1, "count": 1}),
            ((), {"later": "x", "watts": 1}),
        ):
            with pytest.raises(TypeError):
                cls(*arguments, **named)  # type: ignore[arg-type]


def test_frozen_values_do_not_change() -> None:
    for change in (lambda: setattr(Lamp(1), "watts", 2), lambda: delattr(Lamp(1), "watts")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()
    with pytest.raises(AttributeError):
        Lamp(1).volts = 3  # type: ignore[attr-defined]


def test_others_change_and_have_no_room_for_more() -> None:
    one = Growing()
    one.count, one.later = 3, "set"
    assert (one.count, one.later) == (3, "set")
    with pytest.raises(AttributeError):
        one.unknown = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        hash(Growing(1))


def test_a_field_that_is_made_from_the_others_is_there_from_the_start() -> None:
    assert Doubled(20).twice == 40 and Doubled(20) == Doubled(once=20)


def test_equality_and_hash() -> None:
    assert Single(1) == Single(1) != Single(2) and Single(1) != (1,)
    assert hash(Single(1)) == hash(Single(1)) and len({Single(1), Single(1), Single(2)}) == 2
    assert repr(Lamp(1)) == "Lamp(watts=1, name='desk', places=[])"


def test_replace_copy_pickle_and_the_standard_functions() -> None:
    lamp = Lamp(40, places=["hall"])
    assert replace(lamp, watts=60) == dataclasses.replace(lamp, watts=60) == Lamp(60, "desk", ["hall"])
    assert copy.deepcopy(lamp) == lamp == pickle.loads(pickle.dumps(lamp))
    assert [one.name for one in dataclasses.fields(Lamp)] == ["watts", "name", "places"] == list(fields_of(Lamp))
    assert dataclasses.asdict(lamp) == {"watts": 40, "name": "desk", "places": ["hall"]}
    match lamp:
        case Lamp(watts, name):
            assert (watts, name) == (40, "desk")


def test_every_value_of_the_model_is_frozen() -> None:
    found = [one for one in vars(explain.model).values() if isinstance(one, type) and dataclasses.is_dataclass(one)]
    assert len(found) > 20
    for cls in found:
        value = cls.__new__(cls)
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, fields_of(cls)[0], None)


def test_expressions_are_compiled_on_first_use() -> None:
    broken = expression("(")
    with pytest.raises(re.error):
        broken.search("x")
    late = expression(r"(?P<word>\w+)", re.ASCII)
    assert late.fullmatch("lamp")["word"] == "lamp" and late.sub("-", "a b") == "- -"  # type: ignore[index]
    assert late.pattern == r"(?P<word>\w+)" and expression(rb"\d").findall(b"1a2") == [b"1", b"2"]
    with pytest.raises(AttributeError):
        late.unknown  # type: ignore[attr-defined]  # noqa: B018


asking = st.lists(st.lists(st.tuples(st.sampled_from(GROUPS), st.integers(0, 2**30)), max_size=4), max_size=20)


@given(asking)
def test_owners_survive_being_written(owners: list[list[tuple[str, int]]]) -> None:
    loaded = Owners.load(memoryview(Owners.of(owners).dump()))
    assert loaded is not None and len(loaded) == len(owners)
    assert [loaded[number] for number in range(len(owners))] == owners
    records, templates = loaded.split(range(len(owners)))
    told = [pair for one in owners for pair in one]
    assert records == {number for group, number in told if group == "record"}
    assert templates == {number for group, number in told if group == "site"}


@given(st.binary(max_size=60))
def test_foreign_bytes_are_no_owners(content: bytes) -> None:
    found = Owners.load(content)
    assert found is None or found.dump() == content


def test_a_damaged_table_is_made_again(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = Owners.of([[("record", 1)]])
    assert cached_owners("k", lambda: made)[0] == [("record", 1)]
    (file,) = (tmp_path / "sglang-explain").glob("owners-*.bin")
    file.write_bytes(b"\0\0\0\0rubbish")
    assert cached_owners("k", lambda: made)[0] == [("record", 1)]
    assert cached_owners("k", lambda: pytest.fail("made although it was kept"))[0] == [("record", 1)]
