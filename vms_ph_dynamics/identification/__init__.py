# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Identification from energy: what recordings tell of friction, payload, gains and inertia."""

from .findings import Finding as Finding
from .findings import findings as findings
from .identify import Settings as Settings
from .identify import identify as identify
from .references import Reference as Reference
from .references import left_out_loads as left_out_loads
from .references import reference_loads as reference_loads
from .references import scatter as scatter
from .references import widen_interval as widen_interval
from .result import Identification as Identification
from .result import LoadEstimate as LoadEstimate
from .result import Parameter as Parameter
from .result import Posterior as Posterior
