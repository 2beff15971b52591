# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Port-Hamiltonian forms as functions of CasADi, for optimal control and code generation.

It needs the extra ``pip install 'vms-ph[casadi]'``; ``form.casadi()`` is the way in.
"""

from ..errors import MissingExtraError

try:
    import casadi  # noqa: F401
except ImportError:
    raise MissingExtraError(
        "the export to CasADi needs the package casadi: pip install 'vms-ph[casadi]'"
    ) from None

from .form import CasadiForm
from .momentum_forms import CasadiDecoupledForm, CasadiStandardForm
from .task_form import CasadiTaskForm

__all__ = ["CasadiDecoupledForm", "CasadiForm", "CasadiStandardForm", "CasadiTaskForm"]
