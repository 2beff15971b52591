"""Numbers that everyone needs."""

S_TO_NS = 1_000_000_000
