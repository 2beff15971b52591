// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The number of allocations and deallocations of a thread.
#pragma once

/// Calls of malloc, its relatives, free, and operators new and delete of the calling
/// thread so far.
long allocations() noexcept;
