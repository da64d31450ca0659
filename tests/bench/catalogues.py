"""How throughput depends on the size of the catalogue: the same log with 1,000 to 100,000 made-up records.

`python -m tests.bench.catalogues` makes each catalogue, lets the program pack it once, and times the runs after
that in turns. The site index with its own 20,000 literals is part of every run, as it is for users.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

from tests.bench import inputs
from tests.bench.__main__ import Row, run_once

SIZES = (1_000, 10_000, 100_000)
SYLLABLES = (
    "ba",
    "ko",
    "tri",
    "lum",
    "ser",
    "vac",
    "nod",
    "pil",
    "quo",
    "ren",
    "stu",
    "vel",
    "mar",
    "gex",
    "dol",
    "fim",
)


def word(dice: random.Random) -> str:
    return "".join(dice.choice(SYLLABLES) for _ in range(dice.randrange(2, 4)))


def record(dice: random.Random, number: int) -> dict[str, object]:
    subject, action, thing = word(dice), word(dice), word(dice)
    message = f"{subject} cannot {action} the {thing} {number}"
    return {
        "id": sha256(message.encode()).hexdigest()[:16],
        "repo": "example/made-up",
        "slug": f"made-up-{number}",
        "title": f"{subject} cannot {action}",
        "errorMessage": message,
        "messagePattern": rf"{subject} cannot {action} the {thing} \d+",
        "errorType": "log",
        "severity": "error",
        "role": "cause",
        "documentation": "Made up.",
        "triggerScenarios": "None.",
        "commonSituations": "None.",
        "solutions": ["Nothing."],
        "schemaVersion": 2,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.catalogues")
    parser.add_argument("--size", type=int, default=1000, help="megabytes of the log (default 1000)")
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "server.log"
        inputs.write(log, chosen.size * 1_000_000, inputs.serving_lines(random.Random(1)), inputs.PLANTED)
        rows: list[tuple[Row, list[str]]] = []
        for size in SIZES:
            dice = random.Random(size)
            path = Path(folder) / f"records-{size}.jsonl"
            path.write_text("".join(json.dumps(record(dice, number)) + "\n" for number in range(size)))
            command = [sys.executable, "-m", "explain", "--format", "json", "--patterns", str(path)]
            command += ["--only-patterns", str(log)]
            run_once(command, 3600.0)  # packs the records and compiles the scan
            rows.append((Row(f"{size:,} records"), command))
        for _ in range(chosen.runs):
            for row, command in rows:
                seconds, peak = run_once(command, 600.0)
                row.seconds.append(seconds)
                row.peak = max(row.peak, peak)
        print("| catalogue | s (min, median, max) | MB/s | of the smallest | peak MB |\n|---|---|---|---|---|")
        for row, _ in rows:
            share = rows[0][0].median / row.median
            times = f"{min(row.seconds):.2f} {row.median:.2f} {max(row.seconds):.2f}"
            print(f"| {row.name} | {times} | {chosen.size / row.median:.0f} | {share:.2f} | {row.peak // 1024} |")


if __name__ == "__main__":
    main()
