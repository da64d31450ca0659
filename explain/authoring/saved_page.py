"""The facts on a saved page about an error: its headings and what stands below them. No prose is taken."""

from __future__ import annotations

import re
from typing import Any

HEADINGS = (
    *("Error message", "What it means", "Source", "Solutions", "Example fix", "When it happens"),
    *("Related errors", "Prevention"),
)
FIRST = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+) · (?P<severity>\w+)(?: · (?P<error_class>[\w.]+))?\s*$")
THROWN = re.compile(r"(?:Thrown|Raised|Logged) at (?P<path>[\w./-]+):(?P<line>\d+)")
ID = re.compile(r"/api/errors/(?P<id>[0-9a-f]{16})\b")
REVISION = re.compile(r"@(?P<sha>[0-9a-f]{7,40})\b|pinned to (?P<pinned>[0-9a-f]{7,40})")
DATE = re.compile(r"\((?P<date>\d{4}-\d\d-\d\d)\)")


def looks_like_page(text: str) -> bool:
    """Whether the text is such a page: its first line names a repository, and a heading the message."""
    lines = [line.strip() for line in text.splitlines()[:40]]
    return bool(lines) and "Error message" in lines and any(FIRST.match(line) for line in lines[:5])


def facts_of_page(text: str) -> dict[str, Any]:
    """Fields of the schema that the page states; those it does not state are missing."""
    facts: dict[str, Any] = {"errorType": "exception"}
    for line in text.splitlines():
        if found := FIRST.match(line.strip()):
            facts |= {"repo": found["repo"], "severity": found["severity"].lower()}
            facts["errorClass"] = found["error_class"]
            break
    facts["errorMessage"] = below(text, "Error message")
    if found := THROWN.search(text):
        facts |= {"filePath": found["path"], "lineNumber": int(found["line"])}
    if found := ID.search(text):
        facts["id"] = found["id"]
    if found := REVISION.search(text):
        facts["analyzedSha"] = found["sha"] or found["pinned"]
        if facts.get("filePath"):
            anchor = f"#L{facts['lineNumber']}"
            address = f"https://github.com/{facts.get('repo')}/blob/{facts['analyzedSha']}/{facts['filePath']}"
            facts["githubUrl"] = address + anchor
    if found := DATE.search(text):
        facts["analyzedAt"] = found["date"]
    return facts


def below(text: str, heading: str) -> str:
    """What stands between a heading and the next one."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.strip() == heading), None)
    if start is None:
        return ""
    kept = []
    for line in lines[start + 1 :]:
        if line.strip() in HEADINGS:
            break
        kept.append(line.rstrip())
    return "\n".join(kept).strip()
