"""Simulation of robots with a controller in the loop."""

from .simulation import Actuation, Control, External, Sample, Simulation, ToolWrench

__all__ = ["Actuation", "Control", "External", "Sample", "Simulation", "ToolWrench"]
