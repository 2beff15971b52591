# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What certificates of the energy through power ports have in common."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from ..arrays import summary


class PortCertificate:
    """A record of the energy given through some ports; a dataclass of numbers inherits this.

    Attributes:
        ports: names of the ports.
        VERDICTS: what each verdict says, in words.
    """

    __slots__ = ()

    ports: tuple[str, ...]
    VERDICTS: ClassVar[Mapping[str, str]]

    @property
    @abstractmethod
    def verdict(self) -> str:
        """One of the keys of ``VERDICTS``."""

    @property
    @abstractmethod
    def not_seen(self) -> tuple[str, ...]:
        """What the certificate cannot show, in sentences."""

    @abstractmethod
    def rows(self) -> Iterable[tuple[str, str]]:
        """Return what was observed: names and text."""

    @property
    def summary(self) -> str:
        """The verdict in words."""
        return self.VERDICTS[self.verdict]

    def document(self) -> dict[str, Any]:
        """Return the certificate as plain data."""
        return {
            **asdict(self),  # type: ignore[call-overload]  # of the dataclass that inherits this
            "ports": list(self.ports),
            "verdict": self.verdict,
            "not_seen": list(self.not_seen),
        }

    def __repr__(self) -> str:
        """Return the verdict and the first observation, in one line."""
        name, text = next(iter(self.rows()))
        return summary(self, f"{self.verdict}: {self.VERDICTS[self.verdict]}", f"{name} {text}")

    def __str__(self) -> str:
        """Return the certificate as text."""
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return the certificate as lines of text."""
        rows = [
            ("certificate", f"{self.verdict}: {self.summary}"),
            ("ports", ", ".join(self.ports)),
            *self.rows(),
            *(("not seen", limitation) for limitation in self.not_seen),
        ]
        return [f"{name:<13}{text}" for name, text in rows]
