"""Declaration of gains: a field of a ``Gains`` record is the only place a gain is described."""

from dataclasses import field


def gain(default: float, description: str, low: float, high: float) -> float:
    """Declare a scalar field of a ``Gains`` record with its bounds."""
    return field(default=default, metadata={"description": description, "low": low, "high": high})


def switch(default: bool, description: str) -> bool:
    """Declare a field of a ``Gains`` record that is on or off."""
    metadata = {"description": description, "low": None, "high": None}
    return field(default=default, metadata=metadata)
