# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Messages and services: definitions, Python classes, CDR bytes and DDS types."""
