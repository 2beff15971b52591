"""Simulated robots with a controller in the loop."""

from .simulation import PORTS, Control, External, Sample, Simulation

__all__ = ["PORTS", "Control", "External", "Sample", "Simulation"]
