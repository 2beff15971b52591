// The number of allocations and deallocations of this process.
#pragma once

/// Calls of malloc, its relatives, free, and operators new and delete so far.
long allocations() noexcept;
