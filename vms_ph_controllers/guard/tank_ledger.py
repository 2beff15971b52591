# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The tank of an energy guard, and the sums of what went in and out."""


class TankLedger:
    """Counts the energy given through guarded ports against a budget.

    ``level = budget - given - discarded``. The level is what may still be given; it is negative for
    a debt.

    Attributes:
        level: energy that may still be given, J; negative for a debt.
        budget: energy granted so far: the initial level and what was refilled less what was
            drained, J.
        given: net energy given through the ports since the engagement, J.
        most_given: its largest value, J.
        margin: smallest value of budget less energy given, J; negative for an excess.
        discarded: energy taken out of the robot for which the tank had no room, J.
    """

    def __init__(self, capacity: float, initial: float) -> None:
        self.capacity = capacity
        self.level = self.budget = self.margin = min(initial, capacity)
        self.given = self.most_given = self.discarded = 0.0

    def give(self, energy: float) -> None:
        """Count energy given over a sample, J; negative for energy that was taken out."""
        self.given += energy
        self.level -= energy
        if self.level > self.capacity:
            self.discarded += self.level - self.capacity
            self.level = self.capacity
        self.most_given = max(self.most_given, self.given)
        self.margin = min(self.margin, self.budget - self.given)

    def refill(self, energy: float) -> float:
        """Add energy, J, as far as there is room; return how much was added."""
        added = min(energy, max(0.0, self.capacity - self.level))
        self.level += added
        self.budget += added
        return added

    def drain(self, energy: float) -> float:
        """Take energy out, J, as far as there is some; return how much was taken."""
        taken = min(energy, max(0.0, self.level))
        self.level -= taken
        self.budget -= taken
        self.margin = min(self.margin, self.budget - self.given)
        return taken
