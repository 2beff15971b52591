// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/integrators/schemes.hpp"

#include <cmath>
#include <iterator>

#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/tree_inlined.hpp"

namespace vms_ph {
namespace {

// As in the Python scheme, which gives the reasons.
constexpr double kMaxRelativeGap = 0.01;
constexpr double kMaxDeferredEnergyShare = 1e-7;
constexpr int kMaxIterations = 8;
constexpr double kRestSpeed = 1e-9;

}  // namespace

Projection::Projection(CentroidalRobot& robot) : robot_(robot) {
  const int nv = robot.tree.nv(), n = robot.tree.n();
  start_q_ = VectorXd::Zero(robot.tree.nq());
  joint_rates_ = gradient_ = VectorXd::Zero(n);
  locked_velocity_ = direction_ = increment_ = VectorXd::Zero(nv);
}

Screw Projection::momentum_in_base(const VectorXd& q, const SolverState& x) const noexcept {
  return {Vector3d::Zero(), robot_.rotation(q).transpose() * x.angular_momentum};
}

double Projection::rest_threshold(double dt) const noexcept {
  return 0.5 * robot_.mass * kRestSpeed * kRestSpeed + 2.0 * kEnergyRounding * fall_energy(dt);
}

double Projection::fall_energy(double dt) const noexcept {
  return robot_.centre_dim == 0
             ? 0.0
             : 0.5 * robot_.mass * dt * dt * robot_.tree.fall_acceleration().squaredNorm();
}

double Projection::tolerance(const SolverState& x, double magnitude, double dt) const noexcept {
  const double squared_speed = robot_.centre_dim == 0 ? 0.0 : x.fall.velocity_at(x.t).squaredNorm();
  const double energy_scale = magnitude + std::abs(x.energy.value) + robot_.mass * squared_speed;
  return kEnergyRounding * energy_scale + rest_threshold(dt);
}

VMS_PH_FMA void Projection::project(SolverState& x, double dt, StepResult& result) noexcept {
  Tree& tree = robot_.tree;
  tree.set_configuration(x.q);
  tree.set_velocity(x.v);
  const double potential_energy = tree.potential_energy();
  double shape_energy = tree.kinetic_energy(), locked_energy = 0.0;
  Screw current_twist, target_twist;
  if (robot_.can_fall()) {
    current_twist = tree.locked_twist(tree.momentum());
    shape_energy -= 0.5 * tree.momentum().dot(current_twist);
    const Matrix3d rotation = robot_.rotation(x.q);
    robot_.move_centre_to_origin(rotation, x.q);
    const Screw momentum{Vector3d::Zero(), rotation.transpose() * x.angular_momentum};
    target_twist = tree.locked_twist(momentum);
    locked_energy = 0.5 * momentum.dot(target_twist);
  }
  const double target_shape_energy = x.energy.value - potential_energy - locked_energy;
  const double energy_gap = target_shape_energy - shape_energy;
  double speed_scale = 1.0;
  if (std::abs(energy_gap) <= kMaxRelativeGap * shape_energy && shape_energy > 0.0) {
    speed_scale = std::sqrt(target_shape_energy / shape_energy);
  } else if (std::abs(energy_gap) <=
             tolerance(x, std::abs(potential_energy) + locked_energy + shape_energy, dt)) {
    if (std::abs(energy_gap) <= rest_threshold(dt) && energy_gap != 0.0) x.energy.add(-energy_gap);
  } else {
    correct_along_gradient(x, dt, result);
    return;
  }
  x.v *= speed_scale;
  if (robot_.can_fall()) {
    Screw twist = tree.base_twist(x.v);
    twist.linear += target_twist.linear - speed_scale * current_twist.linear;
    twist.angular += target_twist.angular - speed_scale * current_twist.angular;
    tree.set_base(twist, x.v);
  }
}

/// Move along the gradient of the energy, in shape and shape velocity, to the energy in x.
void Projection::correct_along_gradient(SolverState& x, double dt, StepResult& result) noexcept {
  Tree& tree = robot_.tree;
  const int b = robot_.tree.b(), n = robot_.tree.n();
  const double target_energy = x.energy.value;
  start_q_ = x.q;
  joint_rates_ = x.v.tail(n);
  const auto locked_twist_at = [&](const VectorXd& q) {
    return tree.locked_twist(momentum_in_base(q, x));
  };
  locked_velocity_.setZero();
  if (b > 0) tree.set_base(locked_twist_at(x.q), locked_velocity_);
  // The slope of potential and locked energy along the shape, momentum kept.
  tree.set_velocity(locked_velocity_);
  gradient_.setZero();
  tree.add_kinetic_gradient(-1.0, gradient_.data());
  if (robot_.tree.has_potential()) tree.add_weight(1.0, gradient_.data());
  direction_.setZero();
  increment_.head(n) = gradient_;
  tree.solve_shape_rates(increment_.data());
  direction_.tail(n) = dt * dt * increment_.head(n);
  // The kinetic energy of the shape: the total less that of the locked motion.
  tree.set_velocity(x.v);
  const double kinetic_slope =
      2.0 * tree.kinetic_energy() - tree.momentum().dot(tree.locked_twist(tree.momentum()));
  const double energy_slope = kinetic_slope + gradient_.dot(direction_.tail(n));
  double displacement_factor = 0.0, energy_gap = 0.0, energy_scale = 1.0;
  for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
    increment_ = displacement_factor * direction_;
    robot_.model.integrate(start_q_, increment_, x.q);
    x.v.setZero();
    x.v.tail(n) = (1.0 + displacement_factor) * joint_rates_;
    tree.set_configuration(x.q);
    if (b > 0) {
      tree.set_velocity(x.v);
      const Screw twist = locked_twist_at(x.q);  // first, whatever order a compiler prefers
      tree.set_base(twist - tree.locked_twist(tree.momentum()), x.v);
      robot_.move_centre_to_origin(robot_.rotation(x.q), x.q);
    }
    const double current_energy = robot_.energy(x.q, x.v);
    energy_gap = target_energy - current_energy;
    energy_scale = std::abs(target_energy) + std::abs(current_energy);
    const bool is_too_far = iteration == 0 && std::abs(energy_gap) > kMaxRelativeGap * energy_slope;
    if (std::abs(energy_gap) <= kEnergyRounding * energy_scale || is_too_far) break;
    displacement_factor += energy_gap / energy_slope;
  }
  if (robot_.can_fall()) energy_scale += 0.5 * robot_.mass * x.fall.velocity_at(x.t).squaredNorm();
  for (const double port_energy : result.supplied_energy) energy_scale += std::abs(port_energy);
  energy_scale += std::abs(result.dissipated_energy) + fall_energy(dt);
  // A failure too if a number is not finite.
  if (!(std::abs(energy_gap) <= kMaxDeferredEnergyShare * energy_scale + rest_threshold(dt))) {
    result.failure = Failure::energy_error;
    result.error = energy_gap;
    result.limit = 0.5 * energy_slope;
  }
}

Screw dexp_inverse(const Screw& u, const Screw& v) {
  const Screw first_bracket = bracket(u, v), second_bracket = bracket(u, first_bracket);
  return {v.linear + 0.5 * first_bracket.linear + second_bracket.linear / 12.0,
          v.angular + 0.5 * first_bracket.angular + second_bracket.angular / 12.0};
}

ProjectedRungeKutta::ProjectedRungeKutta(const Model& model, bool has_gravity, int order)
    : order_(order), robot_(model, has_gravity), projection_(robot_) {
  stages_ = {{0.0, 0.0, 0.5}, {0.5, 1.0, 0.0}};
  if (order == 4) stages_.assign(std::begin(kRK4Stages), std::end(kRK4Stages));
  zero_effort_ = v_ = a_ = mean_rate_ = mean_a_ = rate_ = increment_ = force_ = inertial_velocity_ =
      a2_ = a3_ = a4_ = VectorXd::Zero(robot_.tree.nv());
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
  if (robot_.can_fall()) robot_.to_inertial(x.fall.centre_at(x.t), x.fall.velocity_at(x.t), q, v);
}

StepResult ProjectedRungeKutta::step(const SolverState& x, const Ports& ports, double t, double dt,
                                     SolverState& next_state) noexcept {
  StepResult result;
  next_state.fall = x.fall;
  next_state.angular_momentum = x.angular_momentum;
  next_state.energy = x.energy;
  next_state.t = t + dt;
  if (ports.has_efforts) {
    take_forced_step(x, ports, t, dt, next_state, result);
  } else {
    take_free_step(x, dt, next_state);
  }
  if (!std::isfinite(next_state.q.squaredNorm() + next_state.v.squaredNorm())) {
    result.failure = Failure::not_finite;
    return result;
  }
  projection_.project(next_state, dt, result);
  return result;
}

/// Write the acceleration a at a velocity v, for `duration` s along a rate from the state. Without
/// port efforts it does not depend on the pose of the base.
VMS_PH_INLINED inline void ProjectedRungeKutta::accelerate(const SolverState& x, double duration,
                                                           const VectorXd& rate, const VectorXd& v,
                                                           VectorXd& a) noexcept {
  increment_ = duration * rate;
  robot_.model.integrate_joints(x.q, increment_, q_);
  robot_.tree.set_configuration(q_);
  robot_.tree.solve_acceleration(v, zero_effort_, a);
}

VMS_PH_FMA void ProjectedRungeKutta::take_free_step(const SolverState& x, double dt,
                                                    SolverState& next_state) noexcept {
  const double half_step = 0.5 * dt;
  robot_.tree.set_configuration(x.q);
  robot_.tree.solve_acceleration(x.v, zero_effort_, a_);
  v_ = x.v + half_step * a_;
  accelerate(x, half_step, x.v, v_, a2_);
  if (order_ == 2) {
    increment_ = dt * v_;
    next_state.v = x.v + dt * a2_;
  } else {
    rate_ = x.v + half_step * a2_;
    accelerate(x, half_step, v_, rate_, a3_);
    v_ = x.v + dt * a3_;
    accelerate(x, dt, rate_, v_, a4_);
    a2_ += a3_;
    increment_ = dt * x.v + (dt * dt / 6.0) * (a_ + a2_);
    next_state.v = x.v + (dt / 6.0) * (a_ + 2.0 * a2_ + a4_);
  }
  if (order_ == 4 && robot_.centre_dim == 3) {
    // The commutator that makes the exponentials of rotations of fourth order.
    const Vector3d start_rate = x.v.segment<3>(3), end_rate = v_.segment<3>(3);
    increment_.segment<3>(3) += (dt * dt / 12.0) * start_rate.cross(end_rate);
  }
  next_state.q = x.q;
  robot_.model.integrate(x.q, increment_, next_state.q, true);
}

VMS_PH_FMA void ProjectedRungeKutta::take_forced_step(const SolverState& x, const Ports& ports,
                                                      double t, double dt, SolverState& next_state,
                                                      StepResult& result) noexcept {
  Tree& tree = robot_.tree;
  const int centre_dim = robot_.centre_dim;
  increment_.setZero();
  mean_rate_.setZero();
  mean_a_.setZero();
  Vector3d impulse = Vector3d::Zero(), angular_impulse = impulse, mass_displacement = impulse;
  for (const auto& [fraction, weight, displacement_weight] : stages_) {
    if (fraction == 0.0) {
      q_ = x.q;
      v_ = x.v;
    } else {
      increment_ = (fraction * dt) * rate_;
      v_ = x.v + (fraction * dt) * a_;
      robot_.model.integrate(x.q, increment_, q_);
    }
    tree.set_configuration(q_);
    robot_.port_force(ports, t + fraction * dt, v_, force_);
    inertial_velocity_ = v_;
    const Matrix3d rotation = robot_.rotation(q_);
    if (centre_dim > 0) {
      const Vector3d v_centre = rotation.transpose() * x.fall.velocity_at(x.t, fraction * dt);
      for (int j = 0; j < centre_dim; ++j) inertial_velocity_[j] += v_centre[j];
    }
    if (weight > 0.0) robot_.add_port_energies(ports, inertial_velocity_, weight * dt, result);
    tree.solve_acceleration(v_, force_, a_);
    rate_ = v_;
    if (centre_dim > 0) {
      tree.set_base(dexp_inverse(tree.base_twist(increment_), tree.base_twist(v_)), rate_);
      const Screw wrench = tree.base_twist(force_);
      const Vector3d force_in_inertial_axes = rotation * wrench.linear;
      impulse += weight * dt * force_in_inertial_axes;
      angular_impulse +=
          weight * dt *
          (rotation * wrench.angular + robot_.base_position(q_).cross(force_in_inertial_axes));
      mass_displacement += (displacement_weight * dt * dt) * force_in_inertial_axes;
    }
    mean_rate_ += weight * rate_;
    mean_a_ += weight * a_;
  }
  increment_ = dt * mean_rate_;
  next_state.q = x.q;
  robot_.model.integrate(x.q, increment_, next_state.q);
  next_state.v = x.v + dt * mean_a_;
  if (centre_dim == 0) {
    next_state.energy.add(result.net_energy());
    return;
  }
  // The energy supplied to the motion of the centre of mass. Gravity alone keeps kinetic plus
  // potential energy of that motion, so only differences by the impulse appear: no large numbers
  // are subtracted after a long fall.
  const Vector3d displacement = mass_displacement / robot_.mass;
  const Vector3d v_centre = x.fall.velocity_at(x.t, dt) + impulse / (2.0 * robot_.mass);
  const double centre_energy =
      impulse.dot(v_centre) - robot_.mass * robot_.tree.fall_acceleration().dot(displacement);
  if (!impulse.isZero(0.0)) {
    next_state.fall = x.fall.after_impulse(x.t, dt, displacement, impulse);
    next_state.fall.start_time = next_state.t;
  }
  next_state.angular_momentum += angular_impulse - displacement.cross(impulse);
  next_state.energy.add(result.net_energy() - centre_energy);
}

namespace {

// Largest share by which the speed is changed to close the energy balance of a step; beyond it, as
// at rest, the residual is left in the balance.
constexpr double kMaxCorrection = 1e-3;

/// The factor of the speed that gives the desired kinetic energy, J; 1 at rest.
double speed_factor(double kinetic_energy, double target_energy) noexcept {
  if (!(kinetic_energy > 0.0 && target_energy > 0.0)) return 1.0;
  const double factor = std::sqrt(target_energy / kinetic_energy);
  return std::abs(factor - 1.0) <= kMaxCorrection ? factor : 1.0;
}

}  // namespace

WheeledRK4::WheeledRK4(const Model& model, bool has_gravity, const std::vector<Wheel>& wheels)
    : has_gravity_(has_gravity), model_(model), robot_(model, false), terms_(model, wheels) {
  if (model.fluid() != nullptr) {
    throw ModelError("'" + model.name() + "' is in a fluid; wheels roll on dry ground");
  }
  stage_.q = VectorXd::Zero(model.nq());
  stage_.v = rate_ = mean_rate_ = increment_ = force_ = velocity_ = VectorXd::Zero(model.nv());
  nu_rate_ = mean_nu_rate_ = VectorV::Zero(terms_.dimension());
}

SolverState WheeledRK4::begin(const VectorXd& q, const VectorXd& v, double t) {
  stage_.q = q;
  stage_.v = v;
  if (!terms_.compute(stage_, WheeledTerms::Partition::best)) throw ModelError(terms_.reason());
  return Stepper::begin(q, product<VectorXd>(terms_.basis, terms_.nu), t);
}

/// Compute the terms at `increment_` from a configuration, with the independent ones of the
/// velocities in `stage_`.
Failure WheeledRK4::evaluate_at(const VectorXd& start_q, double fraction) noexcept {
  if (fraction > 0.0) {
    model_.integrate(start_q, increment_, stage_.q);
  } else {
    stage_.q = start_q;
  }
  if (!std::isfinite(stage_.q.squaredNorm() + stage_.v.squaredNorm())) return Failure::not_finite;
  using Partition = WheeledTerms::Partition;
  if (!terms_.compute(stage_, fraction > 0.0 ? Partition::previous : Partition::best)) {
    return Failure::ambiguous_wheels;
  }
  multiply(terms_.basis, terms_.nu, velocity_);
  return Failure::none;
}

/// Kinetic energy, and potential energy where gravity acts, of the terms computed last, J.
double WheeledRK4::energy() noexcept {
  Evaluation& d = terms_.evaluation();
  return d.kinetic_energy() + (has_gravity_ ? d.potential_energy() : 0.0);
}

/// Compute the rates of the last stage, and add the port energies over a duration, s.
void WheeledRK4::compute_rates(const Ports& ports, double duration, StepResult& result) noexcept {
  force_.setZero();
  if (ports.has_efforts) {
    robot_.tree.set_configuration(stage_.q);
    robot_.port_force(ports, 0.0, velocity_, force_);  // held efforts only
    robot_.add_port_energies(ports, velocity_, duration, result);
  }
  if (has_gravity_) force_ -= terms_.evaluation().g();
  multiply(transposed(terms_.basis), force_, nu_rate_);
  add_product(terms_.coriolis, terms_.nu, nu_rate_, -1.0);
  Cholesky(terms_.mass).solve(nu_rate_.data());
  rate_ = velocity_;
  const Tree& tree = robot_.tree;
  tree.set_base(dexp_inverse(tree.base_twist(increment_), tree.base_twist(velocity_)), rate_);
}

StepResult WheeledRK4::step(const SolverState& x, const Ports& ports, double, double dt,
                            SolverState& next_state) noexcept {
  StepResult result;
  const auto& independent_dofs = terms_.independent_dofs();
  const auto advance_to = [&](double duration, const VectorXd& rate, const VectorV& nu_rate) {
    increment_ = duration * rate;
    stage_.v = x.v;
    for (std::size_t k = 0; k < independent_dofs.size(); ++k) {
      stage_.v[independent_dofs[k]] += duration * nu_rate[static_cast<Eigen::Index>(k)];
    }
  };
  mean_rate_.setZero();
  mean_nu_rate_.setZero();
  rate_.setZero();
  nu_rate_.setZero();
  double start_energy = 0.0;
  for (const auto& [fraction, weight, displacement_weight] : kRK4Stages) {
    advance_to(fraction * dt, rate_, nu_rate_);
    result.failure = evaluate_at(x.q, fraction);
    if (result.failure != Failure::none) return result;
    if (fraction == 0.0) start_energy = energy();
    compute_rates(ports, weight * dt, result);
    mean_rate_ += weight * rate_;
    mean_nu_rate_ += weight * nu_rate_;
  }
  advance_to(dt, mean_rate_, mean_nu_rate_);
  result.failure = evaluate_at(x.q, 1.0);
  if (result.failure != Failure::none) return result;
  const double kinetic_energy = terms_.evaluation().kinetic_energy();
  const double target_kinetic = start_energy + result.net_energy() - (energy() - kinetic_energy);
  next_state.q = stage_.q;
  next_state.v = speed_factor(kinetic_energy, target_kinetic) * velocity_;
  next_state.t = x.t + dt;
  return result;
}

RKMK4::RKMK4(const Model& model, bool has_gravity)
    : model_(checked_model(has_gravity ? model : model.with_gravity(Vector3d::Zero()), "scheme")),
      d_(model_),
      robot_(model_, has_gravity) {
  v_ = a_ = rate_ = mean_rate_ = mean_a_ = increment_ = port_force_ = VectorXd::Zero(model_.nv());
  q_ = VectorXd::Zero(model_.nq());
}

/// Compute the acceleration a_ at the stage (q_, v_) at time t, s, and add the energies of the
/// ports over a duration, s.
void RKMK4::accelerate(const Ports& ports, double t, double duration, StepResult& result) noexcept {
  d_.set(q_, v_);
  VectorV force = d_.drag();
  result.dissipated_energy -= duration * force.dot(v_);
  if (ports.has_efforts) {
    robot_.tree.set_configuration(q_);
    robot_.port_force(ports, t, v_, port_force_);
    robot_.add_port_energies(ports, v_, duration, result);
    force += port_force_;
  }
  force -= d_.g();
  add_product(d_.C(), v_, force, -1.0);
  Cholesky(d_.M()).solve(force.data());
  a_ = force;
}

StepResult RKMK4::step(const SolverState& x, const Ports& ports, double t, double dt,
                       SolverState& next_state) noexcept {
  const Tree& tree = robot_.tree;
  StepResult result;
  mean_rate_.setZero();
  mean_a_.setZero();
  rate_.setZero();
  a_.setZero();
  for (const auto& [fraction, weight, displacement_weight] : kRK4Stages) {
    increment_ = fraction * dt * rate_;
    if (fraction == 0.0) {
      q_ = x.q;
    } else {
      model_.integrate(x.q, increment_, q_);
    }
    v_ = x.v + fraction * dt * a_;
    if (!std::isfinite(q_.squaredNorm() + v_.squaredNorm())) {
      result.failure = Failure::not_finite;
      return result;
    }
    accelerate(ports, t + fraction * dt, weight * dt, result);
    rate_ = v_;
    tree.set_base(dexp_inverse(tree.base_twist(increment_), tree.base_twist(v_)), rate_);
    mean_rate_ += weight * rate_;
    mean_a_ += weight * a_;
  }
  increment_ = dt * mean_rate_;
  model_.integrate(x.q, increment_, next_state.q);
  next_state.v = x.v + dt * mean_a_;
  next_state.t = t + dt;
  if (!std::isfinite(next_state.q.squaredNorm() + next_state.v.squaredNorm())) {
    result.failure = Failure::not_finite;
  }
  return result;
}

}  // namespace vms_ph
