"""Needles: what every match must contain. And patterns that cannot be trusted."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from explain.needles import LONGEST_NEEDLE, UNSAFE, Needle, needles, trap
from explain.pattern import WITHOUT_DIGITS, Pattern, compile_error
from explain.required import requirement_of


def texts(pattern: str) -> list[str]:
    return [needle.text for needle in needles(pattern)]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"Not enough memory\.", ["Not enough memory."]),
        (r"^Killed$", ["Killed"]),
        (r"(?P<size>\d+) tokens left of (?<all>\d+)", ["tokens left of"]),
        (r"[Cc]apture failed", ["Capture failed", "capture failed"]),
        (r"pool (?:is|was) exhausted", ["pool is exhausted", "pool was exhausted"]),
        (r"The (?:memory )?capacity is unbalanced", ["capacity is unbalanced"]),
        (r"first thing|second thing", ["first thing", "second thing"]),
        (r"(?:boom )+end of it", ["end of it"]),
        (r"lost(?= heart)beat", ["lostbeat"]),
        (r"size\=\{[^}]*\} wanted", ["} wanted"]),
        (r"tab\there wanted", ["here wanted"]),
        (r"\x41\u0042CD gone", ["ABCD gone"]),
        (r"(?#a note)worker died(?# another)", ["worker died"]),
        (r"(?>atomic part) and \d{1,3}", ["atomic part and"]),
        (r"[[:alpha:]]+ is lost", ["is lost"]),
        (r"\p{L}+ went away", ["went away"]),
        (r"(?P<a>x)(?P=a)", []),
        (r"abc", []),
        (r"long one|ab", []),
        (r"\d+", []),
        (r".*", []),
        (r"", []),
        (r"(?x) spaced out text", []),
        (r"(?:nearly right){e<=1}", []),
        (r"(unbalanced text", []),
        (r"[unclosed class", []),
        (r"it's \"so\" <b>ad", []),
    ],
)
def test_needles_are_the_literals_every_match_needs(pattern: str, expected: list[str]) -> None:
    assert texts(pattern) == expected


def test_a_caseless_pattern_has_caseless_needles() -> None:
    assert needles(r"(?i)Unable To Open") == (Needle("unable to open", caseless=True),)


def test_a_long_literal_is_cut_to_its_most_telling_words() -> None:
    (needle,) = needles(r"The server could not bind the port because DeepEP 'x' low_latency mode is unavailable")
    assert len(needle.text) <= LONGEST_NEEDLE
    assert needle.text in ("the port because DeepEP", "low_latency mode is")


def test_an_optional_part_is_not_required() -> None:
    assert texts(r"(?:maybe this )?surely that") == ["surely that"]
    assert texts(r"(?:maybe this )*surely that") == ["surely that"]


WORDS = st.text(alphabet="abcXYZ 019_-'\"<\\.*+?(){}[]|^$é", min_size=1, max_size=8)


def literal(text: str) -> tuple[str, str]:
    return regex.escape(text), text


def sequences(parts: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[tuple[str, str]]:
    joined = st.lists(parts, min_size=1, max_size=4)
    return joined.map(lambda pairs: ("".join(p for p, _ in pairs), "".join(t for _, t in pairs)))


def wrapped(parts: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[tuple[str, str]]:
    """Larger patterns from smaller ones, each with a text that it matches."""
    return st.one_of(
        sequences(parts),
        parts.map(lambda pair: (f"(?:{pair[0]})?", pair[1])),
        parts.map(lambda pair: (f"(?:{pair[0]})?", "")),
        parts.map(lambda pair: (f"(?:{pair[0]})+", pair[1] * 2)),
        parts.map(lambda pair: (f"(?:{pair[0]})*?", "")),
        parts.map(lambda pair: (f"(?:{pair[0]}){{2,3}}", pair[1] * 3)),
        parts.map(lambda pair: (f"({pair[0]})", pair[1])),
        st.tuples(parts, parts).map(lambda two: (f"(?:{two[0][0]}|{two[1][0]})", two[1][1])),
        st.tuples(parts, parts).map(lambda two: (f"{two[0][0]}(?={two[1][0]}|)", two[0][1])),
    )


PATTERNS = st.recursive(
    st.one_of(
        WORDS.map(literal),
        st.sampled_from([(r"\d+", "42"), (r"\s", " "), (".", "q"), ("[abc]", "b"), ("[^x]", "y"), (r"\w*", "")]),
        st.sampled_from([("[]x]", "]"), (r"[\]a-c]", "b"), ("[-x]", "-"), (r"\bword\b", "word"), ("(?i:AbC)", "aBc")]),
    ),
    wrapped,
    max_leaves=12,
)


@given(PATTERNS, st.text(max_size=5), st.text(max_size=5))
@settings(max_examples=400)
def test_whatever_a_pattern_matches_holds_one_of_its_needles(pair: tuple[str, str], before: str, after: str) -> None:
    pattern, text = pair
    found = needles(pattern)
    for match in regex.finditer(pattern, f"{before} {text} {after}"):
        inside = match[0]
        assert not found or any(needle.text in (inside.lower() if needle.caseless else inside) for needle in found), (
            pattern,
            inside,
            found,
        )


@given(PATTERNS, PATTERNS, st.text(max_size=5))
@settings(max_examples=400)
def test_whatever_a_pattern_matches_holds_what_it_requires(
    pair: tuple[str, str], other: tuple[str, str], around: str
) -> None:
    pattern = f"{pair[0]}|{other[0]}"
    required = requirement_of(pattern)
    for text in (pair[1], other[1], f"{around} {pair[1]}{other[1]}"):
        if regex.search(pattern, text) is not None:
            assert Pattern(pattern, 0, required).search(text) is not None, (pattern, text, required)
            assert Pattern(pattern, 0, required).could_match(text.translate(WITHOUT_DIGITS)), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "meeting", "missing"),
    [
        (r"^size (?P<n>\d+) exceeds limit", "size 7 exceeds limit", "size 7 exceeds budget"),
        (r"foo=\d+ bar|needs (?:CUDA|SM90)", "needs SM90", "needs more than foo"),
        (r"Assertion (?:`|')?\w+[^\n]{0,9} failed", "Assertion x failed", "it failed"),
        (r"fp8_e4m3 is not supported", "fp8_e4m3 is not supported", "fp8_e5 is not"),
    ],
)
def test_a_text_without_what_is_required_is_refused_unread(pattern: str, meeting: str, missing: str) -> None:
    tried = Pattern(pattern, 0, requirement_of(pattern))
    assert tried.search(missing) is None and "compiled" not in tried.__dict__
    assert not tried.could_match(missing.translate(WITHOUT_DIGITS))
    assert tried.search(meeting) is not None
    assert tried.could_match(meeting.translate(WITHOUT_DIGITS))


@given(st.text(alphabet="ab(){}[]|?*+\\^$.<>P:=!#i-1,", max_size=30))
@settings(max_examples=400)
def test_no_pattern_breaks_the_reader(pattern: str) -> None:
    for needle in needles(pattern):
        assert len(needle.text) >= 4
        assert not set(needle.text) & UNSAFE
        assert needle.text.isascii() and needle.text.isprintable()


def test_a_slow_pattern_does_not_match_and_is_counted() -> None:
    pattern = Pattern(r"(a+a+)+\$")
    assert pattern.search("a" * 5000, timeout=0.02) is None
    assert pattern.timeouts == 1


def test_a_trap_is_found_for_nested_quantifiers_and_not_for_plain_ones() -> None:
    assert trap(r"(\w+\s?)+ is bad$", "some thing is bad", length=2000, seconds=0.05) is not None
    assert trap(r"size (?P<a>\d+) of (?P<b>[^\n]*?) is bad", "size 1 of 2 is bad", length=20_000) is None


def test_an_error_of_a_pattern_says_where() -> None:
    assert compile_error(r"fine (?<name>\d+)") is None
    assert "position 3" in (compile_error("a(b") or "")


def test_agreement_tells_how_far_a_pattern_goes() -> None:
    pattern = Pattern(r"^Rank \d+ of \d+ failed")
    start, end = pattern.agreement("Rank 3 of 8 is alive")
    assert pattern.text[start:end] == r"^Rank \d+ of \d+ "
    assert pattern.matched_up_to("nothing alike") == 0
    start, end = Pattern("first one|second (?:two|three) x").agreement("the second two y")
    assert (start, end) == (10, 31)


@pytest.mark.parametrize(
    ("pattern", "text", "agreed"),
    [
        (r"no memory\.(?: Please)? increase it", "no memory.", "no memory\\."),
        (r"no memory\.(?: Please)? increase it", "no memory. Please lower it", "no memory\\.(?: Please)? "),
        (r"no memory\.(?: Please)? increase it", "no memory. inform", "no memory\\.(?: Please)? in"),
        (r"no memory\.(?: Please)?", "no memory. Try again", "no memory\\.(?: Please)?"),
        (r"(?i)\[?\w*\]? ?out of memory", "out of space", "(?i)\\[?\\w*\\]? ?out of "),
        (r"(?i)(?:CUDA )?out of memory", "all is well", ""),
        (r"(?:no )*memory left\b now", "memory left then", r"(?:no )*memory left\b "),
        (r"no (room|memory)(?: for \1)? left", "no room: full", "no (room|memory)"),
    ],
)
def test_a_part_that_may_be_empty_is_no_agreement_by_itself(pattern: str, text: str, agreed: str) -> None:
    start, end = Pattern(pattern).agreement(text)
    assert pattern[start:end] == agreed
