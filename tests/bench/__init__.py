"""Speed as ratios within one run; see README.md in this folder. Never part of the unit tests."""
