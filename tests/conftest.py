"""What holds for all tests."""

from __future__ import annotations

import signal

# Whoever runs the tests in the background of a shell has SIGINT ignored, and so would every program started here.
signal.signal(signal.SIGINT, signal.default_int_handler)
