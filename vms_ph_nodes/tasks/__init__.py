# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of the task runner: the score of a task."""
