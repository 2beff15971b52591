// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/integrators/projected_runge_kutta.hpp"

#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "vms_ph_native/tree_inlined.hpp"
#include "vms_ph_native/wide.hpp"

namespace vms_ph {
namespace {

// As in the Python scheme, which gives the reasons.
constexpr double kMaxRelativeGap = 0.01;
constexpr double kRounding = 8.0 * std::numeric_limits<double>::epsilon();
constexpr double kWaiting = 1e-7;
constexpr int kIterations = 8;
constexpr double kRestSpeed = 1e-9;

}  // namespace

Projection::Projection(Centroidal& robot) : robot_(robot) {
  const int nv = robot.tree.nv(), n = robot.tree.n();
  start_ = Eigen::VectorXd::Zero(robot.tree.nq());
  rates_ = slope_ = Eigen::VectorXd::Zero(n);
  zero_velocity_ = along_ = step_ = Eigen::VectorXd::Zero(nv);
}

Screw Projection::momentum_in_base(const Eigen::VectorXd& q, const SolverState& x) const noexcept {
  return {Eigen::Vector3d::Zero(), robot_.rotation(q).transpose() * x.angular};
}

double Projection::at_rest(double dt) const noexcept {
  return 0.5 * robot_.mass * kRestSpeed * kRestSpeed + 2.0 * kRounding * gained(dt);
}

double Projection::gained(double dt) const noexcept {
  return robot_.k == 0 ? 0.0 : 0.5 * robot_.mass * dt * dt * robot_.fall.squaredNorm();
}

double Projection::rounding(const SolverState& x, double terms, double dt) const noexcept {
  const double square = robot_.k == 0 ? 0.0 : x.fall.velocity_at(x.t).squaredNorm();
  const double energy_scale = terms + std::abs(x.energy.value) + robot_.mass * square;
  return kRounding * energy_scale + at_rest(dt);
}

VMS_PH_WIDE void Projection::project(SolverState& x, double dt, StepResult& result) noexcept {
  Tree& tree = robot_.tree;
  tree.set_configuration(x.q);
  tree.set_velocity(x.v);
  const double potential = tree.potential();
  double shape = tree.kinetic(), base = 0.0;
  Screw now, target_twist;
  if (robot_.k > 0) {
    now = tree.locked_twist(tree.momentum());
    shape -= 0.5 * tree.momentum().dot(now);
    const Eigen::Matrix3d rotation = robot_.rotation(x.q);
    robot_.settle(rotation, x.q);
    const Screw momentum{Eigen::Vector3d::Zero(), rotation.transpose() * x.angular};
    target_twist = tree.locked_twist(momentum);
    base = 0.5 * momentum.dot(target_twist);
  }
  const double desired = x.energy.value - potential - base;
  const double gap = desired - shape;
  double scale = 1.0;
  if (std::abs(gap) <= kMaxRelativeGap * shape && shape > 0.0) {
    scale = std::sqrt(desired / shape);
  } else if (std::abs(gap) <= rounding(x, std::abs(potential) + base + shape, dt)) {
    if (std::abs(gap) <= at_rest(dt) && gap != 0.0) x.energy.add(-gap);
  } else {
    turn(x, dt, result);
    return;
  }
  x.v *= scale;
  if (robot_.k > 0) {
    Screw twist = tree.base_twist(x.v);
    twist.linear += target_twist.linear - scale * now.linear;
    twist.angular += target_twist.angular - scale * now.angular;
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
  zero_velocity_.setZero();
  if (b > 0) tree.set_base(settled(x.q), zero_velocity_);
  // The slope of potential and locked energy along the shape, momentum kept.
  tree.set_velocity(zero_velocity_);
  slope_.setZero();
  tree.add_slopes(-1.0, slope_.data());
  if (robot_.has_potential) tree.add_weight(1.0, slope_);
  along_.setZero();
  step_.head(n) = slope_;
  tree.solve_shape(step_.data());
  along_.tail(n) = dt * dt * step_.head(n);
  // The kinetic energy of the shape: the total less that of the locked motion.
  tree.set_velocity(x.v);
  const double speed =
      2.0 * tree.kinetic() - tree.momentum().dot(tree.locked_twist(tree.momentum()));
  const double gradient_norm = speed + slope_.dot(along_.tail(n));
  double step = 0.0, gap = 0.0, scale = 1.0;
  for (int count = 0; count < kIterations; ++count) {
    step_ = step * along_;
    robot_.integrate(start_, step_, x.q);
    x.v.setZero();
    x.v.tail(n) = (1.0 + step) * rates_;
    tree.set_configuration(x.q);
    if (b > 0) {
      tree.set_velocity(x.v);
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
    const bool is_too_far = count == 0 && std::abs(gap) > kMaxRelativeGap * gradient_norm;
    if (std::abs(gap) <= kRounding * scale || is_too_far) break;
    step += gap / gradient_norm;
  }
  if (robot_.k > 0) scale += 0.5 * robot_.mass * x.fall.velocity_at(x.t).squaredNorm();
  for (const double energy_of_port : result.supplied) scale += std::abs(energy_of_port);
  scale += std::abs(result.dissipated) + gained(dt);
  // Written so that it is false for numbers that are not finite.
  if (!(std::abs(gap) <= kWaiting * scale + at_rest(dt))) {
    result.failure = Failure::energy_off;
    result.amount = gap;
    result.extent = 0.5 * gradient_norm;
  }
}

namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::VectorXd;

VMS_PH_INLINED inline Screw commutator(const Screw& u, const Screw& v) {
  return {u.angular.cross(v.linear) + u.linear.cross(v.angular), u.angular.cross(v.angular)};
}

}  // namespace

Screw inverse_differential(const Screw& u, const Screw& v) {
  const Screw once = commutator(u, v), twice = commutator(u, once);
  return {v.linear + 0.5 * once.linear + twice.linear / 12.0,
          v.angular + 0.5 * once.angular + twice.angular / 12.0};
}

ProjectedRK4::ProjectedRK4(const Model& model, bool gravity)
    : ProjectedRungeKutta(model, gravity, 4, {std::begin(kClassical), std::end(kClassical)}) {}

ProjectedMidpoint::ProjectedMidpoint(const Model& model, bool gravity)
    : ProjectedRungeKutta(model, gravity, 2, {{0.0, 0.0, 0.5}, {0.5, 1.0, 0.0}}) {}

ProjectedRungeKutta::ProjectedRungeKutta(const Model& model, bool gravity, int order,
                                         std::vector<RungeKuttaStage> stages)
    : order_(order), stages_(std::move(stages)), robot_(model, gravity), projection_(robot_) {
  zero_effort_ = v_ = a_ = mean_ = mean_a_ = rate_ = reach_ = force_ = moving_ = a2_ = a3_ = a4_ =
      VectorXd::Zero(robot_.tree.nv());
  q_ = VectorXd::Zero(robot_.tree.nq());
}

SolverState ProjectedRungeKutta::begin(const VectorXd& q, const VectorXd& v, double t) {
  SolverState x;
  robot_.split(q, v, t, x);
  return x;
}

void ProjectedRungeKutta::motion(const SolverState& x, VectorXd& q, VectorXd& v) noexcept {
  q = x.q;
  v = x.v;
  if (robot_.k > 0) robot_.to_inertial(x.fall.centre_at(x.t), x.fall.velocity_at(x.t), q, v);
}

StepResult ProjectedRungeKutta::step(const SolverState& x, const Ports& ports, double t, double dt,
                                     SolverState& next) noexcept {
  StepResult result;
  next.fall = x.fall;
  next.angular = x.angular;
  next.energy = x.energy;
  next.t = t + dt;
  if (ports.any) {
    forced(x, ports, t, dt, next, result);
  } else {
    order_ == 2 ? free_midpoint(x, dt, next) : free_rk4(x, dt, next);
  }
  if (!std::isfinite(next.q.squaredNorm() + next.v.squaredNorm())) {
    result.failure = Failure::not_finite;
    return result;
  }
  projection_.project(next, dt, result);
  return result;
}

/// Without port efforts no rate depends on the pose of the base.
VMS_PH_INLINED inline void ProjectedRungeKutta::accelerate(const SolverState& x, double lead,
                                                           const VectorXd& rate, const VectorXd& v,
                                                           VectorXd& a) noexcept {
  reach_ = lead * rate;
  robot_.integrate_joints(x.q, reach_, q_);
  robot_.tree.set_configuration(q_);
  robot_.tree.accelerate(v, zero_effort_, a);
}

VMS_PH_WIDE void ProjectedRungeKutta::free_midpoint(const SolverState& x, double dt,
                                                    SolverState& next) noexcept {
  const double half = 0.5 * dt;
  robot_.tree.set_configuration(x.q);
  robot_.tree.accelerate(x.v, zero_effort_, a_);
  v_ = x.v + half * a_;
  accelerate(x, half, x.v, v_, a2_);
  reach_ = dt * v_;
  next.q = x.q;
  robot_.integrate(x.q, reach_, next.q, true);
  next.v = x.v + dt * a2_;
}

VMS_PH_WIDE void ProjectedRungeKutta::free_rk4(const SolverState& x, double dt,
                                               SolverState& next) noexcept {
  const double half = 0.5 * dt;
  robot_.tree.set_configuration(x.q);
  robot_.tree.accelerate(x.v, zero_effort_, a_);
  v_ = x.v + half * a_;
  accelerate(x, half, x.v, v_, a2_);
  moving_ = x.v + half * a2_;
  accelerate(x, half, v_, moving_, a3_);
  v_ = x.v + dt * a3_;
  accelerate(x, dt, moving_, v_, a4_);
  a2_ += a3_;
  reach_ = dt * x.v + (dt * dt / 6.0) * (a_ + a2_);
  if (robot_.k == 3) {
    // The commutator that makes the exponentials of rotations of fourth order.
    const Vector3d now = x.v.segment<3>(3), then = v_.segment<3>(3);
    reach_.segment<3>(3) += (dt * dt / 12.0) * now.cross(then);
  }
  next.q = x.q;
  robot_.integrate(x.q, reach_, next.q, true);
  next.v = x.v + (dt / 6.0) * (a_ + 2.0 * a2_ + a4_);
}

VMS_PH_WIDE void ProjectedRungeKutta::forced(const SolverState& x, const Ports& ports, double t,
                                             double dt, SolverState& next,
                                             StepResult& result) noexcept {
  Tree& tree = robot_.tree;
  const int k = robot_.k;
  const Eigen::Index nv = v_.size();
  reach_.setZero();
  mean_.setZero();
  mean_a_.setZero();
  Vector3d impulse = Vector3d::Zero(), turn = impulse, thrust = impulse;
  for (const auto& [lead, weight, part] : stages_) {
    if (lead == 0.0) {
      q_ = x.q;
      v_ = x.v;
    } else {
      for (Eigen::Index j = 0; j < nv; ++j) {
        reach_[j] = (lead * dt) * rate_[j];
        v_[j] = x.v[j] + (lead * dt) * a_[j];
      }
      robot_.integrate(x.q, reach_, q_);
    }
    tree.set_configuration(q_);
    robot_.external_force(ports, t + lead * dt, v_, force_);
    moving_ = v_;
    const Matrix3d rotation = robot_.rotation(q_);
    if (k > 0) {
      const Vector3d speed = rotation.transpose() * x.fall.velocity_at(x.t, lead * dt);
      for (int j = 0; j < k; ++j) moving_[j] += speed[j];
    }
    if (weight > 0.0) robot_.add_port_energies(ports, moving_, weight * dt, result);
    tree.accelerate(v_, force_, a_);
    rate_ = v_;
    if (k > 0) {
      tree.set_base(inverse_differential(tree.base_twist(reach_), tree.base_twist(v_)), rate_);
      const Screw acting = tree.base_twist(force_);
      const Vector3d push = rotation * acting.linear;
      impulse += weight * dt * push;
      turn += weight * dt * (rotation * acting.angular + robot_.position(q_).cross(push));
      thrust += (part * dt * dt) * push;
    }
    for (Eigen::Index j = 0; j < nv; ++j) {
      mean_[j] += weight * rate_[j];
      mean_a_[j] += weight * a_[j];
    }
  }
  reach_ = dt * mean_;
  next.q = x.q;
  robot_.integrate(x.q, reach_, next.q);
  next.v = x.v + dt * mean_a_;
  if (k == 0) {
    next.energy.add(result.net());
    return;
  }
  // The energy supplied to the motion of the centre of mass. Gravity alone keeps kinetic plus
  // potential energy of that motion, so only differences by the impulse appear: no large numbers
  // are subtracted after a long fall.
  const Vector3d displacement = thrust / robot_.mass;
  const Vector3d speed = x.fall.velocity_at(x.t, dt) + impulse / (2.0 * robot_.mass);
  const double to_centre = impulse.dot(speed) - robot_.mass * robot_.fall.dot(displacement);
  if (!impulse.isZero(0.0)) {
    next.fall = x.fall.after_impulse(x.t, dt, displacement, impulse);
    next.fall.since = next.t;
  }
  next.angular += turn - displacement.cross(impulse);
  next.energy.add(result.net() - to_centre);
}

}  // namespace vms_ph
