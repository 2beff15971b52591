"""Identification from energy: what recordings tell of friction, payload, gains and inertia."""

from .findings import Finding as Finding
from .findings import findings as findings
from .identify import Settings as Settings
from .identify import identify as identify
from .result import Belief as Belief
from .result import Identification as Identification
from .result import Parameter as Parameter
