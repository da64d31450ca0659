"""`python -m explain` is `sglang-explain`."""

from explain.cli import main

if __name__ == "__main__":
    main()
