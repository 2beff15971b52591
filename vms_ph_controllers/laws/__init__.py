# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The control laws, one file each, and the terms that they are composed of."""
