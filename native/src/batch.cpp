// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/batch.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace vms_ph {
namespace {

// States taken at once: some tens of microseconds, so that no thread waits long for another.
constexpr std::size_t kPortion = 64;

}  // namespace

void share(std::size_t count, std::size_t threads,
           const std::function<void(std::size_t, std::size_t)>& task) {
  std::atomic<std::size_t> next{0};
  const std::size_t portion = std::max<std::size_t>(1, std::min(kPortion, count / (4 * threads)));
  const auto work = [&](std::size_t worker) {
    while (true) {
      const std::size_t begin = next.fetch_add(portion);
      if (begin >= count) return;
      for (std::size_t i = begin; i < std::min(count, begin + portion); ++i) task(worker, i);
    }
  };
  std::vector<std::thread> others;
  for (std::size_t k = 1; k < std::min(threads, (count + portion - 1) / portion); ++k) {
    others.emplace_back(work, k);
  }
  work(0);
  for (std::thread& other : others) other.join();
}

Batch::Batch(const Model& model, std::size_t threads) {
  for (std::size_t k = 0; k < std::max<std::size_t>(1, threads); ++k) {
    robots_.push_back(std::make_unique<Dynamics>(model));
  }
}

}  // namespace vms_ph
