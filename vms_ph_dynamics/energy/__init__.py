"""Energy accounting at the ports: quadratures, audits, exchange between task and null space."""
