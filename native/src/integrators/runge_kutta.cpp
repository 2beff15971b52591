// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/integrators/schemes.hpp"

#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/tree_inlined.hpp"

namespace vms_ph {
namespace {

// As in the Python scheme, which gives the reasons.
constexpr double kMaxRelativeGap = 0.01;
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
  return 0.5 * robot_.mass * kRestSpeed * kRestSpeed + 2.0 * kEnergyRounding * gained(dt);
}

double Projection::gained(double dt) const noexcept {
  return robot_.k == 0 ? 0.0 : 0.5 * robot_.mass * dt * dt * robot_.fall.squaredNorm();
}

double Projection::rounding(const SolverState& x, double terms, double dt) const noexcept {
  const double square = robot_.k == 0 ? 0.0 : x.fall.velocity_at(x.t).squaredNorm();
  const double energy_scale = terms + std::abs(x.energy.value) + robot_.mass * square;
  return kEnergyRounding * energy_scale + at_rest(dt);
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
    if (std::abs(gap) <= kEnergyRounding * scale || is_too_far) break;
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

}  // namespace

Screw inverse_differential(const Screw& u, const Screw& v) {
  const Screw once = bracket(u, v), twice = bracket(u, once);
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

namespace {

// Largest change of the speed by the closing of the balance, as a share; beyond it, at rest, the
// residual of the step is left in the balance.
constexpr double kMaxCorrection = 1e-3;

/// The factor of the speed that gives the desired kinetic energy, J; 1 at rest.
double closing(double energy_change, double target) noexcept {
  if (!(energy_change > 0.0 && target > 0.0)) return 1.0;
  const double factor = std::sqrt(target / energy_change);
  return std::abs(factor - 1.0) <= kMaxCorrection ? factor : 1.0;
}

}  // namespace

WheeledRK4::WheeledRK4(const Model& model, bool gravity, const std::vector<Wheel>& wheels)
    : gravity_(gravity), model_(model), robot_(model, false), terms_(model, wheels) {
  if (model.fluid() != nullptr) {
    throw ModelError("'" + model.name() + "' is in a fluid; wheels roll on dry ground");
  }
  at_.q = VectorXd::Zero(model.nq());
  at_.v = rate_ = mean_ = reach_ = force_ = velocity_ = VectorXd::Zero(model.nv());
  slope_ = mean_slope_ = VectorV::Zero(terms_.dimension());
}

SolverState WheeledRK4::begin(const VectorXd& q, const VectorXd& v, double t) {
  at_.q = q;
  at_.v = v;
  if (!terms_.compute(at_, WheeledTerms::Velocities::best_here)) throw ModelError(terms_.reason());
  return Stepper::begin(q, product<VectorXd>(terms_.basis, terms_.nu), t);
}

/// Compute the terms at `reach_` from a configuration, with the velocities in `at_`, of which the
/// independent ones are taken.
Failure WheeledRK4::evaluate_at(const VectorXd& from, double lead) noexcept {
  if (lead > 0.0) {
    model_.integrate(from, reach_, at_.q);
  } else {
    at_.q = from;
  }
  if (!std::isfinite(at_.q.squaredNorm() + at_.v.squaredNorm())) return Failure::not_finite;
  using Velocities = WheeledTerms::Velocities;
  if (!terms_.compute(at_, lead > 0.0 ? Velocities::as_before : Velocities::best_here)) {
    return Failure::undetermined;
  }
  multiply(terms_.basis, terms_.nu, velocity_);
  return Failure::none;
}

/// Kinetic energy, and potential energy where gravity acts, of the terms computed last, J.
double WheeledRK4::energy() noexcept {
  Evaluation& d = terms_.d();
  return d.kinetic_energy() + (gravity_ ? d.potential_energy() : 0.0);
}

/// Compute the rates of the terms computed last, `reach_` from the start of the step, and enter the
/// energies of the ports over a time, s.
void WheeledRK4::accelerate(const Ports& ports, double elapsed, StepResult& result) noexcept {
  force_.setZero();
  if (ports.any) {
    robot_.tree.set_configuration(at_.q);
    robot_.external_force(ports, 0.0, velocity_, force_);  // held efforts only
    robot_.add_port_energies(ports, velocity_, elapsed, result);
  }
  if (gravity_) force_ -= terms_.d().g();
  multiply(transposed(terms_.basis), force_, slope_);
  add_product(terms_.coriolis, terms_.nu, slope_, -1.0);
  Cholesky(terms_.mass).solve(slope_.data());
  rate_ = velocity_;
  const Tree& tree = robot_.tree;
  tree.set_base(inverse_differential(tree.base_twist(reach_), tree.base_twist(velocity_)), rate_);
}

StepResult WheeledRK4::step(const SolverState& x, const Ports& ports, double, double dt,
                            SolverState& next) noexcept {
  StepResult result;
  const auto& independent = terms_.independent();
  const auto lead_to = [&](double by, const VectorXd& rate, const VectorV& slope) {
    reach_ = by * rate;
    at_.v = x.v;
    for (std::size_t k = 0; k < independent.size(); ++k) {
      at_.v[independent[k]] += by * slope[static_cast<Eigen::Index>(k)];
    }
  };
  mean_.setZero();
  mean_slope_.setZero();
  rate_.setZero();
  slope_.setZero();
  double before = 0.0;
  for (const auto& [lead, weight, push] : kClassical) {
    lead_to(lead * dt, rate_, slope_);
    result.failure = evaluate_at(x.q, lead);
    if (result.failure != Failure::none) return result;
    if (lead == 0.0) before = energy();
    accelerate(ports, weight * dt, result);
    mean_ += weight * rate_;
    mean_slope_ += weight * slope_;
  }
  lead_to(dt, mean_, mean_slope_);
  result.failure = evaluate_at(x.q, 1.0);
  if (result.failure != Failure::none) return result;
  const double kinetic = terms_.d().kinetic_energy();
  const double target = before + result.net() - (energy() - kinetic);
  next.q = at_.q;
  next.v = closing(kinetic, target) * velocity_;
  next.t = x.t + dt;
  return result;
}

namespace {

const Model& small_enough(const Model& model) {
  if (model.nv() > kMaxVelocities) {
    throw ModelError("the robot '" + model.name() + "' has " + std::to_string(model.nv()) +
                     " degrees of freedom; rkmk4 in C++ covers at most " +
                     std::to_string(kMaxVelocities));
  }
  return model;
}

}  // namespace

RKMK4::RKMK4(const Model& model, bool gravity)
    : model_(small_enough(gravity ? model : model.with_gravity(Eigen::Vector3d::Zero()))),
      robot_(model_),
      fluid_(model_),
      centroidal_(model_, gravity) {
  v_ = a_ = rate_ = mean_ = mean_a_ = reach_ = acting_ = VectorXd::Zero(model_.nv());
  q_ = VectorXd::Zero(model_.nq());
  mass_ = coriolis_ = MatrixV::Zero(model_.nv(), model_.nv());
  force_ = weight_ = VectorV::Zero(model_.nv());
}

/// The acceleration at the stage (q_, v_) at time t, and the work of the efforts there.
void RKMK4::accelerate(const Ports& ports, double t, double duration, StepResult& result) noexcept {
  robot_.set_configuration(q_.data());
  robot_.set_velocity(v_.data());
  robot_.mass(mass_.data());
  robot_.coriolis(coriolis_.data());
  coriolis_.transposeInPlace();  // it is written row by row
  robot_.gravity(weight_.data());
  force_.setZero();
  if (fluid_.exist()) {
    fluid_.set_configuration(robot_);
    fluid_.set_velocity(robot_, v_);
    fluid_.add_mass(mass_);
    fluid_.add_coriolis(coriolis_);
    fluid_.add_gravity(weight_);
    fluid_.add_drag(force_);
    result.dissipated += duration * fluid_.drag_power();
  }
  if (ports.any) {
    centroidal_.tree.set_configuration(q_);
    centroidal_.external_force(ports, t, v_, acting_);
    centroidal_.add_port_energies(ports, v_, duration, result);
    force_ += acting_;
  }
  force_ -= weight_;
  add_product(coriolis_, v_, force_, -1.0);
  Cholesky(mass_).solve(force_.data());
  a_ = force_;
}

StepResult RKMK4::step(const SolverState& x, const Ports& ports, double t, double dt,
                       SolverState& next) noexcept {
  const Tree& tree = centroidal_.tree;
  StepResult result;
  mean_.setZero();
  mean_a_.setZero();
  rate_.setZero();
  a_.setZero();
  for (const auto& [lead, weight, push] : kClassical) {
    reach_ = lead * dt * rate_;
    if (lead == 0.0) {
      q_ = x.q;
    } else {
      model_.integrate(x.q, reach_, q_);
    }
    v_ = x.v + lead * dt * a_;
    if (!std::isfinite(q_.squaredNorm() + v_.squaredNorm())) {
      result.failure = Failure::not_finite;
      return result;
    }
    accelerate(ports, t + lead * dt, weight * dt, result);
    rate_ = v_;
    tree.set_base(inverse_differential(tree.base_twist(reach_), tree.base_twist(v_)), rate_);
    mean_ += weight * rate_;
    mean_a_ += weight * a_;
  }
  reach_ = dt * mean_;
  model_.integrate(x.q, reach_, next.q);
  next.v = x.v + dt * mean_a_;
  next.t = t + dt;
  if (!std::isfinite(next.q.squaredNorm() + next.v.squaredNorm())) {
    result.failure = Failure::not_finite;
  }
  return result;
}

}  // namespace vms_ph
