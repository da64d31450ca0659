"""`json` and `jsonl` keep to the contract, whatever a log or a record holds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explain.model import Frame, LaunchContext, Place, Problem
from explain.render import json as json_format
from explain.render import jsonl
from tests.contract import check_json_output, check_jsonl_line, check_jsonl_output, strict_loads
from tests.render.reports import RAW, SECRET, SITE, consequence, event, finding, match, report, unexplained


def test_report_is_to_the_contract() -> None:
    data = json_format.render(
        report(
            finding(site=SITE),
            unexplained(),
            consequence(caused_by=0),
            advice=("Fetch the log of node 1.",),
            folded=3,
            problems=(Problem("other.log", "", "does not exist", "check the name"),),
        )
    )
    decoded = check_json_output(data)
    assert decoded["unexplained"] == [1]
    assert decoded["advice"] == ["Fetch the log of node 1."] and decoded["folded"] == 3
    assert decoded["problems"] == [
        {"path": "other.log", "pointer": "", "message": "does not exist", "hint": "check the name"}
    ]
    assert decoded["findings"][0]["record"] == RAW
    assert decoded["findings"][0]["solutions"] == RAW["solutions"]
    assert decoded["findings"][2]["caused_by"] == 0
    assert check_json_output(json_format.render(report()))["findings"] == []


def test_solutions_that_were_fitted_come_in_their_order() -> None:
    decoded = check_json_output(json_format.render(report(finding(solutions=("b", "a")))))
    assert decoded["findings"][0]["solutions"] == ["b", "a"]


def test_frames_start_at_the_package() -> None:
    frame = Frame("/usr/lib/python3.12/site-packages/sglang/srt/x.py", 3, "f")
    decoded = check_json_output(json_format.render(report(finding(frame=frame))))
    assert decoded["findings"][0]["frame"]["file"] == "sglang/srt/x.py"
    line = strict_loads(jsonl.event(event(), None, "cause", "server.log"))
    assert line["frame"] == {
        "file": "sglang/srt/model_executor/cuda_graph_runner.py",
        "line": 655,
        "function": "__init__",
    }


def test_event_lines_are_to_the_contract() -> None:
    known = strict_loads(jsonl.event(event(), match(), "cause", "server.log"))
    check_jsonl_line(known)
    assert known["record"] == {key: RAW[key] for key in ("id", "slug", "title", "severity")}
    assert known["site"]["first_version"] == "0.5.18"
    unknown = strict_loads(jsonl.event(event(traceback=None), None, "cause", "server.log"))
    check_jsonl_line(unknown)
    assert unknown["record"] is None and unknown["site"] is None and unknown["captures"] == {}


def test_summary_ends_the_lines() -> None:
    whole = report(finding(), consequence(caused_by=0))
    data = jsonl.event(event(), match(), "cause", "server.log") + jsonl.summary(whole)
    summary = check_jsonl_output(data)[-1]
    assert summary["cause"]["record"]["slug"] == RAW["slug"]
    assert summary["findings"] == {"cause": 1, "consequence": 1, "warning": 0, "noise": 0}
    assert check_jsonl_output(jsonl.summary(report(consequence())))[-1]["cause"] is None


def test_secrets_are_masked_in_every_string_of_the_log() -> None:
    nested = {"model_path": "m", "hf": {"hf_token": SECRET}, "headers": [f"Bearer {SECRET}"], "ok": "tokens"}
    whole = report(
        finding(
            message=f"failed with api_key='{SECRET}'",
            captures={"api_key": SECRET, "url": f"https://me:{SECRET}@host"},
            first=Place(f"https://me:{SECRET}@host/log", 1),
        ),
        context=LaunchContext(server_args=nested),
        problems=(Problem("x", "", f"--api-key {SECRET}"),),
        advice=(f"HF_TOKEN={SECRET}",),
    )
    data = json_format.render(whole)
    assert SECRET.encode() not in data
    assert SECRET.encode() not in jsonl.summary(whole)
    assert SECRET.encode() not in jsonl.event(event(), match(), "cause", "server.log")
    assert json.loads(data)["context"]["server_args"]["ok"] == "tokens"


def test_what_json_cannot_hold() -> None:
    odd: dict[str, Any] = {
        "inf": float("inf"),
        "nan": float("nan"),
        "bytes": b"x",
        "set": {1},
        "object": object,
    }
    odd["tuple"] = (1, None, True, 1.5)
    decoded = check_json_output(json_format.render(report(context=LaunchContext(server_args=odd))))
    arguments = decoded["context"]["server_args"]
    assert arguments["inf"] == "inf" and arguments["set"] == [1] and arguments["tuple"] == [1, None, True, 1.5]


@given(st.text(st.characters()), st.text(st.characters()))
def test_any_text_is_kept_and_disturbs_no_terminal(message: str, name: str) -> None:
    data = json_format.render(report(unexplained(message=message, exception=name)))
    decoded = check_json_output(data)
    if "key" not in message.lower() and message.isprintable() and message.isalnum():
        assert decoded["findings"][0]["message"] == message
    text = data.decode()
    assert not any(0x7F <= ord(c) < 0xA0 or (ord(c) < 32 and c != "\n") for c in text)
    assert "\u202e" not in text


@pytest.mark.parametrize("change", ["unknown", "missing", "type", "order", "role", "nan"])
def test_the_checks_can_fail(change: str) -> None:
    decoded = json.loads(json_format.render(report(finding())))
    if change == "unknown":
        decoded["findings"][0]["more"] = 1
    elif change == "missing":
        del decoded["stats"]["seconds"]
    elif change == "type":
        decoded["findings"][0]["count"] = "8"
    elif change == "order":
        decoded["schema"] = decoded.pop("schema")
    elif change == "role":
        decoded["findings"][0]["role"] = "root"
    else:
        decoded["stats"]["seconds"] = float("nan")
    with pytest.raises(AssertionError):
        check_json_output(json.dumps(decoded).encode())
