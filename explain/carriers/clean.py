"""What copying does inside a line, wherever it stands: progress bars, links, entities, marks at the end."""

from __future__ import annotations

from explain.carriers.memory import Memory
from explain.expressions import expression

MOST_PARTS = 1_000
"""Texts that a terminal showed one over the other."""
_PERCENT = expression(r"\d%\|")
_PHONE_LINK = expression(r"\[([^\[\]]{1,200})\]\(tel:[^()\s]{0,40}(?: [^()]{0,40})?\)")
_LINK = expression(r"\[(#\d+|@[\w-]+|https?://[^\s\]]{1,500})\]\(https?://[^()\s]{1,500}\)")
_ENTITY = expression(r"&(?:lt|gt|amp|quot|apos|nbsp|#39|#34|#x27|#x22|#x2F);")
# Code holds entities, too. These are a page's rendering of a traceback.
_SURE_ENTITY = expression(r"File &(?:quot|#34|#x22);|, in &lt;\w+&gt;|^&gt; |Error: [^&]{0,400}&(?:#39|#x27|quot);")
_SCROLL = expression(r" {2,}\[\d{1,7}/\d{1,7}\]$")
_ADDRESS = expression(r"^((?:[A-Za-z_][\w.]*: )?)\[address=[\w.:\[\]-]{1,100}, pid=\d+\] ")
_RAW = expression(r"[<>\"']")
_ENTITIES = ("clean", "entities")


def without_progress(text: str) -> list[str]:
    """The lines that are left of a line with carriage returns: later text wrote over the bars."""
    shown = [part for part in text.split("\r") if part.strip()]
    if len(shown) <= 1:
        return shown or [""]
    kept = [part for part in shown[:-1] if not _is_progress(part)]
    return [*kept[-MOST_PARTS:], shown[-1]]


def _is_progress(text: str) -> bool:
    if "it/s]" in text or " Completed |" in text or "s/it]" in text or "?it/s" in text:
        return True
    return "%|" in text and _PERCENT.search(text) is not None


def without_entities(text: str, memory: Memory) -> str:
    """`text` as it was before a page escaped it. Code that names an entity keeps it."""
    if ";" not in text or not _ENTITY.search(text):
        return text
    if _SURE_ENTITY.search(text):
        memory.known.add(_ENTITIES)
    if _ENTITIES in memory.known or not _RAW.search(text):
        from html import unescape

        return unescape(text)
    return text


def cleaned(text: str) -> str:
    """`text` without what pages and terminals added to it."""
    if "](" in text:
        if "](tel:" in text:
            text = _PHONE_LINK.sub(r"\1", text)
        if "](http" in text:
            text = _LINK.sub(r"\1", text)
    if text.endswith("]") and "  [" in text[-24:]:
        text = _scrolled(text)
    if "[address=" in text:
        text = _ADDRESS.sub(r"\1", text)
    if "\\" in text:
        text = _unquoted(text)
    return text


def _scrolled(text: str) -> str:
    head, tail = text[:-40], text[-40:]
    found = _SCROLL.search(tail)
    return (head + tail[: found.start()]).rstrip() if found else text


def _unquoted(text: str) -> str:
    """A single line out of a JSON text: its quotes are still escaped."""
    if 'File \\"' in text:
        text = text.replace('\\"', '"')
    return text[:-2].rstrip() if text.endswith("\\n") and not text.endswith("\\\\n") else text
