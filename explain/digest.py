"""Digests that name things. A healthy log needs none, so the module behind them, which loads OpenSSL, comes late."""

from __future__ import annotations


def digest_of(content: str | bytes) -> str:
    """The SHA-256 of bytes, or of a text in UTF-8, in 64 hex digits."""
    from hashlib import sha256

    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    return sha256(data).hexdigest()
