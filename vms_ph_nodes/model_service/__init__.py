# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The services of model_server, and their client."""
