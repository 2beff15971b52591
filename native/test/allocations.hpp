// How often memory is taken from the heap or given back, by whatever of this process.
#pragma once

/// Calls of malloc, its relatives, free, and operators new and delete so far.
long allocations() noexcept;
