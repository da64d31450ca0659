"""Tools for those who write records: checks, a skeleton from a failing line, queries, the site harvest."""
