"""`python -m explain` is `sglang-explain`."""

from typing import NoReturn


def main() -> NoReturn:
    """Runs the program. A Ctrl-C that comes while it is still being loaded ends it quietly too."""
    try:
        from explain.cli import main as run

        run()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
