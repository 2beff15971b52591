// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A thread that runs jobs on behalf of a real-time thread, which must not block.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <thread>

namespace vms_ph {

/// The task of a worker; every member is called in the worker's thread.
class WorkerTask {
 public:
  virtual ~WorkerTask() = default;
  virtual void begin() = 0;         ///< once, first; if it throws, nothing else is called
  virtual void run(int job) = 0;    ///< one job; may throw a std::exception
  virtual void end() noexcept = 0;  ///< once, last
};

/// A time on the monotonic clock.
class Deadline {
 public:
  static Deadline from_now(double seconds) noexcept;
  const timespec& time() const noexcept { return time_; }

 private:
  timespec time_;
};

/// Runs a task in its own thread, one job at a time.
/// The buffers of the task are owned either by the caller or by the thread. run() passes them to
/// the thread and waits until a deadline; after the deadline the thread keeps them, and
/// wait_for_buffers() returns when the caller owns them again. No job starts before the previous
/// one has returned, so that an answer always belongs to its job; a sequence number asserts it.
///
/// These two do not allocate, throw, or wait beyond their deadline; they use no lock that the
/// thread could hold. One thread at a time may call them; log() may be called by any thread.
class Worker {
 public:
  enum class Outcome { done, failed, late };

  /// Start the thread and wait for WorkerTask::begin().
  ///
  /// @param priority  SCHED_FIFO priority; 0: that of the calling thread.
  /// @throws std::runtime_error  begin() threw (with its message), took longer than `timeout` s, or
  ///                             the thread cannot be created.
  Worker(std::unique_ptr<WorkerTask> task, double timeout, int priority = 0);

  /// End the thread; if its job has not ended after a few seconds, thread and task are detached.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Wait until the caller owns the buffers; return late if it does not, else the job's outcome.
  Outcome wait_for_buffers(const Deadline& deadline) noexcept;

  /// Pass the buffers, which the caller must own, to the thread with a job.
  Outcome run(int job, const Deadline& deadline) noexcept;

  /// The messages of the last few exceptions; allocates and locks.
  std::string log() const;

  /// Append to the log.
  void append_to_log(const std::string& text);

 private:
  struct Shared;
  void detach_thread() noexcept;

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
  bool thread_owns_buffers_ = false;
  std::uint64_t sequence_ = 0;  // number of the job requested last
  Outcome last_outcome_ = Outcome::done;
};

}  // namespace vms_ph
