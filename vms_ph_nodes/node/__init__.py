"""What every node is made of: process, life cycle, parameters, diagnostics."""
