# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The certificate of a controller's passivity, checked at every step of a run."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Breach:
    """A step in which a controller gave more than its storage lost.

    Attributes:
        step: its number, from zero on.
        time: at its end, s.
        given: energy given through the ports in it, J.
        lost: energy that the storage lost in it, J.
    """

    step: int
    time: float
    given: float
    lost: float

    @property
    def excess(self) -> float:
        """Energy that came from nowhere, J."""
        return self.given - self.lost


class PassivityCertificate:
    """Checks that the energy given at the ports of a controller is bounded by its storage.

    In every step the energy given must not exceed what the storage lost, ``W <= S_k - S_k+1``, so
    that at all times ``W <= S_0 - S``: what has been given is never more than was stored.

    Args:
        storage: at the beginning, J.
        tolerance: accepted excess in a step, J, for rounding and the error of the scheme.

    Attributes:
        steps: number of steps seen.
        given: energy given so far, J.
        breaches: all steps in which the condition failed.
        least: smallest energy by which a step kept the condition, J; negative if one failed.
    """

    def __init__(self, storage: float, tolerance: float = 1e-9) -> None:
        self._first = self._last = storage
        self._tolerance = tolerance
        self.steps, self.given, self.least = 0, 0.0, float("inf")
        self.breaches: list[Breach] = []

    def step(self, time: float, given: float, storage: float) -> Breach | None:
        """Check a step, and return its breach or None.

        Args:
            time: at its end, s.
            given: energy given through the ports in it, J.
            storage: at its end, J.
        """
        lost = self._last - storage
        self.least = min(self.least, lost - given)
        self.given += given
        found = None
        # A storage that is not a number keeps nothing.
        if not given - lost <= self._tolerance:
            found = Breach(self.steps, time, given, lost)
            self.breaches.append(found)
        self._last = storage
        self.steps += 1
        return found

    @property
    def holds(self) -> bool:
        """Whether every step so far has kept the condition."""
        return not self.breaches

    @property
    def dissipated(self) -> float:
        """Energy that the controller has taken and does not store, J."""
        return self._first - self._last - self.given

    def __str__(self) -> str:
        """Return the certificate as a sentence."""
        if self.holds:
            return (
                f"passive in all {self.steps} steps: {self.given:.6g} J given, "
                f"{self._first - self._last:.6g} J less stored, {self.dissipated:.6g} J dissipated"
            )
        first = self.breaches[0]
        return (
            f"not passive: step {first.step}, at {first.time:.6g} s, gave {first.given:.6g} J while"
            f" the storage lost {first.lost:.6g} J ({first.excess:.3g} J from nowhere); "
            f"{len(self.breaches)} of {self.steps} steps failed"
        )
