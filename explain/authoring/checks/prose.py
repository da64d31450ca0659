"""Checks of what a record tells people: that it is there, specific, and its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from explain.authoring.book import Book, Entry
from explain.authoring.checks.registry import check
from explain.authoring.checks.words import VAGUE, VERBS
from explain.model import Record
from explain.record import TITLE_LENGTH

FEWEST_WORDS = 6
REPEATED_WORDS = 6
"""Sentences of fewer words may stand in several records."""

CONCRETE = re.compile(
    r"--[a-z]"  # a flag
    r"|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b"  # an environment variable
    r"|\d"  # a value or version
    r"|`[^`]+`|'[^']+'|\"[^\"]+\""  # something quoted
    r"|\b\w+[=/]\w|\w\.\w+\("  # an assignment, a path, a call
    r"|\b\w+\.(?:py|json|safetensors|so|gguf|md|sh|log|txt|yaml|service)\b"  # a file
    r"|\b\w+_\w+\b"  # a name of the program
    r"|\b(?:pip|docker|kubectl|nvidia-smi|rocm-smi|dmesg|journalctl|systemctl|apt|hf|huggingface-cli|git|gdb|ldd"
    r"|nccl-tests|py-spy|compute-sanitizer|numactl|ulimit|curl|lsof|ss|env|export|nvcc|ptxas|python)\b"
)


@check
def content(entry: Entry, book: Book) -> None:
    """Title, documentation, triggers, situations, solutions, tips and tags are there."""
    record = entry.record
    title = str(record.raw.get("title") or "")
    if not title.strip():
        entry.says("/title", "is missing")
    elif len(title) >= TITLE_LENGTH:
        entry.says("/title", f"has {len(title)} characters", f"under {TITLE_LENGTH}")
    for name, text in prose_fields(record):
        if len(text.split()) < FEWEST_WORDS:
            entry.says(f"/{name}", "is missing or says next to nothing")
    if not record.solutions:
        entry.says("/solutions", "has none")
    if not record.prevention_tips:
        entry.says("/preventionTips", "has none")
    if not record.tags:
        entry.says("/tags", "has none")


def prose_fields(record: Record) -> tuple[tuple[str, str], ...]:
    return (
        ("documentation", record.documentation),
        ("triggerScenarios", record.trigger_scenarios),
        ("commonSituations", record.common_situations),
    )


def prose_of(record: Record) -> Iterator[tuple[str, str]]:
    """All texts people read, each with the pointer to it."""
    yield "/title", record.title
    for name, text in prose_fields(record):
        yield f"/{name}", text
    for index, text in enumerate(record.solutions):
        yield f"/solutions/{index}", text
    for index, text in enumerate(record.prevention_tips):
        yield f"/preventionTips/{index}", text
    for index, miss in enumerate(record.near_misses):
        yield f"/nearMisses/{index}/because", miss.because
    for index, fit in enumerate(record.fits):
        if fit.text:
            yield f"/fits/{index}/text", fit.text


@check
def solutions(entry: Entry, book: Book) -> None:
    """Each solution starts with a verb and names something concrete to do it with."""
    for index, text in enumerate(entry.record.solutions):
        words = text.split()
        first = re.sub(r"\W+$", "", words[0]).lower() if words else ""
        if first not in VERBS:
            entry.says(f"/solutions/{index}", f"starts with {first!r}", "start with a verb: what to do, then when")
        if not CONCRETE.search(text):
            hint = "a flag, value, command, file or version"
            entry.says(f"/solutions/{index}", "names nothing concrete", hint)


@check
def vague(entry: Entry, book: Book) -> None:
    """No phrase that sounds like advice and is none."""
    for pointer, text in prose_of(entry.record):
        lower = " ".join(text.lower().split())
        for phrase in VAGUE:
            if phrase in lower:
                entry.says(pointer, f"says {phrase!r}", "say what exactly to do or look at")


@check
def repeated(entry: Entry, book: Book) -> None:
    """No sentence that another record, or this one elsewhere, has word for word."""
    seen: dict[str, str] = {}
    for pointer, text in prose_of(entry.record):
        if pointer.startswith("/fits/"):
            continue  # another wording of a solution, never shown beside it
        for sentence in sentences(text):
            if sentence in seen:
                entry.says(pointer, f"repeats {seen[sentence]}: {sentence[:60]!r}")
            seen.setdefault(sentence, pointer)
            for other, place in book.sentences(sentences_of).get(sentence, ()):
                if other is not entry:
                    what = f"has a sentence of {other.record.slug}{place}: {sentence[:60]!r}"
                    entry.says(pointer, what)
                    break


def sentences_of(record: Record) -> Iterator[tuple[str, str]]:
    for pointer, text in prose_of(record):
        if pointer.startswith("/fits/"):
            continue  # the same figures are told in the same words
        for sentence in sentences(text):
            yield pointer, sentence


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text in lower case, the short ones left out."""
    for sentence in re.split(r"(?<=[.!?;:])\s+|\n+", text):
        words = re.findall(r"[^\s.,;:!?()]+", sentence.lower())
        if len(words) >= REPEATED_WORDS:
            yield " ".join(words)
