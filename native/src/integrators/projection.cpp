// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/integrators/projection.hpp"

#include <cmath>
#include <limits>

#include "vms_ph_native/tree_inlined.hpp"
#include "vms_ph_native/wide.hpp"

namespace vms_ph {
namespace {

// As in the Python scheme, which gives the reasons.
constexpr double kTrusted = 0.01;
constexpr double kRounding = 8.0 * std::numeric_limits<double>::epsilon();
constexpr double kWaiting = 1e-7;
constexpr int kIterations = 8;
constexpr double kRest = 1e-9;

}  // namespace

Projection::Projection(Centroidal& robot) : robot_(robot) {
  const int nv = robot.tree.nv(), n = robot.tree.n();
  start_ = Eigen::VectorXd::Zero(robot.tree.nq());
  rates_ = slope_ = Eigen::VectorXd::Zero(n);
  still_ = along_ = step_ = Eigen::VectorXd::Zero(nv);
}

Screw Projection::momentum_in_base(const Eigen::VectorXd& q, const SolverState& x) const noexcept {
  return {Eigen::Vector3d::Zero(), robot_.rotation(q).transpose() * x.angular};
}

double Projection::at_rest(double dt) const noexcept {
  return 0.5 * robot_.mass * kRest * kRest + 2.0 * kRounding * gained(dt);
}

double Projection::gained(double dt) const noexcept {
  return robot_.k == 0 ? 0.0 : 0.5 * robot_.mass * dt * dt * robot_.fall.squaredNorm();
}

double Projection::rounding(const SolverState& x, double terms, double dt) const noexcept {
  const double square = robot_.k == 0 ? 0.0 : x.fall.velocity_at(x.t).squaredNorm();
  const double whole = terms + std::abs(x.energy.value) + robot_.mass * square;
  return kRounding * whole + at_rest(dt);
}

VMS_PH_WIDE void Projection::project(SolverState& x, double dt, StepResult& result) noexcept {
  Tree& tree = robot_.tree;
  tree.place(x.q);
  tree.move(x.v);
  const double potential = tree.potential();
  double shape = tree.kinetic(), base = 0.0;
  Screw now, wanted_twist;
  if (robot_.k > 0) {
    now = tree.locked_twist(tree.momentum());
    shape -= 0.5 * tree.momentum().dot(now);
    const Eigen::Matrix3d rotation = robot_.rotation(x.q);
    robot_.settle(rotation, x.q);
    const Screw momentum{Eigen::Vector3d::Zero(), rotation.transpose() * x.angular};
    wanted_twist = tree.locked_twist(momentum);
    base = 0.5 * momentum.dot(wanted_twist);
  }
  const double wanted = x.energy.value - potential - base;
  const double gap = wanted - shape;
  double scale = 1.0;
  if (std::abs(gap) <= kTrusted * shape && shape > 0.0) {
    scale = std::sqrt(wanted / shape);
  } else if (std::abs(gap) <= rounding(x, std::abs(potential) + base + shape, dt)) {
    if (std::abs(gap) <= at_rest(dt) && gap != 0.0) x.energy.add(-gap);
  } else {
    turn(x, dt, result);
    return;
  }
  x.v *= scale;
  if (robot_.k > 0) {
    Screw twist = tree.base_twist(x.v);
    twist.linear += wanted_twist.linear - scale * now.linear;
    twist.angular += wanted_twist.angular - scale * now.angular;
    tree.set_base(twist, x.v);
  }
}

/// Move along the gradient of the energy, in shape and shape velocity, to the energy given.
void Projection::turn(SolverState& x, double dt, StepResult& result) noexcept {
  Tree& tree = robot_.tree;
  const int b = robot_.tree.b(), n = robot_.tree.n();
  const double energy = x.energy.value;
  start_ = x.q;
  rates_ = x.v.tail(n);
  const auto settled = [&](const Eigen::VectorXd& q) {
    return tree.locked_twist(momentum_in_base(q, x));
  };
  still_.setZero();
  if (b > 0) tree.set_base(settled(x.q), still_);
  // The slope of potential and locked energy along the shape, momentum kept.
  tree.move(still_);
  slope_.setZero();
  tree.add_slopes(-1.0, slope_.data());
  if (robot_.has_potential) tree.add_weight(1.0, slope_);
  along_.setZero();
  step_.head(n) = slope_;
  tree.solve_shape(step_.data());
  along_.tail(n) = dt * dt * step_.head(n);
  // The kinetic energy of the shape: the total less that of the locked motion.
  tree.move(x.v);
  const double speed =
      2.0 * tree.kinetic() - tree.momentum().dot(tree.locked_twist(tree.momentum()));
  const double steepness = speed + slope_.dot(along_.tail(n));
  double step = 0.0, gap = 0.0, scale = 1.0;
  for (int count = 0; count < kIterations; ++count) {
    step_ = step * along_;
    robot_.integrate(start_, step_, x.q);
    x.v.setZero();
    x.v.tail(n) = (1.0 + step) * rates_;
    tree.place(x.q);
    if (b > 0) {
      tree.move(x.v);
      Screw twist = settled(x.q);
      const Screw now = tree.locked_twist(tree.momentum());
      twist.linear -= now.linear;
      twist.angular -= now.angular;
      tree.set_base(twist, x.v);
      robot_.settle(robot_.rotation(x.q), x.q);
    }
    const double present = robot_.energy(x.q, x.v);
    gap = energy - present;
    scale = std::abs(energy) + std::abs(present);
    const bool too_much = count == 0 && std::abs(gap) > kTrusted * steepness;
    if (std::abs(gap) <= kRounding * scale || too_much) break;
    step += gap / steepness;
  }
  if (robot_.k > 0) scale += 0.5 * robot_.mass * x.fall.velocity_at(x.t).squaredNorm();
  for (const double energy_of_port : result.supplied) scale += std::abs(energy_of_port);
  scale += std::abs(result.dissipated) + gained(dt);
  // Written so that it is false for numbers that are not finite.
  if (!(std::abs(gap) <= kWaiting * scale + at_rest(dt))) {
    result.failure = Failure::energy_off;
    result.amount = gap;
    result.extent = 0.5 * steepness;
  }
}

}  // namespace vms_ph
