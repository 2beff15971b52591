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

"""Whether a class that derives from a law of this library changes what that computes."""

from ..interface import Controller


def is_unchanged(law: Controller, kind: type[Controller], *names: str) -> bool:
    """Return whether no class derived from ``kind`` has methods of its own under these names.

    What these methods compute may then come from one larger call of C++. Otherwise they are called,
    so that a law does what is written in it.

    Args:
        law: of this kind, or derived from it.
        kind: the class of this library.
        names: of its methods.
    """
    return all(getattr(type(law), name) is getattr(kind, name) for name in names)
