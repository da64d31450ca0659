"""What a stranger wrote into a log neither moves the terminal nor leaks a password."""

from __future__ import annotations

import json
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explain.render import safe

SECRET = "Zq7Xw9Kp2Lm4Vn8R"


@pytest.mark.parametrize(
    "text",
    [
        f"server_args=ServerArgs(api_key='{SECRET}', tp_size=8)",
        f'server_args={{"api_key": "{SECRET}", "tp_size": 8}}',
        f"server_args={{'admin_api_key': '{SECRET}'}}",
        f"ssl_keyfile_password='{SECRET}'",
        f"ssl_keyfile_password='{SECRET} and more words {SECRET}'",
        rf"{{\"api_key\": \"{SECRET}\"}}",
        rf"api_key=\'{SECRET}\'",
        rf"password='it\'s {SECRET}'",
        f"password: {SECRET}",
        f"password='{SECRET}",
        f"api_key=b'{SECRET}'",
        f"--api-key {SECRET}",
        f"--api-key={SECRET}",
        f"--admin-api-key '{SECRET}' --tp 8",
        f"--ssl-keyfile-password {SECRET}",
        f"['--api-key', '{SECRET}']",
        f"HF_TOKEN={SECRET}",
        f"export HUGGING_FACE_HUB_TOKEN='{SECRET}'",
        f"OPENAI_API_KEY: {SECRET}",
        f"AWS_SECRET_ACCESS_KEY={SECRET}/x+y",
        f"WANDB_API_KEY={SECRET}",
        f"GITHUB_PAT={SECRET}",
        f"openaiApiKey={SECRET}",
        f"hf_{SECRET}{SECRET}",
        f"Invalid token hf_{SECRET} given",
        f"ghp_{SECRET}{SECRET}",
        f"github_pat_{SECRET}_{SECRET}",
        f"sk-{SECRET}",
        f"--token {SECRET}",
        f"token={SECRET}",
        f"{{'token': '{SECRET}'}}",
        f"""--model-loader-extra-config '{{"token": "{SECRET}"}}'""",
        rf"""--model-loader-extra-config '{{\"token\": \"{SECRET}\"}}'""",
        f"MYSQL_PWD={SECRET}",
        f'{{"name": "HF_TOKEN", "value": "{SECRET}"}}',
        f"ftp://user:p@{SECRET}@example.com/model",
        f"sk-proj-{SECRET}",
        f"nvapi-{SECRET}",
        "AKIA" + SECRET.upper(),
        f"Authorization: Bearer {SECRET}",
        f"'Authorization': 'Basic {SECRET}=='",
        f"authorization={SECRET}",
        f"Bearer {SECRET}",
        f"https://user:{SECRET}@example.com/model",
        f"redis://:{SECRET}@10.0.0.1:6379/0",
        f"https://{SECRET}{SECRET}@github.com/x.git",
        f"https://bucket.example.com/m?X-Amz-Signature={SECRET}&x=1",
        f"https://example.com/?token={SECRET}",
        f"eyJhbGciOiJIUzI1NiJ9.{SECRET}.{SECRET}",
        f"curl -s -u bob:{SECRET} http://10.0.0.1",
        f"sshpass -p {SECRET} ssh node",
        f"Cookie: session={SECRET}",
        f"AccountKey={SECRET};EndpointSuffix=x",
        f"db_pass={SECRET}",
        f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n{SECRET}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY----- is broken",
        f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0A1B\n\n{SECRET}\n",
        f"cannot parse 'x\\n-----BEGIN PRIVATE KEY-----\\n{SECRET}\\n'",
        f"'login failed\\nhf_{SECRET}{SECRET}'",
    ],
)
def test_secrets_are_masked(text: str) -> None:
    masked = safe.mask(text)
    assert SECRET not in masked and SECRET.upper() not in masked
    assert safe.HIDDEN in masked
    assert safe.mask(masked) == masked
    assert SECRET not in safe.line(text) and SECRET not in safe.block(text)


@pytest.mark.parametrize(
    "text",
    [
        "api_key=None, admin_api_key=None, ssl_keyfile_password=None",
        "{'api_key': None}",
        "KeyError: 'model.layers.0.mlp.gate'",
        "max_total_num_tokens=123456, eos_token=2, bos_token='<s>'",
        "Invalid token: 151645",
        "#new-token: 8192, #cached-token: 0, token usage: 0.91",
        "EOS_TOKEN=151645",
        "{'token': 'Hello'}, {'token': '151645151645'}, token='<|endoftext|>'",
        "pip install hf_transfer",
        "model_config.hf_config.architectures",
        "hf_quant_config.json not found",
        "ssl_keyfile='/etc/tls/key.pem'",
        "tokenizer_path='/models/a', tokenizer_mode='auto'",
        "--api-key is required when --enable-x",
        "http://10.0.0.1:30000/generate",
        "tcp://10.0.0.1:5000",
        "the disk-cache of the task-manager",
        "sk-learn",
        "curl -u is an option, cookie jars are not",
        "Basic information about Bearer authentication",
        "speculative_token_map=None, decode_log_interval=40",
    ],
)
def test_other_text_is_left_alone(text: str) -> None:
    assert safe.mask(text) == text


WORDS = (
    *(
        "api_key=",
        "API-KEY: ",
        "passwd:",
        "passphrase ",
        "secret_access_key=",
        "access_token",
        "hf_token=",
        "invalid_token",
    ),
    *("Authorization: ", "Bearer ", "https://", "@host/", "user:", "?", "&", "token=", "key=", "sig=", "--api-key "),
    *(
        "--token=",
        "'token': ",
        '"name": "HF_TOKEN", "value": ',
        "FOO_KEY=",
        "X_PAT: ",
        "curl ",
        " -u ",
        " --user ",
        "cookie: ",
    ),
    *("hf_", "ghp_", "sk-", "SG.", "AKIA", "eyJ", "npm_", "-----BEGIN RSA PRIVATE KEY-----", "acce\u017fs_token="),
    *(
        "\u212aey",
        "author\u0131zation: ",
        SECRET,
        SECRET.upper(),
        "'",
        '"',
        "\\",
        " ",
        ",",
        "\n",
        "model_path",
        "None",
        "模",
    ),
)


@given(st.lists(st.sampled_from(WORDS), max_size=8).map("".join))
def test_no_expression_is_left_out_that_would_mask_something(text: str) -> None:
    every = text
    for _, pattern in safe._TOKENS:
        every = pattern.sub(rf"\1{safe.HIDDEN}", every)
    for _, pattern in safe._VALUES:
        every = pattern.sub(safe._hide, every)
    assert safe.mask(text) == safe._ENVIRONMENT.sub(safe._hide_environment, every)


def test_the_rest_of_the_line_survives() -> None:
    assert safe.mask("f(api_key='abcdef123', tp_size=8)") == "f(api_key='***', tp_size=8)"
    assert safe.mask('{\\"api_key\\": \\"abcdef123\\", \\"tp\\": 8}') == '{\\"api_key\\": \\"***\\", \\"tp\\": 8}'
    assert safe.mask("--api-key abcdef --tp 8") == "--api-key *** --tp 8"
    assert safe.mask("https://me:abcdef@host/x") == "https://me:***@host/x"
    assert safe.mask("PASSWORD=\nnext line") == "PASSWORD=\nnext line"


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("api_key", True), ("admin_api_key", True), ("ssl_keyfile_password", True), ("HF_TOKEN", True),
        ("hf_token", True), ("OPENAI_API_KEY", True), ("ssl_keyfile", False), ("max_total_tokens", False),
        ("tokenizer_path", False), ("eos_token", False), ("token", False), ("key", False),
    ],
)  # fmt: skip
def test_names_of_secrets(name: str, secret: bool) -> None:
    assert safe.names_secret(name) is secret


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\", "click"),
        ("a\x1bb", "a␛b"),
        ("\x1b\x1b[0m[31mx", "␛[31mx"),
        ("a\x07\x00b", "a␇␀b"),
        ("\x9b31mred", "red"),
        ("a\x9b", "a<U+009B>"),
        ("abc\u202ecba", "abc<U+202E>cba"),
        ("a\u200bb\ufeff", "a<U+200B>b<U+FEFF>"),
        ("a\tb\r\nc\rd", "a    b\nc␍d"),
        ("\udc80", "<U+DC80>"),
        ("模型 🚀 é", "模型 🚀 é"),
    ],
)
def test_control_characters(text: str, shown: str) -> None:
    assert safe.clean(text) == shown


def test_whatever_cannot_be_printed_is_shown() -> None:
    assert not [
        code for code in range(0x110000) if safe._UNPRINTABLE.match(chr(code)) and safe.clean(chr(code)) == chr(code)
    ]


@given(st.text(st.characters(max_codepoint=0x2100) | st.sampled_from("\x1b\x9b\x9d[]mK;?07\x07\\\u202e'\"=: ")))
def test_nothing_live_is_left(text: str) -> None:
    for shown in (safe.clean(text), safe.block(text), safe.line(text)):
        for character in shown:
            assert character == "\n" or unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert safe.clean(safe.clean(text)) == safe.clean(text)
    assert "\n" not in safe.line(text)
    assert safe.mask(safe.mask(text)) == safe.mask(text)


@given(st.text())
def test_escaped_json_means_the_same(text: str) -> None:
    encoded = json.dumps(safe.well_formed(text), ensure_ascii=False)
    escaped = safe.escape_json(encoded)
    assert json.loads(escaped) == json.loads(encoded)
    assert not any(unicodedata.category(c) in {"Cc", "Cs"} for c in escaped)


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "a",
            "A",
            "1",
            "A_",
            "a_",
            "key=",
            "--a-",
            "http://",
            "http://a:",
            "'",
            "\\'",
            "api_key='",
            "sk-",
            "eyJ",
        ),
        *(
            "\x1b[",
            "\x1b]",
            "-----BEGIN PRIVATE KEY-----",
            "bearer ",
            "authorization: ",
            "a.",
            "?sig=",
            "token",
        ),
        *("passwd:", "hf_a", "password='\\'", "-"),
    ],
)
def test_time_is_linear(piece: str) -> None:
    def seconds(length: int) -> float:
        text = "key token " + piece * (length // len(piece))
        start = time.process_time()  # what others do on the machine does not count
        safe.block(text)
        return time.process_time() - start

    short = min(seconds(20_000) for _ in range(3))
    assert min(seconds(400_000) for _ in range(2)) < max(60 * short, 1.0)


def test_encoding_falls_back_to_plain_ascii() -> None:
    assert safe.encode("─ · … 模", "ascii") == b"- - ... ?"
    assert safe.encode("─ 模", "utf-8") == "─ 模".encode()
    assert safe.encode("─", "no-such-encoding") == b"-"
