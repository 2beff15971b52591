"""The stages between a law and the actuators: limits, energy tank, output stage."""
