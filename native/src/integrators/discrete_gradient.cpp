// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/integrators/schemes.hpp"

#include <algorithm>
#include <cmath>

#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/tree_inlined.hpp"

namespace vms_ph {
namespace {

// As in the Python solver, which gives the reasons.
constexpr double kRelTol = 1e-11, kAbsTol = 1e-13;
constexpr double kStagnationTolerance = 1e-9, kStagnationFloor = 1e-10;
constexpr double kContraction = 0.5;
constexpr int kFixedPointLimit = 60, kNewtonLimit = 30;
constexpr double kDifferenceStep = 1e-7, kMinStepScale = 1.0 / 64.0;

/// The largest size of an entry; NaN where one is NaN.
double largest_entry(const VectorXd& y) { return y.cwiseAbs().maxCoeff<Eigen::PropagateNaN>(); }

double stall_tolerance(double scale) { return kStagnationTolerance * scale + kStagnationFloor; }

}  // namespace

FixedPointSolver::FixedPointSolver(int size) : jacobian_(size, size) {
  unknown = iterate_ = image_ = residual_ = step_ = trial_ = trial_residual_ = VectorXd::Zero(size);
}

bool FixedPointSolver::solve(const Sweep& sweep, StepResult& result) noexcept {
  result.failure = Failure::none;
  iterate_ = unknown;
  double last_change = kInfinity, earlier_change = kInfinity;
  int iteration = 1;
  for (; iteration <= kFixedPointLimit; ++iteration) {
    if (!sweep(iterate_, image_)) {
      result.failure = Failure::not_finite;
      return false;
    }
    residual_ = image_ - iterate_;
    const double scale = largest_entry(image_), change = largest_entry(residual_);
    const bool is_stalled = change > kContraction * earlier_change;
    if (change <= kRelTol * scale + kAbsTol || (is_stalled && change <= stall_tolerance(scale))) {
      unknown = iterate_;
      result.iterations = iteration;
      return true;
    }
    if (is_stalled || !(change < kInfinity)) break;
    iterate_ = image_;
    earlier_change = last_change;
    last_change = change;
  }
  result.iterations = std::min(iteration, kFixedPointLimit);
  return solve_by_newton(sweep, result);
}

bool FixedPointSolver::solve_by_newton(const Sweep& sweep, StepResult& result) noexcept {
  const auto fail = [&result](Failure failure, double error, double limit) {
    result.failure = failure;
    result.error = error;
    result.limit = limit;
    return false;
  };
  iterate_ = unknown;
  if (!sweep(iterate_, image_)) return fail(Failure::not_finite, 0.0, 0.0);
  residual_ = image_ - iterate_;
  // Full steps may cycle around a kink of a force within the step: they are shortened.
  for (int iteration = 1; iteration <= kNewtonLimit; ++iteration) {
    const double scale = largest_entry(iterate_) + largest_entry(residual_);
    if (largest_entry(residual_) <= kRelTol * scale + kAbsTol) {
      unknown = iterate_;
      result.iterations += iteration;
      return true;
    }
    const double increment = kDifferenceStep * std::max(scale, 1e-3);
    for (Eigen::Index i = 0; i < iterate_.size(); ++i) {
      trial_ = iterate_;
      trial_[i] += increment;
      if (!sweep(trial_, image_)) return fail(Failure::not_finite, 0.0, 0.0);
      jacobian_.col(i) = (image_ - trial_ - residual_) / increment;
    }
    if (!jacobian_.allFinite()) return fail(Failure::not_finite, 0.0, 0.0);
    step_ = residual_;
    if (!solve_square(jacobian_, step_, 0.0)) return fail(Failure::not_finite, 0.0, 0.0);
    double factor = 1.0;
    while (true) {
      trial_ = iterate_ - factor * step_;
      if (!sweep(trial_, image_)) return fail(Failure::not_finite, 0.0, 0.0);
      trial_residual_ = image_ - trial_;
      if (largest_entry(trial_residual_) < (1.0 - 0.1 * factor) * largest_entry(residual_)) break;
      factor *= 0.5;
      if (factor < kMinStepScale) {
        if (!(largest_entry(residual_) <= stall_tolerance(scale)))
          return fail(Failure::newton_stagnation, largest_entry(residual_), 0.0);
        unknown = iterate_;
        result.iterations += iteration;
        return sweep(iterate_, image_);
      }
    }
    iterate_ = trial_;
    residual_ = trial_residual_;
  }
  return fail(Failure::newton_not_converged, largest_entry(residual_), kNewtonLimit);
}

namespace {

// As in the Python scheme, which gives the reasons.
constexpr double kMaxRelativeCurvature = 1e-3, kMaxDeferredGap = 1e-9;

/// The angle of cay(vector) over the length of the vector.
double angle_ratio(const Vector3d& vector) {
  const double squared_length = vector.squaredNorm();
  if (squared_length < 1e-8) return 1.0 - squared_length / 12.0;  // the next term is below 1e-18
  const double length = std::sqrt(squared_length);
  return 2.0 * std::atan(0.5 * length) / length;
}

}  // namespace

DiscreteGradient::DiscreteGradient(const Model& model, bool has_gravity)
    : robot_(model, has_gravity),
      end_tree_(robot_.tree),
      free_solver_(end_tree_.nv() + 1),
      forced_solver_(end_tree_.nv() + 1 + (robot_.can_fall() ? 3 : 0)) {
  const int nv = end_tree_.nv(), n = end_tree_.n();
  end_tree_.set_configuration(robot_.model.neutral_configuration());
  Eigen::MatrixXd mass(nv, nv);
  end_tree_.write_mass(mass.data());
  joint_inertias_ = mass.diagonal().tail(n);
  if (n > 0) root_mean_inertia_ = std::sqrt(joint_inertias_.mean());
  zero_effort_ = increment_ = v_mid_ = force_ = velocity_ = VectorXd::Zero(nv);
  shape_force_ = pi_mean_ = weighted_step_ = VectorXd::Zero(n);
  q_mid_ = VectorXd::Zero(end_tree_.nq());
}

SolverState DiscreteGradient::begin(const VectorXd& q, const VectorXd& v, double t) {
  SolverState x;
  robot_.split(q, v, t, x);
  x.pi = VectorXd::Zero(robot_.tree.n());
  robot_.tree.write_joint_momenta(x.pi.data());
  for (auto& unknown : x.past_steps.unknowns) unknown = VectorXd::Zero(robot_.tree.nv() + 1);
  return x;
}

Vector3d DiscreteGradient::to_base(const VectorXd& q, const Vector3d& vector) const noexcept {
  return robot_.rotation(q).transpose() * vector;
}

void DiscreteGradient::centroidal_motion(const SolverState& x, VectorXd& q, VectorXd& v) noexcept {
  q = x.q;
  end_tree_.set_configuration(q);
  if (robot_.can_fall()) {
    const Matrix3d rotation = robot_.rotation(q);
    robot_.set_base_position(-(rotation * end_tree_.centre_of_mass()), q);
  }
  end_tree_.solve_velocity({Vector3d::Zero(), to_base(q, x.angular_momentum)}, x.pi, v);
}

void DiscreteGradient::motion(const SolverState& x, VectorXd& q, VectorXd& v) noexcept {
  q.resize(x.q.size());
  v.resize(robot_.tree.nv());
  centroidal_motion(x, q, v);
  if (robot_.can_fall()) robot_.to_inertial(x.fall.centre_at(x.t), x.fall.velocity_at(x.t), q, v);
}

void DiscreteGradient::set_guess(const SolverState& x, double t, double dt,
                                 bool ignores_past_steps) noexcept {
  const int nv = robot_.tree.nv();
  FixedPointSolver& solver = ports_->has_efforts ? forced_solver_ : free_solver_;
  if (!ignores_past_steps && x.past_steps.count == PastSteps::kMaxSteps) {
    x.past_steps.extrapolate(t + 0.5 * dt, solver.unknown.head(nv + 1));
  } else {
    centroidal_motion(x, q_mid_, v_mid_);
    end_tree_.solve_acceleration(v_mid_, zero_effort_, velocity_);
    solver.unknown.head(nv) = v_mid_ + (0.5 * dt) * velocity_;
    solver.unknown[nv] = 0.0;
  }
  if (ports_->has_efforts && robot_.can_fall())
    solver.unknown.tail<3>() = x.fall.velocity_at(x.t, 0.5 * dt);
}

StepResult DiscreteGradient::step(const SolverState& x, const Ports& ports, double t, double dt,
                                  SolverState& end_state) noexcept {
  const int nv = robot_.tree.nv();
  start_state_ = &x;
  ports_ = &ports;
  end_state_ = &end_state;
  t_ = t;
  dt_ = dt;
  start_momentum_ = to_base(x.q, x.angular_momentum);
  StepResult result;
  FixedPointSolver& solver = ports.has_efforts ? forced_solver_ : free_solver_;
  const FixedPointSolver::Sweep sweep_of_step = [this](const VectorXd& unknown, VectorXd& image) {
    return sweep(unknown, image);
  };
  set_guess(x, t, dt, false);
  if (!solver.solve(sweep_of_step, result)) {
    if (x.past_steps.count == 0) return result;
    // An extrapolation across a jump, or a change of step, may not be a usable guess.
    set_guess(x, t, dt, true);
    if (!solver.solve(sweep_of_step, result)) return result;
  }
  remove_rounding_error(result);
  if (ports.has_efforts) robot_.add_port_energies(ports, v_mid_, dt, result);
  end_state.past_steps = x.past_steps;
  end_state.past_steps.append(t + 0.5 * dt, solver.unknown.head(nv + 1));
  return result;
}

bool DiscreteGradient::sweep(const VectorXd& unknown, VectorXd& image) noexcept {
  const SolverState& x = *start_state_;
  SolverState& end_state = *end_state_;
  Tree& mid_tree = robot_.tree;
  const int b = robot_.tree.b(), n = robot_.tree.n(), nv = b + n;
  const auto y = unknown.head(nv);  // velocity in the middle of the step
  increment_ = dt_ * y;
  v_mid_ = y;
  const Vector3d phi = mid_tree.base_twist(increment_).angular;
  mid_tree.set_base({Vector3d::Zero(), (robot_.centre_dim == 3 ? angle_ratio(phi) : 1.0) * phi},
                    increment_);
  end_state.q = x.q;
  robot_.model.integrate(x.q, increment_, end_state.q, true);
  increment_ *= 0.5;
  q_mid_ = x.q;
  robot_.model.integrate(x.q, increment_, q_mid_, true);
  increment_ *= 2.0;
  if (!std::isfinite(end_state.q.squaredNorm())) return false;
  weighted_step_ = joint_inertias_.cwiseProduct(increment_.tail(n));
  step_norm_ = std::sqrt(increment_.tail(n).dot(weighted_step_));

  mid_tree.set_configuration(q_mid_);
  mid_tree.set_velocity(v_mid_);
  shape_force_.setZero();
  mid_tree.add_kinetic_gradient(1.0, shape_force_.data());
  if (robot_.tree.has_potential()) mid_tree.add_weight(-1.0, shape_force_.data());
  end_state.pi = x.pi + dt_ * shape_force_;
  end_state.angular_momentum = x.angular_momentum;
  end_state.energy = x.energy;
  end_state.fall = x.fall;
  end_state.t = t_ + dt_;
  if (ports_->has_efforts) {
    const Matrix3d rotation = robot_.rotation(q_mid_);
    Vector3d centre_velocity = Vector3d::Zero();
    if (robot_.can_fall()) {
      centre_velocity = unknown.tail<3>();
      robot_.to_inertial(Vector3d::Zero(), centre_velocity, q_mid_, v_mid_);
    }
    robot_.port_force(*ports_, t_ + 0.5 * dt_, v_mid_, force_);
    if (robot_.can_fall()) {
      // The effect of a force at a fixed centre of mass, whose motion is integrated separately.
      const Screw wrench = mid_tree.base_twist(force_);
      const Vector3d torque = wrench.angular - mid_tree.centre_of_mass().cross(wrench.linear);
      for (int i = 0; i < n; ++i)
        force_[b + i] -= mid_tree.linear_coupling(i).dot(wrench.linear) / robot_.mass;
      const Vector3d world_force = rotation * wrench.linear, half_phi = 0.5 * phi;
      // In inertial axes, such that its work is w . torque.
      const Vector3d rotated_torque =
          torque - half_phi.cross(torque) + half_phi * half_phi.dot(torque);
      end_state.angular_momentum +=
          dt_ * (robot_.rotation(end_state.q) * rotated_torque) / (1.0 + half_phi.squaredNorm());
      end_state.energy.add(
          dt_ * (torque.dot(mid_tree.base_twist(unknown).angular) + force_.tail(n).dot(y.tail(n))));
      // A constant force over the step: the mean of the velocity it adds is half the final one.
      const Vector3d velocity_gain = (0.5 * dt_ / robot_.mass) * world_force;
      image.tail<3>() = x.fall.velocity_at(x.t, 0.5 * dt_) + velocity_gain;
      if (!world_force.isZero(0.0)) {
        end_state.fall = x.fall.after_impulse(x.t, dt_, dt_ * velocity_gain, dt_ * world_force);
        end_state.fall.start_time = end_state.t;
      }
    } else {
      end_state.energy.add(dt_ * force_.dot(y));
    }
    end_state.pi += dt_ * force_.tail(n);
  }
  correct_momenta(unknown[nv]);
  const Vector3d end_momentum = to_base(end_state.q, end_state.angular_momentum);
  const Screw mean_momentum{Vector3d::Zero(), 0.5 * (start_momentum_ + end_momentum)};
  pi_mean_ = 0.5 * (x.pi + end_state.pi);
  mid_tree.solve_velocity(mean_momentum, pi_mean_, velocity_);
  image.head(nv) = velocity_;
  const double new_multiplier = multiplier(image, end_momentum);
  image[nv] = new_multiplier;
  if (new_multiplier != unknown[nv]) {
    // The newer multiplier is used at once: the sweeps contract twice as fast.
    correct_momenta(new_multiplier - unknown[nv]);
    pi_mean_ = 0.5 * (x.pi + end_state.pi);
    mid_tree.solve_velocity(mean_momentum, pi_mean_, velocity_);
    image.head(nv) = velocity_;
  }
  return true;
}

/// Subtract `lambda` times the direction of the discrete gradient from the joint momenta.
void DiscreteGradient::correct_momenta(double lambda) noexcept {
  if (step_norm_ != 0.0)
    end_state_->pi -= (lambda * root_mean_inertia_ / step_norm_) * weighted_step_;
}

double DiscreteGradient::multiplier(const VectorXd& image, const Vector3d& end_momentum) noexcept {
  if (step_norm_ == 0.0) return 0.0;
  const SolverState& x = *start_state_;
  const int b = robot_.tree.b(), n = robot_.tree.n();
  const Energy end_energy = evaluate_energy(end_state_->q, end_momentum, end_state_->pi);
  // The energy error of the midpoint rule: it vanishes with the joint motion, for any guess.
  double expected_change = -shape_force_.dot(increment_.tail(n));
  for (int i = 0; i < n; ++i) expected_change += image[b + i] * (end_state_->pi[i] - x.pi[i]);
  double energy_error = end_energy.value - x.energy.value - expected_change;
  if (robot_.can_fall())
    energy_error -= robot_.tree.base_twist(image).angular.dot(end_momentum - start_momentum_);
  if (std::abs(energy_error) <= kEnergyRounding * end_energy.magnitude) return 0.0;
  return dt_ * energy_error / (root_mean_inertia_ * step_norm_);
}

DiscreteGradient::Energy DiscreteGradient::evaluate_energy(const VectorXd& q,
                                                           const Vector3d& angular_momentum,
                                                           const VectorXd& pi) noexcept {
  end_tree_.set_configuration(q);
  end_tree_.solve_velocity({Vector3d::Zero(), angular_momentum}, pi, velocity_);
  const double kinetic_energy =
      0.5 * (angular_momentum.dot(end_tree_.base_twist(velocity_).angular) +
             pi.dot(velocity_.tail(robot_.tree.n())));
  const double potential_energy = robot_.tree.has_potential() ? end_tree_.potential_energy() : 0.0;
  return {kinetic_energy + potential_energy, kinetic_energy + std::abs(potential_energy)};
}

/// Correct the energy error left by rounding in the solution; fail if it is larger.
void DiscreteGradient::remove_rounding_error(StepResult& result) noexcept {
  const int n = robot_.tree.n();
  const Vector3d angular_momentum = to_base(end_state_->q, end_state_->angular_momentum);
  const Energy end_energy = evaluate_energy(end_state_->q, angular_momentum, end_state_->pi);
  const double energy_gap = end_energy.value - end_state_->energy.value;
  if (std::abs(energy_gap) <= kEnergyRounding * end_energy.magnitude) return;
  // The kinetic energy of momentum - share * along is quadratic in the share; the small root.
  const double slope = weighted_step_.dot(velocity_.tail(n));
  end_tree_.solve_velocity(Screw{}, weighted_step_, velocity_);
  const double curvature = weighted_step_.dot(velocity_.tail(n));
  if (std::abs(2.0 * curvature * energy_gap) <= kMaxRelativeCurvature * slope * slope) {
    // `slope` has the sign of the step.
    const double root = std::sqrt(slope * slope - 2.0 * curvature * energy_gap);
    end_state_->pi -= (2.0 * energy_gap / (slope + std::copysign(root, slope))) * weighted_step_;
  } else if (!(std::abs(energy_gap) <= kMaxDeferredGap * end_energy.magnitude)) {
    result.failure = Failure::energy_residual;
    result.error = energy_gap;
  }
}

}  // namespace vms_ph
