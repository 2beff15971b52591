// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The observers take no memory from the heap and stay finite, whatever they are given. Prints the
// time of an update.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>

#include "allocations.hpp"
#include "arm.hpp"
#include "core_test.hpp"
#include "vms_ph_native/observers/robot_observers.hpp"

namespace no_allocation_observers {

using namespace vms_ph;

void survives_everything(Base base, bool decoupled) {
  const Model model = Model::from_urdf(kArm, base);
  ObserverOptions options;
  options.is_decoupled = decoupled;
  options.has_friction = true;
  options.noise.model_error = 0.01;
  RobotObservers observers(model, options);
  Eigen::VectorXd q = model.neutral_configuration(), v = Eigen::VectorXd::Zero(model.nv());
  Eigen::VectorXd effort = v;
  const double wrong[] = {std::nan(""), std::numeric_limits<double>::infinity(), -1.0};
  int contacts = 0, observed = 0;
  const long initial_count = allocations();
  const auto begin = std::chrono::steady_clock::now();
  for (int k = 0; k < 4000; ++k) {
    const double t = 1e-3 * k;
    for (Eigen::Index i = 0; i < v.size(); ++i) {
      v[i] = 0.1 * std::cos(t + static_cast<double>(i));
      effort[i] = k % 1000 < 500 ? 0.0 : 20.0;
    }
    double dt = 1e-3;
    if (k % 97 == 0) effort[k % model.nv()] = wrong[k % 2];
    if (k % 201 == 0) v[k % model.nv()] = wrong[k % 2];
    if (k % 503 == 0) dt = wrong[k % 3];
    if (k % 700 == 0) observers.restart();
    observed += observers.add(q, v, effort, dt) ? 1 : 0;
    contacts += observers.contact().contact ? 1 : 0;
    CHECK(observers.force().force().allFinite());
    CHECK(observers.wrench().wrench().allFinite());
    CHECK(std::isfinite(observers.payload().mass));
  }
  CHECK(allocations() == initial_count);
  CHECK(observed > 3000 && contacts > 100);
  const double spent =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%d velocities: %.1f us for an update\n", model.nv(), spent / 4000.0);
}

TEST(no_allocation_observers) {
  survives_everything(Base::fixed, false);
  survives_everything(Base::planar, true);
  survives_everything(Base::floating, true);
}

}  // namespace no_allocation_observers
