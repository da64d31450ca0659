"""The harvester on a made-up package: ways of building a message, kinds of sites, several releases."""

from __future__ import annotations

import json
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import pytest

from explain.authoring.harvest import harvest
from explain.authoring.harvest_module import read_module
from explain.authoring.harvest_tree import read_tree, version_key

# Statements inside `def check(self, server_args, name, size):`, and (kind, class, text) of their sites.
CONSTRUCTS: dict[str, tuple[str, list[tuple[str, str | None, str]]]] = {
    "plain": ('raise ValueError("the lamp is off")', [("raise", "ValueError", "the lamp is off")]),
    "implicit concatenation": (
        'raise ValueError("the lamp "\n    "is off")',
        [("raise", "ValueError", "the lamp is off")],
    ),
    "f-string": (
        'raise ValueError(f"lamp {self.name!r} has {len(size)} bulbs, {size:.2f} W")',
        [("raise", "ValueError", "lamp {name:repr} has {len_size:int} bulbs, {size:float} W")],
    ),
    "self-documenting f-string": (
        'raise RuntimeError(f"no light: {self.name=}, {size=}")',
        [("raise", "RuntimeError", "no light: self.name={name:repr}, size={size:repr}")],
    ),
    "percent": (
        'raise TypeError("lamp %s: %d of 100%% lit" % (name, size))',
        [("raise", "TypeError", "lamp {name}: {size:int} of 100% lit")],
    ),
    "percent by name": (
        'raise TypeError("lamp %(name)s" % {"name": name})',
        [("raise", "TypeError", "lamp {name}")],
    ),
    "format": (
        'raise KeyError("lamp {} in {room} {{dark}}".format(name, room=size))',
        [("raise", "KeyError", "lamp {name} in {room} {{dark}}")],
    ),
    "sum": ('raise ValueError("lamp " + name + " is off")', [("raise", "ValueError", "lamp {name} is off")]),
    "join": (
        'raise ValueError(" ".join(["lamp", name, "is off"]))',
        [("raise", "ValueError", "lamp {name} is off")],
    ),
    "dedent": (
        'raise ValueError(textwrap.dedent("""\n    lamp\n      off"""))',
        [("raise", "ValueError", "lamp\n  off")],
    ),
    "either": (
        'raise ValueError("the lamp is off" if size else "the lamp is gone")',
        [("raise", "ValueError", "the lamp is off"), ("raise", "ValueError", "the lamp is gone")],
    ),
    "variable": (
        'message = f"lamp {name} is off"\nraise ValueError(message)',
        [("raise", "ValueError", "lamp {name} is off")],
    ),
    "variable, both branches": (
        'if size:\n    message = "the lamp is off"\nelse:\n    message = "no lamp"\nlogger.error(message)',
        [("log:error", None, "the lamp is off"), ("log:error", None, "no lamp")],
    ),
    "several statements": (
        'message = f"lamp {name}"\nmessage += " is off"\nraise ValueError(message)',
        [("raise", "ValueError", "lamp {name} is off")],
    ),
    "several statements, one of them at times": (
        'message = "the lamp is off"\nif size:\n    message += " for good"\nraise ValueError(message)',
        [("raise", "ValueError", "the lamp is off"), ("raise", "ValueError", "the lamp is off for good")],
    ),
    "constant": ("raise ValueError(DARK)", [("raise", "ValueError", "it is dark in here")]),
    "helper": (
        "raise ValueError(describe(name))",
        [("raise", "ValueError", "{name} sheds no light")],
    ),
    "helper that makes the exception": (
        "raise failure(name)",
        [("raise", "RuntimeError", "{name} failed to light")],
    ),
    "several arguments": (
        'raise ValueError("lamp off", size)',
        [("raise", "ValueError", "('lamp off', {size})")],
    ),
    "system error": (
        'raise IOError(2, "no such lamp", name)',
        [("raise", "OSError", "[Errno 2] no such lamp: {filename:repr}")],
    ),
    "own class": ('raise LampError("kitchen", size)', [("raise", "LampError", "lamp kitchen: {size} hours")]),
    "own class that says more": (
        'raise RoomError("kitchen")',
        [("raise", "RoomError", "RoomError(room=kitchen)")],
    ),
    "private class": ('raise _Dim("too dim to read")', [("raise", "_Dim", "too dim to read")]),
    "constructed only": (
        'future.set_exception(RuntimeError("the lamp went out"))',
        [("raise", "RuntimeError", "the lamp went out")],
    ),
    "assert": (
        'assert size > 0, f"size {size} is not positive"',
        [("assert", "AssertionError", "size {size} is not positive")],
    ),
    "assert with a tuple": (
        'assert size > 0, ("size is wrong",)',
        [("assert", "AssertionError", "('size is wrong',)")],
    ),
    "assert with an exception": (
        'assert size > 0, ValueError(f"size {size} is wrong")',
        [("assert", "AssertionError", "size {size} is wrong")],
    ),
    "class in a variable": (
        'raise size(f"lamp {name} is off")',
        [("raise", None, "lamp {name} is off")],
    ),
    "bare assert": ("assert size > 0", [("assert", "AssertionError", "")]),
    "bare raise": ("raise NotImplementedError", [("raise", "NotImplementedError", "")]),
    "log arguments": (
        'logger.warning("lamp %s burns at %.1f W", name, size)',
        [("log:warning", None, "lamp {name} burns at {size:float} W")],
    ),
    "log helper": (
        'log_error_on_rank0(logger, f"lamp {name} is off")',
        [("log:error", None, "lamp {name} is off")],
    ),
    "log level": ('logger.log(logging.WARNING, "lamp is old")', [("log:warning", None, "lamp is old")]),
    "colour": ('logger.warning("\\033[33mlamp is old\\033[0m")', [("log:warning", None, "lamp is old")]),
    "warning": (
        'warnings.warn("lamp is old", DeprecationWarning)',
        [("warn", "DeprecationWarning", "lamp is old")],
    ),
    "HTTP exception": (
        'raise HTTPException(status_code=400, detail=f"no lamp {name}")',
        [("http", "HTTPException", "no lamp {name}")],
    ),
    "error response": (
        'return self.create_error_response(f"no lamp {name}")',
        [("http", None, "no lamp {name}")],
    ),
    "error in JSON": (
        'return ORJSONResponse({"error": {"message": "no such lamp"}}, status_code=404)',
        [("http", None, "no such lamp")],
    ),
    "abort": (
        'req.finished_reason = FINISH_ABORT("lamp is too bright")',
        [("abort", None, "lamp is too bright")],
    ),
    "abort reason": ('req.abort_reason = "lamp is too bright"', [("abort", None, "lamp is too bright")]),
    "usage": ('parser.error("--lamp needs a bulb")', [("usage", None, "--lamp needs a bulb")]),
}
FRAME = """
import logging, textwrap, warnings
logger = logging.getLogger(__name__)
DARK = "it is dark in here"

class LampError(RuntimeError):
    def __init__(self, room, hours):
        super().__init__(f"lamp {{room}}: {{hours}} hours")

class RoomError(Exception):
    def __init__(self, room):
        self.room = room
    def __str__(self):
        return f"RoomError(room={{self.room}})"

class _Dim(Exception):
    pass

def describe(name):
    return f"{{name}} sheds no light"

def failure(name):
    return RuntimeError(f"{{name}} failed to light")

class Lamp:
    def check(self, server_args, name, size):
{body}
"""


def tree(root: Path, version: str, files: dict[str, str]) -> Path:
    """A made-up release: `files` are paths from `sglang/` on."""
    folder = root / version
    for name, text in {"lang/__init__.py": "", "version.py": f'__version__ = "{version}"\n', **files}.items():
        path = folder / "sglang" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def index(root: Path, *folders: Path) -> list[dict[str, Any]]:
    problems = harvest(folders, root / "index")
    assert problems == []
    return [json.loads(line) for path in sorted((root / "index").glob("templates-*")) for line in path.open()]


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_every_way_of_building_a_message(tmp_path: Path, name: str) -> None:
    body, expected = CONSTRUCTS[name]
    source = FRAME.replace("{{", "{").replace("}}", "}").replace("{body}", textwrap.indent(body, "        "))
    found = index(tmp_path, tree(tmp_path, "1.0.0", {"srt/lamp.py": source}))
    here = [(e["kind"], e.get("class"), e.get("text", "")) for e in found if e["sites"][0][1] == "check"]
    assert sorted(here, key=str) == sorted(expected, key=str)


def test_sites_keep_place_and_releases(tmp_path: Path) -> None:
    old = 'def check():\n    raise ValueError("the lamp is off")\n'
    first = tree(tmp_path, "1.0.0", {"srt/lamp.py": old})
    gap = tree(tmp_path, "1.0.1", {"srt/lamp.py": "def check():\n    pass\n"})
    third = tree(tmp_path, "1.0.1.post1", {"srt/lamp.py": "\n\n" + old})
    moved = tree(tmp_path, "1.0.2", {"srt/rooms/lamp.py": old.replace("check", "check_lamp")})
    (entry,) = index(tmp_path, moved, third, gap, first)
    assert entry["sites"] == [
        ["sglang/srt/rooms/lamp.py", "check_lamp", 2, "1.0.2"],
        ["sglang/srt/lamp.py", "check", 4, "1.0.0,1.0.1.post1"],
    ]


def test_flags_and_variables_of_the_guard(tmp_path: Path) -> None:
    arguments = """
    class ServerArgs:
        enable_lamp: bool = False
        lamp_watts: int = 40
        @staticmethod
        def add_cli_args(parser):
            parser.add_argument("--enable-lamp", "--lamp", action="store_true")
            parser.add_argument("--lamp-watts", type=int, default=ServerArgs.lamp_watts, choices=[40, 60])
            parser.add_argument("--bulb", action=DeprecatedAction, new_flag="--enable-lamp")
    """
    code = """
    def check(server_args):
        if server_args.enable_lamp and envs.SGLANG_DARK.get():
            if server_args.lamp_watts > 60:
                raise ValueError("too bright for the room")
    """
    files = {"srt/server_args.py": textwrap.dedent(arguments), "srt/lamp.py": textwrap.dedent(code)}
    (entry,) = index(tmp_path, tree(tmp_path, "1.0.0", files))
    assert entry["flags"] == ["--enable-lamp", "--lamp-watts"]
    assert entry["environment"] == ["SGLANG_DARK"]
    rows = [json.loads(line) for line in (tmp_path / "index" / "flags.jsonl").open()]
    flags = {row["flag"]: row for row in rows}
    assert flags["--lamp"]["alias_of"] == "--enable-lamp"
    assert flags["--lamp-watts"]["default"] == 40 and flags["--lamp-watts"]["choices"] == [40, 60]
    assert flags["--bulb"]["renamed_to"] == "--enable-lamp" and flags["--bulb"]["deprecated"]


def test_flags_declared_in_annotations(tmp_path: Path) -> None:
    fields = """
    class Light:
        _NS_PATH = "light"
        lamp_watts: A[int, Arg(help="watts", aliases=["--watts"], choices=WATTS)] = 40
        lamp_colour: A[Literal["red", "green"], "the colour"] = "red"
        lamp_seen: A[bool, Arg(no_cli=True)] = False
        total = Derived(fn="x")
    WATTS = [40] + [60]
    """
    files = {"srt/server_args.py": "", "srt/arg_groups/fields/light.py": textwrap.dedent(fields)}
    assert index(tmp_path, tree(tmp_path, "1.0.0", files)) == []
    flags = {row["flag"]: row for row in map(json.loads, (tmp_path / "index" / "flags.jsonl").open())}
    assert sorted(flags) == ["--lamp-colour", "--lamp-watts", "--watts"]
    assert flags["--lamp-watts"]["choices"] == [40, 60]
    assert flags["--lamp-colour"]["choices"] == ["red", "green"]
    names = [json.loads(line)["field"] for line in (tmp_path / "index" / "fields.jsonl").open()]
    assert names == ["lamp_colour", "lamp_seen", "lamp_watts"]


def test_values_that_a_flag_takes_over_the_releases(tmp_path: Path) -> None:
    def release(version: str, choices: str) -> Path:
        text = f"def add_cli_args(parser):\n    parser.add_argument('--lamp-colour', choices={choices})\n"
        return tree(tmp_path, version, {"srt/server_args.py": text})

    index(tmp_path, release("1.0.0", '["red"]'), release("1.1.0", "colours()"), release("1.2.0", '["red", "green"]'))
    (flag,) = map(json.loads, (tmp_path / "index" / "flags.jsonl").open())
    assert flag["choices"] == ["red", "green"]
    assert flag["choices_in"] == {"1.0.0,1.2.0": ["red"], "1.2.0": ["green"]}


def test_a_bare_site_goes_by_its_code_line(tmp_path: Path) -> None:
    source = "def check(lamp, bulb):\n    assert lamp\n    assert (\n        bulb\n    )\n"
    entries = index(tmp_path, tree(tmp_path, "1.0.0", {"srt/lamp.py": source}))
    assert len(entries) == 2 and all("text" not in entry for entry in entries)
    assert {len(entry["code"]) for entry in entries} == {1, 3}
    assert len({entry["id"] for entry in entries}) == 2


def test_what_cannot_be_read_is_named_and_left_out(tmp_path: Path) -> None:
    good = tree(
        tmp_path,
        "1.0.0",
        {"srt/lamp.py": 'def f():\n    raise ValueError("the lamp is off")\n', "srt/broken.py": "def f(:\n"},
    )
    (good / "sglang" / "srt" / "bytes.py").write_bytes(b"\xff\xfe\xfa")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "setup.py").write_text("")
    wheel = tmp_path / "sglang-1.0.1-py3-none-any.whl"
    wheel.write_bytes(b"PK not a wheel")
    again = tree(tmp_path / "again", "1.0.0", {})
    problems = harvest([good, foreign, wheel, tmp_path / "missing", again], tmp_path / "index")
    named = sorted((Path(problem.path).name, problem.pointer) for problem in problems)
    assert named == [
        ("1.0.0", ""),
        ("1.0.0", "sglang/srt/broken.py"),
        ("1.0.0", "sglang/srt/bytes.py"),
        ("foreign", ""),
        ("missing", ""),
        ("sglang-1.0.1-py3-none-any.whl", ""),
    ]
    assert all(problem.hint for problem in problems)
    assert "the lamp is off" in (tmp_path / "index" / "templates-srt.jsonl").read_text()


def test_a_wheel_is_read_like_a_folder(tmp_path: Path) -> None:
    folder = tree(tmp_path, "1.0.0", {"srt/lamp.py": 'def f():\n    raise ValueError("the lamp is off")\n'})
    wheel = tmp_path / "sglang-1.0.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in sorted(folder.rglob("*.py")):
            archive.write(path, path.relative_to(folder).as_posix())
        archive.writestr("sglang-1.0.0.dist-info/METADATA", "Name: sglang\nVersion: 1.0.0\n")
    one, _ = read_tree(folder)
    other, _ = read_tree(wheel)
    assert one is not None and other is not None
    assert (one.version, one.files) == (other.version, other.files)


def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    folders = [
        tree(tmp_path, version, {"srt/lamp.py": f'def f():\n    raise ValueError("lamp {version} is off")\n'})
        for version in ("1.0.0", "1.0.1")
    ]
    harvest(folders, tmp_path / "one")
    harvest(folders[::-1], tmp_path / "two")
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / name).rglob("*") if path.is_file()}
        for name in ("one", "two")
    )
    assert one == two
    assert (tmp_path / "one" / "releases.txt").read_text() == "1.0.0\n1.0.1\n"


def test_no_source_code_is_kept(tmp_path: Path) -> None:
    source = (
        "def check(a):\n    secret_value = a.secret_call()\n    assert secret_value.other_call() > 41\n"
        "    if secret_value.other_call(3)[7]:\n        raise ValueError('a lamp')\n"
    )
    index(tmp_path, tree(tmp_path, "1.0.0", {"srt/managers/lamp.py": source}))
    written = "".join(path.read_text() for path in (tmp_path / "index").rglob("*") if path.is_file())
    assert "secret" not in written and "other_call" not in written


def test_releases_sort_by_number() -> None:
    names = ["0.4.10", "0.4.9.post2", "0.4.9", "0.5.1.post1", "unknown", "0.5.1"]
    ordered = sorted(names, key=version_key)
    assert ordered == ["0.4.9", "0.4.9.post2", "0.4.10", "0.5.1", "0.5.1.post1", "unknown"]


@pytest.mark.parametrize("source", ["def f(:", "x = '\x00'", "(" * 400])
def test_a_file_that_does_not_parse_raises_what_the_harvest_catches(source: str) -> None:
    with pytest.raises((SyntaxError, ValueError, RecursionError, MemoryError)):
        read_module(source)


# --------------------------------------------------------------------------- conditions


GUARDED = {
    "srt/lamp.py": """
        def check(self, server_args, name, size):
            if server_args.tp_size % server_args.dp_size != 0:
                raise ValueError("the lamps do not fit")
            if any(one for one in size):
                if not name:
                    raise ValueError("one lamp is odd")
            if all(x for x in size):
                raise ValueError("all lamps are odd")
            raise ValueError("no lamp at all")
        """,
    "version.py": '__version__ = "1.0.0"',
}


def guarded(folder: Path, version: str, text: str | None = None) -> Path:
    for name, body in GUARDED.items():
        path = folder / version / "sglang" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text if text is not None and name == "srt/lamp.py" else body))
    (folder / version / "sglang" / "version.py").write_text(f'__version__ = "{version}"\n')
    return folder / version


def test_the_conditions_of_messages_are_harvested_from_the_newest_release_that_has_them(tmp_path: Path) -> None:
    later = """
        def check(self, server_args, name, size):
            pass
            if self.server_args.lamps > size:
                raise ValueError("the lamps do not fit")
        """
    assert not harvest([guarded(tmp_path, "1.0.0"), guarded(tmp_path, "1.0.1", later)], tmp_path / "index")
    assert (tmp_path / "index" / "guards" / "srt.tsv").read_text().splitlines() == [
        "# sglang/srt/lamp.py",
        "5\tlamps is greater than size",
        "7\t…\tname is not set",
    ]


def test_the_packed_conditions_are_those_of_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from explain import guardfacts

    assert not harvest([guarded(tmp_path, "1.0.0")], tmp_path / "index")
    content = guardfacts.packed(tmp_path / "index" / "guards")
    assert content is not None and guardfacts.packed(tmp_path) is None
    (tmp_path / "guards.z").write_bytes(content)
    for shipped, checkout in (("none", "index/guards"), ("guards.z", "none")):
        monkeypatch.setattr(guardfacts, "SHIPPED", tmp_path / shipped)
        monkeypatch.setattr(guardfacts, "CHECKOUT", tmp_path / checkout)
        assert guardfacts.conditions_at("sglang/srt/lamp.py", 4) == ("tp_size % dp_size is not 0",)
        assert guardfacts.conditions_at("sglang/srt/lamp.py", 5) == ()
        assert guardfacts.conditions_at("srt/lamp.py", 4) == () == guardfacts.conditions_at("sglang/srt/other.py", 4)
    (tmp_path / "guards.z").write_bytes(content[:20])
    assert guardfacts.conditions_at("sglang/srt/lamp.py", 4) == ()
