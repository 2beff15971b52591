# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The robots that the tests of the dynamics use."""

from dynamics.conftest import bundled, bundled_dry, panda_on

__all__ = ["bundled", "bundled_dry", "panda_on"]
