# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Energy accounting at the ports: quadratures, audits, exchange between task and null space."""
