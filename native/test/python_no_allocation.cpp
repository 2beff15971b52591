// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The host of a law in Python allocates nothing in the thread that calls it, also where an answer
// is late. The thread of Python allocates, so that the calls of each thread are counted separately.
#include <cstddef>

#include "arm.hpp"
#include "check.hpp"
#include "vms_ph_native/python_controller.hpp"

extern "C" {
// The allocation functions of glibc, under the names that it keeps for replacements.
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {
thread_local long allocation_calls = 0;
}

extern "C" {
void* malloc(std::size_t size) noexcept { return ++allocation_calls, __libc_malloc(size); }
void* calloc(std::size_t count, std::size_t size) noexcept {
  return ++allocation_calls, __libc_calloc(count, size);
}
void* realloc(void* old_memory, std::size_t size) noexcept {
  return ++allocation_calls, __libc_realloc(old_memory, size);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return ++allocation_calls, __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? 12 : 0;
}
void free(void* memory) noexcept {
  if (memory != nullptr) ++allocation_calls;
  __libc_free(memory);
}
}

namespace {

using namespace vms_ph;

PythonRobot arm() {
  PythonRobot robot;
  robot.urdf = kArm;
  return robot;
}

void a_controller() {
  PythonOptions options;
  options.folders = {VMS_PH_TEST_CONTROLLERS};
  PythonController law("users_own.RaisesBeyondOne", arm(), options);
  RobotState state{Eigen::Vector2d(0.1, 0.2), Eigen::Vector2d::Zero()};
  Reference reference;
  reference.position = Eigen::Vector3d::Zero();
  reference.pose = Eigen::Matrix4d::Identity();
  reference.joints = Eigen::Vector2d::Zero();
  reference.has_joints = true;
  const std::string nap = "nap";
  CHECK(law.reset(state));
  const long initial_calls = allocation_calls;
  for (int k = 0; k < 3000; ++k) {
    state.q[0] = k % 100 == 7 ? 1.5 : k % 100 == 8 ? NAN : 0.1;  // the law raises; not a number
    if (k % 200 == 0) law.set_gain(nap, k % 1000 == 0 ? 1e-3 : 0.0);
    law.update(state, reference, 1e-3);
  }
  law.reset(state);
  CHECK(allocation_calls == initial_calls);
  CHECK(law.late_updates() > 0 && law.failed_updates() > 0 &&
        law.late_updates() + law.failed_updates() < 3000);
}

}  // namespace

int main() {
  a_controller();
  return 0;
}
