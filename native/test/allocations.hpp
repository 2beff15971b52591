// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The number of allocations and deallocations of a thread.
#pragma once

#include <cstdlib>

/// Calls of malloc, its relatives, free, and operators new and delete of the calling
/// thread so far.
long allocations() noexcept;

/// A number of updates, ten times as many in the campaign.
inline int updates(int number) {
  return std::getenv("VMS_PH_CAMPAIGN") == nullptr ? number : 10 * number;
}
