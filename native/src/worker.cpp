// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/worker.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

namespace vms_ph {
namespace {

constexpr double kShutdownTimeout = 5.0;  // time that a destructor waits for a job to end, s
constexpr std::size_t kLogSize = 8;       // entries of the log

class Semaphore {
 public:
  Semaphore() { sem_init(&semaphore_, 0, 0); }
  ~Semaphore() { sem_destroy(&semaphore_); }
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  void post() noexcept { sem_post(&semaphore_); }

  void wait() noexcept {
    while (sem_wait(&semaphore_) != 0) {
    }
  }

  bool wait(const Deadline& deadline) noexcept {
    while (sem_clockwait(&semaphore_, CLOCK_MONOTONIC, &deadline.time()) != 0) {
      if (errno != EINTR) return false;
    }
    return true;
  }

 private:
  sem_t semaphore_;
};

// The message of the exception being handled.
std::string exception_message() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is not a std::exception was thrown";
  }
}

}  // namespace

Deadline Deadline::from_now(double seconds) noexcept {
  if (!(seconds > 0.0)) seconds = 0.0;
  seconds = std::min(seconds, 1e8);  // three years, which any clock can count
  Deadline deadline;
  clock_gettime(CLOCK_MONOTONIC, &deadline.time_);
  const double whole_seconds = std::floor(seconds);
  deadline.time_.tv_sec += static_cast<time_t>(whole_seconds);
  deadline.time_.tv_nsec += static_cast<long>((seconds - whole_seconds) * 1e9);
  if (deadline.time_.tv_nsec >= 1000000000L) {
    deadline.time_.tv_nsec -= 1000000000L;
    ++deadline.time_.tv_sec;
  }
  return deadline;
}

// Shared by caller and thread: the thread may outlive the caller.
struct Worker::Shared {
  Semaphore request, job_done, thread_ended;
  std::unique_ptr<WorkerTask> task;
  std::atomic<bool> stop_requested{false};
  int job = 0;                                                    // its kind
  std::atomic<std::uint64_t> requested_job{0}, completed_job{0};  // by their numbers
  std::atomic<bool> job_failed{false};
  std::string failure;  // of begin(); read after begin() has returned

  mutable std::mutex mutex;
  std::deque<std::pair<std::string, std::uint64_t>> log;  // with the number of repetitions

  void append_to_log(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!log.empty() && log.back().first == text) {
      ++log.back().second;
      return;
    }
    if (log.size() == kLogSize) log.pop_front();
    log.emplace_back(text, 1);
  }

  void run_jobs() {
    bool is_started = false;
    try {
      task->begin();
      is_started = true;
    } catch (...) {
      failure = exception_message();
    }
    job_failed.store(!is_started, std::memory_order_release);
    completed_job.store(0, std::memory_order_release);
    job_done.post();
    while (is_started) {
      request.wait();
      if (stop_requested.load(std::memory_order_acquire)) break;
      const std::uint64_t job_number = requested_job.load(std::memory_order_acquire);
      bool has_failed = false;
      try {
        task->run(job);
      } catch (...) {
        has_failed = true;
        append_to_log(exception_message());
      }
      job_failed.store(has_failed, std::memory_order_relaxed);
      completed_job.store(job_number, std::memory_order_release);
      job_done.post();
    }
    if (is_started) task->end();
    task.reset();
  }
};

Worker::Worker(std::unique_ptr<WorkerTask> task, double timeout, int priority)
    : shared_(std::make_shared<Shared>()) {
  shared_->task = std::move(task);
  // Signals are handled by the threads of the host program.
  sigset_t all_signals, last_mask;
  sigfillset(&all_signals);
  pthread_sigmask(SIG_SETMASK, &all_signals, &last_mask);
  try {
    thread_ = std::thread([shared = shared_] {
      shared->run_jobs();
      shared->thread_ended.post();
    });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &last_mask, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &last_mask, nullptr);
  int scheduling_error = 0;
  if (priority > 0) {
    sched_param parameters{};
    parameters.sched_priority = priority;
    scheduling_error = pthread_setschedparam(thread_.native_handle(), SCHED_FIFO, &parameters);
  }
  std::string failure;
  if (!shared_->job_done.wait(Deadline::from_now(timeout))) {
    failure = "it took longer than " + std::to_string(timeout) + " s to begin";
  } else if (shared_->job_failed.load(std::memory_order_acquire)) {
    failure = shared_->failure;
  } else if (scheduling_error != 0) {
    failure = "a thread cannot have real-time priority " + std::to_string(priority) + " (" +
              std::strerror(scheduling_error) +
              "); allow it by an rtprio entry in /etc/security/limits.conf, or use 0";
  } else {
    return;
  }
  detach_thread();
  throw std::runtime_error(failure);
}

Worker::~Worker() { detach_thread(); }

void Worker::detach_thread() noexcept {
  shared_->stop_requested.store(true, std::memory_order_release);
  shared_->request.post();
  if (shared_->thread_ended.wait(Deadline::from_now(kShutdownTimeout))) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

Worker::Outcome Worker::wait_for_buffers(const Deadline& deadline) noexcept {
  if (thread_owns_buffers_) {
    if (!shared_->job_done.wait(deadline)) return Outcome::late;
    thread_owns_buffers_ = false;
    const bool is_current = shared_->completed_job.load(std::memory_order_acquire) == sequence_;
    const bool is_failure = shared_->job_failed.load(std::memory_order_relaxed);
    last_outcome_ = is_current && !is_failure ? Outcome::done : Outcome::failed;
  }
  return last_outcome_;
}

Worker::Outcome Worker::run(int job, const Deadline& deadline) noexcept {
  shared_->job = job;
  shared_->requested_job.store(++sequence_, std::memory_order_release);
  thread_owns_buffers_ = true;
  shared_->request.post();
  return wait_for_buffers(deadline);
}

std::string Worker::log() const {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  std::string text;
  for (const auto& [entry, repetitions] : shared_->log) {
    text += entry;
    if (repetitions > 1) text += "\n(" + std::to_string(repetitions) + " times)";
    text += '\n';
  }
  return text;
}

void Worker::append_to_log(const std::string& text) { shared_->append_to_log(text); }

}  // namespace vms_ph
