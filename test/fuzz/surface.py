# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What is fuzzed, and what must hold for every input."""

from __future__ import annotations

import gc
import random
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from fuzz.mutator import mutated

from vms_ph_dynamics import VmsPhError

Make = Callable[[random.Random], bytes]


class HangError(BaseException):
    """An input took longer than allowed; no reader catches it by mistake."""


class CrashError(AssertionError):
    """An input broke a promise; the message reproduces it."""


@dataclass(frozen=True)
class Surface:
    """A door through which input arrives.

    Attributes:
        name: short name.
        attempt: reads an input; returns if it is accepted and sound, raises an error of
            ``refusals`` if it is refused, and anything else is a defect.
        seeds: returns valid inputs.
        words: pieces that mean something to the reader.
        text: whether inputs are XML or YAML.
        refusals: documented errors, which the command line prints as one sentence.
        seconds: longest time of the processor for one input, s.
        short: number of inputs in the short form.
        long: number of inputs in the campaign.
    """

    name: str
    attempt: Callable[[bytes], None]
    seeds: Callable[[], Sequence[bytes]]
    words: Sequence[bytes] = ()
    text: bool = False
    refusals: tuple[type[Exception], ...] = (VmsPhError,)
    seconds: float = 10.0
    short: int = 100
    long: int = 10_000
    made: list[Sequence[bytes]] = field(default_factory=list)

    def valid(self) -> Sequence[bytes]:
        """Return the valid inputs, which are made once."""
        if not self.made:
            self.made.append(self.seeds())
        return self.made[0]

    def input(self, number: int) -> bytes:
        """Return the mutated input of a number; equal numbers give equal inputs."""
        rng = random.Random(f"{self.name} {number}")
        return mutated(rng, self.valid(), self.words, text=self.text)

    def run(self, data: bytes) -> str:
        """Read an input within its time; return ``"accepted"`` or ``"refused"``.

        Raises:
            CrashError: anything but a documented error, or too much time.
        """
        try:
            with _alarm(self.seconds), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.attempt(data)
        except self.refusals as error:
            if not str(error).strip():
                raise CrashError(f"{self.name}: a refusal says nothing: {error!r}") from error
            return "refused"
        except (Exception, HangError, SystemExit) as error:
            trace = "".join(traceback.format_exception(error)[-8:])
            raise CrashError(
                f"{self.name}: {type(error).__name__}: {str(error)[:300]}\n{trace[-3000:]}\n"
                f"input of {len(data)} bytes: {data[:2000]!r}"
            ) from None
        return "accepted"

    def survive(self, numbers: range) -> Counter[str]:
        """Read the inputs of some numbers; return how many were accepted and refused.

        Raises:
            CrashError: an input broke a promise.
        """
        counts: Counter[str] = Counter()
        gc.freeze()  # the objects of other tests are not searched in the time of an input
        try:
            for number in numbers:
                try:
                    counts[self.run(self.input(number))] += 1
                except CrashError as error:
                    raise CrashError(f"number {number}: {error}") from None
        finally:
            gc.unfreeze()
        return counts


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise HangError after a time of the processor.

    A loaded machine that does not run the process takes none of it; a reader that waits for ever
    runs into the time of the whole test or process.
    """

    def ring(*_: object) -> None:
        raise HangError(f"longer than {seconds} s")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
