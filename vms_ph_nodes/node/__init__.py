"""Parts of every node: process, life cycle, parameters, diagnostics."""
