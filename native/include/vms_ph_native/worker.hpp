// A thread that runs jobs for a real-time thread, which must not block.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <thread>

namespace vms_ph {

/// The jobs of a worker; every member is called in the worker's thread.
class Task {
 public:
  virtual ~Task() = default;
  virtual void begin() = 0;         ///< once, first; if it throws, nothing else is called
  virtual void run(int job) = 0;    ///< one job; may throw a std::exception
  virtual void end() noexcept = 0;  ///< once, last
};

/// A time on the monotonic clock.
class Deadline {
 public:
  static Deadline in(double seconds) noexcept;
  const timespec& time() const noexcept { return time_; }

 private:
  timespec time_;
};

/// Runs a task in a thread of its own, one job at a time.
///
/// The buffers of the task belong either to the caller or to the thread. run() hands them over and
/// waits until a deadline; after that they stay with the thread, and settle() returns when they
/// are back. As no job is handed over before the one before has come back, no answer can be
/// taken for that of another job; a number that goes with every job asserts it.
///
/// settle() and run() do not allocate, throw, or wait beyond their deadline; they use no lock that
/// the thread could hold. One thread at a time may call them; log() any.
class Worker {
 public:
  enum class Outcome { done, failed, late };

  /// Start the thread and wait for Task::begin().
  ///
  /// @param priority  SCHED_FIFO priority; 0: as the calling thread.
  /// @throws std::runtime_error  begin() threw (with its message), took longer than `timeout` s, or
  ///                             there may be no such thread.
  Worker(std::unique_ptr<Task> task, double timeout, int priority = 0);

  /// End the thread; one whose job has not ended after a few seconds is left alone with its task.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Wait until the buffers are the caller's: late when they are not, else how the last job ended.
  Outcome settle(const Deadline& deadline) noexcept;

  /// Hand over the buffers, which must be settled, with a job.
  Outcome run(int job, const Deadline& deadline) noexcept;

  /// The messages of the last few exceptions; allocates and locks.
  std::string log() const;

  /// Add to the log.
  void note(const std::string& text);

 private:
  struct Shared;
  void leave() noexcept;

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
  bool away_ = false;  // the thread has the buffers
  std::uint64_t sequence_ = 0;
  Outcome last_ = Outcome::done;
};

}  // namespace vms_ph
