# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Hidden topics and services, shown only on request."""

HIDDEN_TOPIC_PREFIX = "_"


def topic_or_service_is_hidden(name: str) -> bool:
    """Whether a part of a name begins with an underscore."""
    return any(part.startswith(HIDDEN_TOPIC_PREFIX) for part in name.split("/") if part)
