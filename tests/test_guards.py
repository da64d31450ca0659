"""When a place in SGLang's source raises: the tests above it, in words."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from explain import atsource, guardfacts
from explain.atsource import at_source
from explain.guards import guard_at, words
from explain.model import Report, SiteInfo
from explain.render import terminal
from explain.render.layout import NO_SOURCE
from tests.contexts.servers import Server
from tests.helpers import explain_text, matcher

SOURCE = textwrap.dedent(
    '''
    import os

    class Lamp:
        def light(self, watts, colour):
            """Lights."""
            if watts is None:
                return None
            if self.server_args.tp_size % self.server_args.dp_size == 0:
                pass
            elif watts > 100 or not colour:
                for bulb in self.bulbs:
                    if bulb.broken:
                        continue
                    raise ValueError(
                        "too bright"
                    )
            else:
                assert colour in ("red", "green"), "odd colour"
            try:
                os.remove("x")
            except OSError as error:
                raise RuntimeError("gone") from error
            match colour:
                case "red" if watts > 3:
                    raise KeyError(colour)
            logger.error("dark")
            while watts:
                raise StopIteration
            with self.lock:
                raise TimeoutError

        def plain(self):
            raise NotImplementedError

    raise SystemExit
    '''
)


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(SOURCE.split("\n"), 1) if text in line)


@pytest.mark.parametrize(
    ("text", "kind", "conditions"),
    [
        (
            '"too bright"',
            "raise",
            (
                "watts is not None",
                "tp_size % dp_size is not 0",
                "watts is greater than 100 or colour is not set",
                "bulb.broken is not set",
            ),
        ),
        (
            "odd colour",
            "assert",
            (
                "watts is not None",
                "tp_size % dp_size is not 0",
                "watts is at most 100 and colour is set",
                "colour is not in ('red', 'green')",
            ),
        ),
        ('"gone"', "raise", ("watts is not None", "OSError was caught")),
        ("KeyError", "raise", ("watts is not None", "colour is 'red'", "watts is greater than 3")),
        ("dark", "log", ("watts is not None",)),
        ("StopIteration", "raise", ("watts is not None", "watts is set")),
        ("TimeoutError", "raise", ("watts is not None",)),
        ("NotImplementedError", "raise", ()),
        ("SystemExit", "raise", ()),
    ],
)
def test_all_that_must_hold_is_told_in_order(text: str, kind: str, conditions: tuple[str, ...]) -> None:
    guard = guard_at(SOURCE, line_of(text))
    assert guard is not None and (guard.kind, guard.conditions) == (kind, conditions)


def test_the_names_of_the_tests_are_known() -> None:
    guard = guard_at(SOURCE, line_of("too bright"))
    assert guard is not None and {"tp_size", "dp_size", "watts"} <= set(guard.names)


@pytest.mark.parametrize("line", [line_of("import os"), line_of("os.remove"), line_of("pass"), 0, 10_000])
def test_a_line_that_raises_nothing_has_no_guard(line: int) -> None:
    assert guard_at(SOURCE, line) is None


@pytest.mark.parametrize("text", ["def f(:\n", "x = \0", "if x:\n\traise A\n        raise B\n", "(" * 5000])
def test_what_python_cannot_read_has_no_guard(text: str) -> None:
    assert guard_at(text, 1) is None


@pytest.mark.parametrize(
    ("test", "said", "opposite"),
    [
        ("a == 1", "a is 1", "a is not 1"),
        ("a < b", "a is less than b", "a is at least b"),
        ("a % 4", "a % 4 is not 0", "a % 4 is 0"),
        ("a <= b", "a is at most b", "a is greater than b"),
        ("a is None", "a is None", "a is not None"),
        ("a not in b", "a is not in b", "a is in b"),
        ("not a", "a is not set", "a is set"),
        ("f(a)", "f(a) is true", "f(a) is false"),
        ("a and (b or c)", "a is set and (b is set or c is set)", "a is not set or (b is not set and c is not set)"),
        ("0 < a < 3", "0 < a < 3", "not (0 < a < 3)"),
        ("not (a and not b)", "a is not set or b is set", "a is set and b is not set"),
        ("self.server_args.tp_size > self.x", "tp_size is greater than x", "tp_size is at most x"),
    ],
)
def test_a_test_and_its_opposite_in_words(test: str, said: str, opposite: str) -> None:
    tree = ast.parse(test, mode="eval").body
    assert (words(tree), words(tree, holds=False)) == (said, opposite)


# ------------------------------------------------------------------ beside a log


FILE = "sglang/srt/managers/lamps.py"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_text(SOURCE)
    (tmp_path / "sglang-0.5.11.dist-info").mkdir()
    return tmp_path


def failed(line: int, code: str, message: str = "a wholly new sentence about lamps", release: str = "0.5.10") -> str:
    server = Server(release, tp=2)
    server.start()
    server.exception(
        "TP0",
        [("sglang/srt/managers/scheduler.py", 700, "event_loop_overlap", "result = self.run_batch(batch)"),
         (FILE, line, "light", code)],
        f"ValueError: {message}",
    )  # fmt: skip
    return server.text


def test_an_unknown_error_has_its_source_and_when_it_is_raised(copy: Path) -> None:
    report = explain_text(failed(line_of("raise ValueError("), "raise ValueError("))
    found = at_source(report, copy)
    assert [one.text.strip() for one in found.code if one.here] == ["raise ValueError("]
    assert found.conditions[1] == "tp_size % dp_size is not 0"
    assert found.values == ("dp_size=1", "tp_size=2")
    assert found.note == "as SGLang 0.5.11 here has it; the log is of 0.5.10 to 0.5.10.post1"
    text = " ".join(terminal.render(report, width=90, color=False, source=found).split())
    assert "If watts is not None, and tp_size % dp_size is not 0, and" in text
    assert "(server arguments of these names: dp_size=1, tp_size=2)" in text


def test_the_printed_code_decides_where_the_line_moved(copy: Path) -> None:
    found = at_source(explain_text(failed(900, "raise ValueError(")), copy)
    assert [one.number for one in found.code if one.here] == [line_of("raise ValueError(")]


def test_a_copy_that_does_not_have_the_line_shows_nothing(copy: Path) -> None:
    assert at_source(explain_text(failed(12, "raise ValueError(other)")), copy) == NO_SOURCE


def test_a_frame_outside_sglang_and_a_missing_copy_show_nothing(copy: Path, tmp_path: Path) -> None:
    report = explain_text(
        'Traceback (most recent call last):\n  File "/a/b.py", line 1, in f\n    g()\nOddError: new\n'
    )
    assert at_source(report, copy) == NO_SOURCE
    report = explain_text(failed(line_of("raise ValueError("), "raise ValueError("))
    assert at_source(report, tmp_path / "none" / "none") == NO_SOURCE


def test_a_line_that_calls_shows_its_code_and_no_condition(copy: Path) -> None:
    found = at_source(explain_text(failed(line_of("os.remove"), 'os.remove("x")')), copy)
    assert found.code and not found.conditions


def test_a_file_that_is_no_python_shows_its_code_only(copy: Path) -> None:
    (copy / FILE).write_text("def f(:\n    raise ValueError(\n")
    found = at_source(explain_text(failed(2, "raise ValueError(")), copy)
    assert found.code and not found.conditions


def test_a_message_that_was_put_together_before_leads_to_the_line_that_raises(tmp_path: Path) -> None:
    """SGLang's own way: the message is assigned first, so its words do not stand at the `raise`."""
    file = "sglang/srt/layers/quantization/petit_utils.py"
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(
        "def f(quant_method, group_size):\n"
        '    text = f"Petit currently only supports: {quant_method} group"\n'
        "    if group_size != 16:\n"
        "        raise ValueError(text)\n"
    )
    server = Server("0.5.23")
    server.start()
    server.exception(
        "", [(file, 4, "f", "raise ValueError(text)")], "ValueError: Petit currently only supports: x group"
    )
    report = explain_text(server.text)
    first = report.findings[0]
    site = SiteInfo("0" * 16, file, "f", 4, "0.5.1", "0.5.23", "Petit currently only supports: {method} group")
    report = replace(report, findings=(replace(first, record=None, site=site), *report.findings[1:]))
    assert at_source(report, tmp_path).conditions == ("group_size is not 16",)


# ------------------------------------------------------------------ without a copy


def known_message(monkeypatch: pytest.MonkeyPatch, release: str = "0.5.23") -> Report:
    """The report of an error that SGLang itself raises and no record explains, with no copy of SGLang at hand."""
    monkeypatch.setattr(atsource, "installed_sglang", lambda: None)
    report = explain_text(failed(40, "raise ValueError(", "lamps do not fit", release))
    first = replace(
        report.findings[0],
        record=None,
        site=SiteInfo("0" * 16, FILE, "light", 40, "0.5.1", "0.5.23", "lamps do not fit", kind="raise"),
    )
    return replace(report, findings=(first, *report.findings[1:]))


@pytest.mark.parametrize(
    ("release", "note"), [("0.5.23", ""), ("0.5.18", "as SGLang 0.5.23 has it; the log is of 0.5.18")]
)
def test_what_was_harvested_says_when_it_is_raised(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, release: str, note: str
) -> None:
    report = known_message(monkeypatch, release)
    monkeypatch.setattr(guardfacts, "SHIPPED", tmp_path / "none")
    monkeypatch.setattr(guardfacts, "CHECKOUT", tmp_path)
    assert at_source(report, None) == NO_SOURCE
    (tmp_path / "srt-managers.tsv").write_text(f"# {FILE}\n39\tx is set\n40\t…\ttp_size is less than watts\n")
    found = at_source(report, None)
    assert found.conditions == ("…", "tp_size is less than watts") and found.values == ("tp_size=2",)
    assert found.note == note and not found.code


def test_the_shipped_conditions_are_of_places_that_the_index_knows() -> None:
    if not Path(guardfacts.CHECKOUT).is_dir():
        pytest.skip("none were harvested here")
    sites = matcher().sites
    assert sites is not None
    known = [sites.site(number) for number in range(0, len(sites), 211)]
    raised = [site for site in known if site.kind == "raise" and site.template and site.line]
    told = [site for site in raised if guardfacts.conditions_at(site.file, site.line or 0)]
    assert len(raised) > 40 and len(told) > 0.6 * len(raised)
