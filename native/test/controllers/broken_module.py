"""Fails when it is imported."""

raise RuntimeError("a module that fails when it is imported")
