"""Declaration of gains: a field of a ``Gains`` record is the only place a gain is described."""

from dataclasses import field


def gain(
    default: float, description: str, low: float, high: float, *, at_once: bool = False
) -> float:
    """Declare a scalar field of a ``Gains`` record with its bounds.

    The laws follow changes at a bounded rate, see :class:`.laws.gain_ramp.GainRamp`; limits act
    ``at_once``.
    """
    metadata = {"description": description, "low": low, "high": high, "at_once": at_once}
    return field(default=default, metadata=metadata)


def switch(default: bool, description: str) -> bool:
    """Declare a field of a ``Gains`` record that is on or off."""
    metadata = {"description": description, "low": None, "high": None, "at_once": True}
    return field(default=default, metadata=metadata)
