// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The handshake between a thread that cannot wait and one that works for it, without Python.
#include "vms_ph_native/worker.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>

#include "check.hpp"

namespace {

using vms_ph::Deadline;
using vms_ph::Worker;

// Sums the numbers up to the one asked for; takes its time for some, and refuses some.
class Sum final : public vms_ph::WorkerTask {
 public:
  void begin() override {}
  void run(int job) override {
    if (job % 13 == 5) throw std::runtime_error("thirteen");
    if (job % 7 == 3) std::this_thread::sleep_for(std::chrono::microseconds(400));
    sum = 0;
    for (int k = 0; k <= requested_number; ++k) sum += k;
  }
  void end() noexcept override {}

  int requested_number = 0, sum = 0;
};

class Never final : public vms_ph::WorkerTask {
 public:
  void begin() override { throw std::runtime_error("no way to begin"); }
  void run(int) override {}
  void end() noexcept override {}
};

void every_answer_is_that_to_its_question() {
  auto sum_task = std::make_unique<Sum>();
  Sum& task = *sum_task;
  Worker worker(std::move(sum_task), 10.0);
  int done_count = 0, failed_count = 0, late_count = 0;
  for (int k = 0; k < 5000; ++k) {
    const Deadline deadline = Deadline::from_now(100e-6);
    if (worker.wait_for_buffers(deadline) == Worker::Outcome::late) {
      ++late_count;
      continue;
    }
    task.requested_number = k % 1000;
    task.sum = -1;
    switch (worker.run(k, deadline)) {
      case Worker::Outcome::done:
        CHECK(task.sum == task.requested_number * (task.requested_number + 1) / 2 && k % 13 != 5);
        ++done_count;
        break;
      case Worker::Outcome::failed:
        CHECK(k % 13 == 5 && task.sum == -1);
        ++failed_count;
        break;
      case Worker::Outcome::late:
        ++late_count;
        break;
    }
  }
  CHECK(done_count > 0 && failed_count > 0 && late_count > 0);
  CHECK_HAS(worker.log(), "thirteen");
}

void one_that_cannot_begin_says_why() {
  try {
    Worker worker(std::make_unique<Never>(), 10.0);
  } catch (const std::runtime_error& error) {
    CHECK_HAS(error.what(), "no way to begin");
    return;
  }
  CHECK(!"begun");
}

}  // namespace

int main() {
  every_answer_is_that_to_its_question();
  one_that_cannot_begin_says_why();
  for (int k = 0; k < 200; ++k) Worker(std::make_unique<Sum>(), 10.0);
  return 0;
}
