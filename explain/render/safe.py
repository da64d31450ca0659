"""Makes text of a log fit to be printed: no live control characters, no secrets.

A log is written by strangers. What it holds must not move a terminal's cursor, reorder what is read, or
carry a password into a bug report. Every renderer passes every string of a log through this module.
All patterns here are linear in the length of the text.
"""

from __future__ import annotations

import re

from explain.expressions import expression

HIDDEN = "***"

# --------------------------------------------------------------------------- control characters

_ESCAPE_SEQUENCE = expression(
    r"""\x1b\[[0-?]{0,64}[\ -/]{0,8}[@-~]          # CSI: colours, cursor moves
      | \x9b[0-?]{0,64}[\ -/]{0,8}[@-~]            # the same with the one-character introducer
      | \x1b[\]PX^_][^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)   # OSC, DCS, SOS, PM, APC: titles, links
      | \x1b[()*+\-./][0-9A-Za-z]                  # character sets
    """,
    re.VERBOSE,
)
# Controls, and everything that is invisible or changes the order of what stands around it.
_UNPRINTABLE = expression(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
    "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
# What may stay in JSON only as an escape: harmless to a decoder, not to a terminal that shows the file.
_JSON_UNSAFE = expression(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\U000e0000-\U000e0fff]"
)
_SURROGATE = expression("[\ud800-\udfff]")
_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u3164\uffa0" + "".join(map(chr, range(0xE0100, 0xE01F0)))
)
"""What of `_UNPRINTABLE` Python calls printable."""


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code == 9:
        return "    "
    if code < 32:
        return chr(0x2400 + code)
    return "\u2421" if code == 127 else f"<U+{code:04X}>"


def clean(text: str) -> str:
    """`text` without terminal escapes; what else cannot be printed is shown (`\\x07` as `␇`).

    Line feeds stay; carriage returns before them go; tabs become four spaces. The result holds no control
    character but `\\n`, nothing invisible, nothing that changes the reading direction, no lone surrogate.
    """
    # Asked first: most texts need none of it, and the expressions take a while to compile.
    if text.replace("\n", "").isprintable() and (text.isascii() or _INVISIBLE.isdisjoint(text)):
        return text
    return _UNPRINTABLE.sub(_picture, _ESCAPE_SEQUENCE.sub("", text.replace("\r\n", "\n")))


# --------------------------------------------------------------------------- secrets

# What a name ends in that holds a secret: `api_key`, `ssl_keyfile_password`, `hf-token`, `apiKey`.
_NAME = (
    r"(?:api[_-]?keys?|passwords?|passwd|passphrase|secret[_-]?(?:access[_-]?)?keys?|client[_-]?secret|secret"
    r"|(?:access|account|private|ssh)[_-]?key(?:[_-]?id)?|db[_-]?pass|credentials?"
    r"|(?:access|auth|bearer|refresh|session|security|(?<![A-Za-z])id|(?<![A-Za-z])h[fu]b?|api)[_-]?token)"
)
# A quoted value, also one whose quotes are escaped and one that is cut off at the end of the line; or a word.
_VALUE = (
    r"""(?:[rbuf]{0,2}(?:\\+'[^'\n]*|\\+"[^"\n]*|'(?:[^'\\\n]|\\.)*|"(?:[^"\\\n]|\\.)*)['"]?"""
    r"""|[^\s,;&'"()\[\]{}<>|\\]+)"""
)
_ASSIGNED = expression(
    rf"(?P<before>{_NAME}\\{{0,4}}['\"]?\s{{0,4}}(?:=>?|:)[ \t]{{0,4}})(?P<value>{_VALUE})", re.IGNORECASE
)
# NAME_TOKEN=…, as in a dump of the environment. Upper case only: eos_token=2 is no secret.
_ENVIRONMENT = expression(
    r"(?P<before>\b[A-Z][A-Z0-9]{0,40}(?:_[A-Z0-9]{1,40}){0,8}?_(?:TOKEN|KEY|SECRET|PASSWORD|PASS|PWD|PAT)"
    rf"\\{{0,4}}['\"]?[ \t]{{0,2}}[=:][ \t]{{0,2}})(?P<value>{_VALUE})"
)
_PROSE = (
    r"(?:is|was|and|or|must|to|for|not|cannot|can|option|requires?|required|should|with|when|will|has"
    r"|are|in)\b"
)
_OPTION = expression(
    rf"(?P<before>(?<![\w-])--(?:[a-z0-9]{{1,40}}[_-]){{0,8}}?{_NAME}(?:\\{{0,4}}['\"],?)?[ \t]{{1,4}})"
    rf"(?P<value>(?!--|{_PROSE}){_VALUE})",
    re.IGNORECASE,
)
_HEADER = expression(
    r"(?P<before>\bauthorization\\{0,4}['\"]?\s{0,2}[:=]\s{0,2}\\{0,4}['\"]?(?:[a-z]{3,10}\s{1,4})?"
    r"|\bbearer\s{1,4}(?!auth|token))(?P<value>(?!(?:bearer|basic|digest|token)\b)[A-Za-z0-9._~+/=\-]{6,})",
    re.IGNORECASE,
)
_LOGIN = expression(
    r"(?P<before>\b[A-Za-z][A-Za-z0-9+.\-]{1,20}://[^\s/:@'\"<>]{0,200}:)"
    r"(?P<value>[^\s/@'\"<>]{1,400}(?:@[^\s/@'\"<>?#,;]{1,200}){0,3})(?=@)"
)
_LOGIN_TOKEN = expression(r"(?P<before>\bhttps?://)(?P<value>[^\s/:@'\"<>]{16,400})(?=@)")
_QUERY = expression(
    r"(?P<before>[?&](?:token|key|sig|signature|x-amz-(?:signature|credential|security-token)|x-goog-signature"
    r"|access_token|auth)=)(?P<value>[^&\s'\"<>]+)",
    re.IGNORECASE,
)
# A bare `token` is a secret where its value looks like one: in SGLang it is most often a piece of text.
_LIKE_ONE = r"(?=[A-Za-z_.~+/\-]{0,200}[0-9])(?=[0-9_.~+/\-]{0,200}[A-Za-z])[A-Za-z0-9_.~+/=\-]"
_BARE_TOKEN = expression(
    r"(?P<before>(?<![\w-])(?:--token[ =]{1,4}['\"]?|token=['\"]?"
    r"|token\\{0,4}['\"]\s{0,4}:\s{0,4}\\{0,4}['\"]))"
    rf"(?P<value>{_LIKE_ONE}{{10,}})"
)
# Logins on a command line, and what a browser sends.
_COMMAND = expression(
    r"(?P<before>\b(?:curl|wget|http)\b[^\n]{0,200}?\s(?:-u|--user)[ =]{0,2}['\"]?[^\s:'\"]{1,100}:"
    r"|\bsshpass\s{1,4}-p\s?|\b(?:set-)?cookie['\"]?:[ \t]{0,4}['\"]?)(?P<value>[^\s'\"]{3,4000})",
    re.IGNORECASE,
)
# An entry of a container's environment: {"name": "HF_TOKEN", "value": "..."}.
_ENTRY = expression(
    r"(?P<before>\bname\\{0,4}['\"]?\s{0,4}:\s{0,4}\\{0,4}['\"]?"
    r"[A-Z][A-Z0-9]{0,40}(?:_[A-Z0-9]{1,40}){0,8}?_(?:TOKEN|KEY|SECRET|PASSWORD|PASS|PWD|PAT)\\{0,4}['\"]?,?\s{0,20}"
    rf"\\{{0,4}}['\"]?value\\{{0,4}}['\"]?\s{{0,4}}:\s{{0,4}})(?P<value>{_VALUE})"
)
# Each with parts that a text must hold for it, one of every row, in lower case. Few texts hold any, so that few of
# these expressions are compiled in a run. Names are looked for without the signs inside them.
_NAMES = (
    *("apikey", "passw", "passphrase", "secret", "accesskey", "accountkey", "privatekey", "sshkey", "dbpass"),
    *("credential", "accesstoken", "authtoken", "bearertoken", "refreshtoken", "sessiontoken", "securitytoken"),
    *("idtoken", "hftoken", "hfbtoken", "hutoken", "hubtoken", "apitoken"),
)
_VARIABLE_ENDS = ("_token", "_key", "_secret", "_pass", "_pwd", "_pat")
_VALUES: tuple[tuple[tuple[tuple[str, ...], ...], re.Pattern[str]], ...] = (
    ((("://",), ("@",)), _LOGIN),
    ((("://",), ("@",)), _LOGIN_TOKEN),
    ((("?", "&"), ("token=", "key=", "sig=", "signature=", "credential=", "auth=")), _QUERY),
    ((("authorization", "bearer"),), _HEADER),
    ((("-u", "sshpass", "cookie"),), _COMMAND),
    ((("--",), _NAMES), _OPTION),
    ((_NAMES,), _ASSIGNED),
    ((("--token", "token=", "token'", 'token"', "token\\"),), _BARE_TOKEN),
    ((("name",), ("value",), _VARIABLE_ENDS), _ENTRY),
)
_WITHOUT_SIGNS = str.maketrans("", "", "_-")
_LIKE_ASCII = str.maketrans("\u0130\u0131\u017f\u212a", "iisk")
"""Letters that stand for others where case does not count."""
# Values that give themselves away, whatever stands around them. Their first group, the prefix, is kept.
_TOKENS = tuple(
    # Where a word begins, also behind a line end that is written out.
    (prefixes.split(), expression(rf"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?:{pattern})"))
    for prefixes, pattern in (
        (
            "PRIVATE",
            # A hyphen inside is that of a header, as in `DEK-Info: AES-256-CBC`. What is hidden stays as it is.
            r"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----)(?!\*\*\*)(?:[^-]|(?<=\w)-(?=\w)){0,20000}"
            r"(?:-----END [A-Z ]{0,40}KEY-----)?",
        ),
        ("hf_ api_org_", r"(hf_|api_org_)(?=[a-z]{0,60}[A-Z0-9]|[a-z]{20})[A-Za-z0-9]{10,}"),
        (
            "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- nvapi- sk- xox",
            r"(gh[pousr]_|github_pat_|glpat-|nvapi-|sk-(?!learn)|xox[abeprs]-)[A-Za-z0-9_\-]{8,}",
        ),
        ("AKIA ASIA", r"(AKIA|ASIA)[0-9A-Z]{12,}"),
        ("SG.", r"(SG\.)[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}"),
        ("hooks.slack.com/services/", r"(hooks\.slack\.com/services/)[A-Za-z0-9/]{20,}"),
        (
            "AIza pypi- dop_v1_ ya29. gsk_ r8_ npm_ wandb_v1_",
            r"(AIza|pypi-|dop_v1_|ya29\.|gsk_|r8_|npm_|wandb_v1_)[A-Za-z0-9_\-]{20,}",
        ),
        ("eyJ", r"(eyJ)[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{4,}(?:\.[A-Za-z0-9_\-]*)?"),
    )
)
_NOT_SECRET = frozenset({"", "none", "null", "true", "false", "...", "…", "<redacted>", HIDDEN})
_SECRET_NAME = expression(rf"(?i:{_NAME})$|^[A-Z0-9_]+_(?:TOKEN|KEY|PASS|PWD|PAT)$")


def _hide(match: re.Match[str]) -> str:
    value: str = match.group("value")
    if value.strip("\\'\"").lower() in _NOT_SECRET:
        return match.group()
    opening, closing = _quotes(value)
    return f"{match.group('before')}{opening}{HIDDEN}{closing}"


def _quotes(value: str) -> tuple[str, str]:
    """What opens and what closes a quoted value, prefixes and escapes included; "" where nothing does."""
    inside = value.lstrip("rbufRBUF") if value[:3].strip("rbufRBUF")[:1] in ("'", '"', "\\") else value
    start = len(inside) - len(inside.lstrip("\\"))
    if inside[start : start + 1] not in ("'", '"'):
        return "", ""
    opening = value[: len(value) - len(inside) + start + 1]
    if len(value) <= len(opening) or value[-1] != inside[start]:
        return opening, ""
    return opening, inside[: start + 1]


def _hide_environment(match: re.Match[str]) -> str:
    bare = match.group("value").strip("\\'\"")
    return match.group() if len(bare) < 6 or bare.isdigit() else _hide(match)


def mask(text: str) -> str:
    """`text` with the values of secrets replaced by `***`; names, quotes and token prefixes stay.

    Covers assignments, options, environment dumps, HTTP headers, logins in URLs, signed queries, private
    keys, and tokens known by their prefix. May hide a harmless value that is named like a secret; must not
    touch anything else. Masking twice gives the same as once.
    """
    lower = (text if text.isascii() else text.translate(_LIKE_ASCII)).lower()
    parts = f"{lower}\n{lower.translate(_WITHOUT_SIGNS)}"
    for prefixes, pattern in _TOKENS:
        if any(prefix in text for prefix in prefixes):
            text = pattern.sub(rf"\1{HIDDEN}", text)
    for needed, pattern in _VALUES:
        if all(any(part in parts for part in row) for row in needed):
            text = pattern.sub(_hide, text)
    if any(end in lower for end in _VARIABLE_ENDS):
        text = _ENVIRONMENT.sub(_hide_environment, text)
    return text


def names_secret(name: str) -> bool:
    """Whether a field of this name holds a secret: `api_key`, `ssl_keyfile_password`, `HF_TOKEN`."""
    return bool(_SECRET_NAME.search(name))


# --------------------------------------------------------------------------- what renderers call


def block(text: str) -> str:
    """Text of a log for a terminal, its lines kept: clean and masked."""
    return mask(clean(text))


def line(text: str) -> str:
    """Text of a log for a terminal as one line: clean, masked, runs of white space as one space."""
    return mask(" ".join(clean(text).split()))


def well_formed(text: str) -> str:
    """`text` without lone surrogates, which no strict JSON decoder accepts."""
    return _SURROGATE.sub("\ufffd", text)


def escape_json(encoded: str) -> str:
    """An encoded JSON document with what could disturb a terminal written as `\\uXXXX`; same meaning."""

    def escape(match: re.Match[str]) -> str:
        code = ord(match.group())
        if code < 0x10000:
            return f"\\u{code:04x}"
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"

    return encoded if encoded.isascii() and "\x7f" not in encoded else _JSON_UNSAFE.sub(escape, encoded)


# Our own signs and what stands for them where the terminal knows ASCII only.
_PLAIN = str.maketrans(
    dict(zip("\u2500\u00b7\u00d7\u2190\u2018\u2019\u201c\u201d\u2013\u2014", "--x<''\"\"--", strict=True))
    | {"\u2026": "...", "\u241b": "^["}
)


def encode(text: str, encoding: str) -> bytes:
    """`text` in the encoding of a stream; where it cannot hold our signs, plain ASCII stands for them."""
    try:
        return text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return text.translate(_PLAIN).encode("ascii" if encoding.lower() != "latin-1" else encoding, "replace")
