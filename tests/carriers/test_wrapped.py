"""A wrapped log comes back as it was, whatever it was wrapped in, in whatever order."""

from __future__ import annotations

import json

import pytest

from explain.carriers import Carriers
from tests.carriers.wrap import WRAPPERS
from tests.scoring import SHARED, cases

CASES = cases() if (SHARED / "cases").is_dir() else []
PROOF = "[2026-11-30 08:00:00] The server is fired up and ready to roll!\n"
"""Some carriers are believed only once a server's line stood behind them."""


def stripped(text: str) -> list[str]:
    """The lines that `Carriers` finds, with the parts of cut ones joined as the engine joins them."""
    carriers = Carriers()
    lines: list[str] = []
    parts: dict[str, str] = {}
    for physical in text.split("\n"):
        for piece in carriers.strip(physical.removesuffix("\r")):
            whole = parts.pop(piece.key, "") + piece.text
            if piece.partial:
                parts[piece.key] = whole
            else:
                lines += [line.rstrip() for line in whole.split("\n")]
    return lines + list(parts.values())


@pytest.mark.parametrize("name", WRAPPERS)
def test_wrapped_cases(name: str) -> None:
    if not CASES:
        pytest.skip("the shared cases are not here")
    for case, content in CASES:
        text = PROOF + content["log"].strip("\n")
        expected = stripped(text)
        got = stripped(WRAPPERS[name](text))
        if name == "fence":
            got = got[1:-1]
        assert got == expected, f"{case} in {name}"


def test_a_bare_log_is_left_alone() -> None:
    """Cases that no carrier brought are returned as they are, line by line."""
    if not CASES:
        pytest.skip("the shared cases are not here")
    for case, content in CASES:
        if not content["carrier"].startswith("plain") or "backtick" in content["carrier"]:
            continue
        for line in content["log"].split("\n"):
            found = Carriers().strip(line)
            assert [(one.text, one.key, one.time) for one in found] == [(line, "", None)], case


def test_json_is_not_needed_to_be_ascii() -> None:
    line = json.dumps({"log": "模型 █\n", "stream": "stderr", "time": "t"}, ensure_ascii=False)
    assert Carriers().strip(line)[0].text == "模型 █"
