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

"""The errors of the project; messages state what was given, what is accepted and what to do."""


class VmsPhError(Exception):
    """Base of all errors that this project raises for invalid input."""


class ModelError(VmsPhError, ValueError):
    """A robot description that is not physical, or that the theory does not cover."""


class StateError(VmsPhError, ValueError):
    """A state, force or matrix of the wrong shape, or with entries that are not finite."""


class OptionError(VmsPhError, ValueError):
    """An option or name that does not exist; the message lists those that do."""


class MissingExtraError(VmsPhError, ImportError):
    """A package of an optional extra is not installed; the message says how to install it."""


class InertiaWarning(UserWarning):
    """A robot has inertias that were repaired; the message says which, and what that changes."""
