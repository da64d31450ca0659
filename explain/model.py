"""Every value that crosses a seam between two modules. Imports nothing of ours.

The flow: bytes -> `Block` -> spots -> `Line` -> `Event` -> `Match` -> `Finding` -> `Report` -> renderer.
All classes are frozen and slotted; sequences are tuples, so a value can be shared and cached freely.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from explain.values import dataclass, field

Role = Literal["cause", "consequence", "warning", "noise"]
Kind = Literal["message", "traceback", "native"]

ROLES: tuple[Role, ...] = ("cause", "consequence", "warning", "noise")


# --------------------------------------------------------------------------- records


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an input of ours: a record, a file, an index.

    `path` is the file as the user named it, `pointer` the place inside it (a JSON pointer such as
    `/record/solutions/0`, or `line 12`), `hint` the next thing to try.
    """

    path: str
    pointer: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.path}: {self.pointer}" if self.pointer else self.path
        return f"{place}: {self.message}" + (f" ({self.hint})" if self.hint else "")


def reason_of(error: Exception) -> str:
    """Why the system refused something, as words within a sentence."""
    return (getattr(error, "strerror", None) or str(error)).lower()


@dataclass(frozen=True, slots=True)
class NearMiss:
    """Lines that look like a record's error and are not it, and the reason, shown to readers."""

    lines: tuple[str, ...]
    because: str


@dataclass(frozen=True, slots=True)
class Fit:
    """When one solution of a record comes first. `solution` is its 0-based index.

    `when` is the declarative condition of the record's `fits` entry, kept as it is in the file;
    `text` replaces the solution's text where it is given; `{slots}` in it are filled from captures, server
    arguments and memory figures. `then` says what the condition means: the solution comes `first` or `last`,
    keeps its place in other words (`reword`), is `already` applied or is `impossible` here; `text` of the last
    two is the reason given to the reader.
    """

    solution: int
    when: Mapping[str, Any]
    text: str | None = None
    then: Literal["first", "last", "reword", "already", "impossible"] = "first"


@dataclass(frozen=True, slots=True)
class Record:
    """One known error, in the dataset's schema version 2, plus the optional fields of ours.

    `raw` holds every field of the file as it was read, known to us or not, in the file's order.
    `area` is the folder it came from ("" for a record outside any folder).
    """

    id: str
    slug: str
    pattern: str
    """The `messagePattern`, in either named-group spelling."""
    title: str
    error_message: str
    error_type: str
    error_class: str | None
    severity: str
    role: Role
    file_path: str | None
    line_number: int | None
    documentation: str
    trigger_scenarios: str
    common_situations: str
    solutions: tuple[str, ...]
    example_fix: str | None
    prevention_tips: tuple[str, ...]
    tags: tuple[str, ...]
    github_url: str | None
    references: tuple[str, ...]
    examples: tuple[tuple[str, ...], ...]
    near_misses: tuple[NearMiss, ...]
    also: tuple[str, ...]
    fits: tuple[Fit, ...]
    frames: tuple[str, ...]
    """Frames of which at least one must be in the traceback: `sglang/path.py:function`, `sglang/folder/`."""
    area: str
    source: str
    """The file the record was read from, for messages."""
    raw: Mapping[str, Any]


# --------------------------------------------------------------------------- reading


@dataclass(frozen=True, slots=True)
class Block:
    """Some bytes of one source, in order. UTF-8 (anything else was decoded before).

    `data` ends at a line end except for the last block of a source and for a line longer than a block;
    `offset` is the position of its first byte in the decoded stream.
    """

    source: int
    offset: int
    data: bytes
    last: bool


@dataclass(frozen=True, slots=True)
class Stripped:
    """What a carrier left of a line.

    `text` is the line as the program wrote it; it may hold several lines joined by `\\n`. `key` tells
    streams apart (container, pod, pid, rank of the carrier), "" where the carrier names none. `time` is
    the carrier's stamp as printed. `partial` is true when the carrier says that the next line of the
    same key continues this one. `repeats` is how many times more the carrier says this line occurred.
    """

    text: str
    key: str = ""
    time: str | None = None
    partial: bool = False
    repeats: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log with its carriers gone.

    `number` is 1-based, of the physical line; `offset` is where that begins in the decoded source.
    """

    number: int
    text: str
    key: str = ""
    time: str | None = None
    repeats: int = 0
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: the source's name, the 1-based line, the time as the log prints it."""

    source: str
    line: int
    time: str | None = None


# --------------------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a traceback. `file` is as printed; `code` is the source line below it, if any."""

    file: str
    line: int
    function: str
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Traceback:
    """One exception of a chain.

    `frames` stand in call order, the deepest last. `exception` is the class as printed
    ("torch.OutOfMemoryError"), None where the paste ends before it. `message` is everything after
    `Class: `, several lines joined by `\\n`. `notes` are the lines added with `add_note`. `cause` is the
    exception printed before this one (the chain, innermost last), `linked` says how the text joined them.
    """

    frames: tuple[Frame, ...]
    exception: str | None
    message: str
    cause: Traceback | None = None
    linked: Literal["", "context", "cause", "group"] = ""

    @property
    def root(self) -> Traceback:
        """The innermost exception of the chain, the one that happened first."""
        here = self
        while here.cause is not None:
            here = here.cause
        return here


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened in the log.

    `message`: for a traceback, the exception's message; for a log message, the text after the prefix; for
    a native crash, its first telling line (further lines joined by `\\n`). `text` is everything that
    belongs to the event, carriers and prefixes gone: what patterns are confirmed against. `heading` is
    the log message a traceback was printed under ("Scheduler hit an exception"), "" where there is none.
    `level` is set where the log prints one. `chain` numbers the exceptions of one printed chain: 0 for
    the innermost, rising outwards; `chain_of` is the line of the chain's first event, None outside one.
    """

    kind: Kind
    source: int
    line: int
    end_line: int
    time: str | None
    rank: str | None
    exception: str | None
    message: str
    text: str
    heading: str = ""
    traceback: Traceback | None = None
    level: str | None = None
    key: str = ""
    repeats: int = 0
    chain: int = 0
    chain_of: int | None = None
    cut: Literal["", "head", "tail", "both"] = ""
    inside: bool = False
    """A bare line behind a message without a prefix of its own: part of that message, or somebody else's."""

    @property
    def frames(self) -> tuple[Frame, ...]:
        return self.traceback.frames if self.traceback else ()


@dataclass(frozen=True, slots=True)
class SiteInfo:
    """One place in SGLang's source, as the site index knows it.

    `file` starts at `sglang/`; `line` is that of `last_version`. `id` is 16 hex digits of the template.
    `gone` is true when the newest indexed release does not have it.
    """

    id: str
    file: str
    function: str
    line: int | None
    first_version: str
    last_version: str
    template: str = ""
    exception: str | None = None
    kind: str = "raise"
    """raise, assert, log:LEVEL, warn, http, abort."""
    gone: bool = False
    flags: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()
    """Where the same check stood in other releases: `sglang/old.py:function 0.5.13 to 0.5.18`."""


@dataclass(frozen=True, slots=True)
class Match:
    """What the catalogue and the site index say of one event. `score` orders matches of one event.

    `also` holds the ids of further records that matched. `captures` are the named groups.
    """

    event: Event
    record: Record | None
    site: SiteInfo | None
    captures: Mapping[str, str]
    confidence: float
    score: float = 0.0
    also: tuple[str, ...] = ()
    near: tuple[str, ...] = ()


# --------------------------------------------------------------------------- findings


@dataclass(frozen=True, slots=True)
class Dropped:
    """A solution that is not worth trying on this server, and why."""

    solution: str
    reason: str


@dataclass(frozen=True, slots=True)
class Recovery:
    """What became of the server after the last event of a finding.

    `serving`: it served requests again, `seconds` after, without a restart. `restarted`: it ended and a later
    start became ready, or is on its way where `seconds` is None. `dead`: it ended, or never became ready, and
    nothing came after. `unknown`: the log ends too soon to say. `place` is the line that shows it.
    """

    state: Literal["serving", "restarted", "dead", "unknown"]
    seconds: float | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """All events that say the same. `caused_by` is the index of another finding of the report.

    `frame` is the deepest SGLang frame, else the deepest one; its file starts at `sglang/` where it can.
    `frames` are the first event's, for showing an unexplained error. `text` is the first event's text.
    `why` says in words which rule gave the role.
    """

    role: Role
    kind: Kind
    count: int
    ranks: tuple[str, ...]
    first: Place
    last: Place
    exception: str | None
    message: str
    captures: Mapping[str, str]
    frame: Frame | None
    site: SiteInfo | None
    confidence: float
    record: Record | None
    solutions: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    caused_by: int | None = None
    frames: tuple[Frame, ...] = ()
    text: str = ""
    why: str = ""
    near: tuple[str, ...] = ()
    rank_counts: tuple[int, ...] = ()
    """Events of each of `ranks`, in the same order."""
    id: str = ""
    """16 hex digits that name this finding in every run over the same log: what it is, not where or how often."""
    dropped: tuple[Dropped, ...] = ()
    """Solutions left out of `solutions`, with the reason."""
    first_ranks: tuple[str, ...] = ()
    """The ranks that failed first, where clocks tell some from the others; else empty."""
    recovery: Recovery | None = None
    stuck: tuple[str, ...] = ()
    """What the stacks of a hang show: which rank's main thread stands elsewhere than the others'."""


@dataclass(frozen=True, slots=True)
class Source:
    """One input as it was read: its name, its physical lines, its decoded bytes."""

    path: str
    lines: int
    bytes: int


@dataclass(frozen=True, slots=True)
class MemoryStep:
    """One step of a rank's start-up and the GPU memory it left, in GB as the log prints it.

    `step` is `distributed`, `weights_begin`, `weights_end`, `pool_end`, `graph_begin` or `graph_end`.
    `used` is what the step took; None where the line does not say.
    """

    step: str
    rank: str
    available: float | None
    used: float | None
    place: Place


@dataclass(frozen=True, slots=True)
class Pool:
    """The KV pool of one rank: its tokens, its size in GB, its number format where the log names it."""

    rank: str
    tokens: int
    size: float
    dtype: str | None
    place: Place


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch line: `prefill` or `decode`, and its fields as printed (`#running-req` and so on)."""

    kind: Literal["prefill", "decode"]
    rank: str
    fields: Mapping[str, Any]
    place: Place


@dataclass(frozen=True, slots=True)
class Lifetime:
    """One start of a server. `failed` is the index of the finding that ended it, None where none is known."""

    start: Place
    ready: Place | None
    failed: int | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A server argument that differs between the last start that became ready and the first that failed."""

    argument: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Stall:
    """A server that stopped going on while its log did; the log does not say why.

    `serving`: no batch came after `place`, the last batch line, up to `until`, the last line with a time;
    `running` and `queued` are its requests then. `starting`: no further step of the start came after `place`;
    `step` says in words which was the last. `because` says in words what else shows it.
    """

    kind: Literal["serving", "starting"]
    seconds: float
    place: Place
    until: Place
    running: int | None = None
    queued: int | None = None
    step: str | None = None
    because: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LaunchContext:
    """What the log tells of how the server was started. Empty where it tells nothing.

    It is that of the lifetime in which the first finding stands, else of the last one. `memory` and `pools`
    hold every rank's steps in the order of the log; `limits` are the scheduler's (`max_total_num_tokens` and so
    on, the smallest where ranks differ); `batches` are the last ones before the first finding.
    `unfinished` says in words which ranks stopped on the way, `stalled` how the server as a whole stopped going
    on. `gpu` is the GPU's name if the log shows it.
    """

    sglang_version: str | None = None
    version_evidence: tuple[str, ...] = ()
    server_args: Mapping[str, Any] = field(default_factory=dict)
    args_place: Place | None = None
    command: str | None = None
    model: str | None = None
    quantization: str | None = None
    gpu: str | None = None
    attention_backend: str | None = None
    ranks: tuple[str, ...] = ()
    nodes: int | None = None
    memory: tuple[MemoryStep, ...] = ()
    pools: tuple[Pool, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)
    batches: tuple[Batch, ...] = ()
    lifetimes: tuple[Lifetime, ...] = ()
    changes: tuple[Change, ...] = ()
    unfinished: tuple[str, ...] = ()
    stalled: Stall | None = None


@dataclass(frozen=True, slots=True)
class Stats:
    lines: int
    bytes: int
    events: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """Findings, cause first; `unexplained` are the indexes of those with neither record nor site.

    `advice` is what to say when no finding is a cause: what the log holds and which log to fetch next.
    `folded` counts distinct findings that were not kept. `problems` are inputs that could not be read.
    """

    version: str
    sources: tuple[Source, ...]
    context: LaunchContext
    findings: tuple[Finding, ...]
    unexplained: tuple[int, ...]
    stats: Stats
    advice: tuple[str, ...] = ()
    folded: int = 0
    problems: tuple[Problem, ...] = ()
