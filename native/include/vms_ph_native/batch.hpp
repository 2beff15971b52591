// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// One task for many states, divided among threads.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "vms_ph_native/dynamics.hpp"

namespace vms_ph {

/// Call `task(worker, i)` for every i below `count` on up to `threads` threads, the calling one
/// included; each worker has an index below `threads`. The task must not throw.
void share(std::size_t count, std::size_t threads,
           const std::function<void(std::size_t worker, std::size_t i)>& task);

/// The robot in as many workspaces as threads. One call at a time.
class Batch {
 public:
  /// @throws ModelError  as for Dynamics.
  Batch(const Model& model, std::size_t threads);

  /// Call `task(d, i)` for every i below `count`, each time with a workspace that no other thread
  /// uses meanwhile.
  template <class Task>
  void for_each(std::size_t count, Task&& task) {
    share(count, robots_.size(),
          [&](std::size_t worker, std::size_t i) { task(*robots_[worker], i); });
  }

  Dynamics& first() { return *robots_.front(); }

 private:
  std::vector<std::unique_ptr<Dynamics>> robots_;
};

}  // namespace vms_ph
