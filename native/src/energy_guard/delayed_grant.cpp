// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/energy_guard/port_guard.hpp"

#include <string>
#include <utility>

namespace vms_ph {
namespace {

// Relative difference up to which a wrench is one that the actuators give: rounding of allocations.
constexpr double kRelativeTolerance = 1e-9;

// Growth of the norm of an effort, in the inverse mass matrix, while no state is seen.
constexpr double kInertiaFactor = 1.1;

// Largest change of the weight with motion per inertia, 1/s^2: that of a pendulum of 5 cm.
constexpr double kWeightRate = 200.0;

// Factor on the bound of a quick check: it leaves out that inertia and gravity change on the way.
constexpr double kSafetyFactor = 2.0;

// Longest displacement for which the quick check is made, rad or m.
constexpr double kLongestDisplacement = 0.2;

// A speed below this, m/s, has no direction.
constexpr double kMinSpeed = 1e-9;

// The largest share s in [0, 1] with a s^2 + b s + c <= 0, for a >= 0; else 0.
double largest_root(double a, double b, double c) {
  if (a + b + c <= 0.0) return 1.0;
  if (c > 0.0) return 0.0;
  const double root = std::sqrt(std::max(0.0, b * b - 4.0 * a * c));
  // c <= 0 < a + b + c: the larger root is in [0, 1).
  const double share = b <= 0.0 ? (root - b) / (2.0 * a) : -2.0 * c / (b + root);
  return std::min(std::max(share, 0.0), 1.0);
}

}  // namespace

BaseWrenchLimiter::BaseWrenchLimiter(const Model& model, std::optional<Allocation> allocation,
                                     bool base_actuated, const Eigen::VectorXd& weights)
    : is_ideal_(model.b() == 0 || (base_actuated && !allocation)),
      allocation_(std::move(allocation)) {
  if (!allocation_) return;
  const Eigen::MatrixXd& matrix = allocation_->matrix();
  if (matrix.rows() != model.b()) {
    throw ModelError("the allocation makes wrenches of " + std::to_string(matrix.rows()) +
                     " components; the base of '" + model.name() + "' has " +
                     std::to_string(model.b()));
  }
  if (weights.size() > 0 && !(weights.array() > 0.0).all()) {
    throw ModelError("the weights of a wrench must be above zero");
  }
  if (!base_actuated) return;
  actuation_.emplace(*allocation_, weights);
  brake_solver_.emplace(matrix);
  brake_map_ = matrix;
  inputs_ = Eigen::VectorXd::Zero(matrix.cols());
}

bool BaseWrenchLimiter::saturate(VectorB& wrench) noexcept {
  if (is_ideal_) return false;
  if (!actuation_) {
    const bool is_changed = (wrench.array() != 0.0).any();
    wrench.setZero();
    return is_changed;
  }
  const VectorB& applied_wrench = actuation_->apply(wrench, wrench);
  const double wrench_error = (wrench - applied_wrench).cwiseAbs().maxCoeff();
  if (wrench_error <= kRelativeTolerance * (1.0 + wrench.cwiseAbs().maxCoeff())) return false;
  wrench = applied_wrench;
  return true;
}

void BaseWrenchLimiter::limit_brake(VectorB& wrench,
                                    const Eigen::Ref<const Eigen::MatrixXd>& M_b) noexcept {
  if (!actuation_) {
    saturate(wrench);
    return;
  }
  M_b_factor_.compute(M_b);
  brake_map_ = allocation_->matrix();
  for (Eigen::Index i = 0; i < brake_map_.cols(); ++i)
    M_b_factor_.solve_root(&brake_map_.coeffRef(0, i));
  M_b_factor_.solve_root(wrench.data());
  brake_solver_->set_matrix(brake_map_);
  brake_solver_->solve(wrench, allocation_->lower(), allocation_->upper(), inputs_);
  multiply(allocation_->matrix(), inputs_, wrench);
}

EffortQueue::EffortQueue(const Model& model, int delay)
    : model_(model),
      delay_(delay),
      sample_work_(model),
      start_configuration_(VectorQ::Zero(model.nq())),
      last_state_(model),
      zero_velocity_(VectorV::Zero(model.nv())) {
  acting_effort_ = acting_active_effort_ = displacement_ = scratch_ = zero_velocity_;
  efforts_.fill(zero_velocity_);
  active_efforts_.fill(zero_velocity_);
}

void EffortQueue::restart(const VectorV& effort, const VectorV& active_effort) noexcept {
  efforts_.fill(effort);
  active_efforts_.fill(active_effort);
  sample_work_.restart();
  has_start_state_ = false;
  has_every_state_ = true;
}

void EffortQueue::send(const VectorV& effort, const VectorV& active_effort) noexcept {
  efforts_[index(0)] = effort;
  active_efforts_[index(0)] = active_effort;
  first_index_ = (first_index_ + 1) % (delay_ + 1);
}

void EffortQueue::begin_effort(Evaluation& d, double motion_energy_bound) noexcept {
  start_configuration_ = d.q();
  start_potential_energy_ = d.potential_energy();
  has_start_state_ = has_every_state_ = true;
  sample_work_.hold(d, effort_at(0), zero_velocity_, -start_potential_energy_);
  start_v_norm_ = v_norm_ = std::sqrt(2.0 * motion_energy_bound);
  path_length_ = work_error_ = 0.0;
  acting_effort_ = effort_at(0);
  acting_active_effort_ = active_efforts_[index(0)];
}

void EffortQueue::mean_velocity(const ConstVector& q, double dt, VectorV& result) noexcept {
  result.setZero(model_.nv());
  if (!has_start_state_ || !has_every_state_) return;
  model_.difference(start_configuration_, q, result);
  result /= dt;
}

void EffortQueue::skip_state(double dt) noexcept {
  if (!has_start_state_) return;
  if (has_every_state_) {
    last_state_.set(start_configuration_, zero_velocity_);
    M_factor_.compute(last_state_.M());
    has_weight_ = (last_state_.g().array() != 0.0).any();
  }
  has_every_state_ = false;
  advance_time(dt);
}

void EffortQueue::advance_without_state() noexcept {
  if (!has_start_state_) return;
  const VectorV effort_change = effort_at(0) - acting_effort_;
  work_error_ += path_length_ * effort_norm(effort_change);
  acting_effort_ = effort_at(0);
  acting_active_effort_ = active_efforts_[index(0)];
}

double EffortQueue::largest_work() const noexcept {
  if (!has_start_state_ || has_every_state_) return 0.0;
  const double work = 0.5 * (v_norm_ * v_norm_ - start_v_norm_ * start_v_norm_);
  return has_weight_ ? work + 0.5 * kWeightRate * path_length_ * path_length_ : work;
}

double EffortQueue::covered_share(const VectorV& active_effort, double level, double dt) noexcept {
  if (!has_start_state_) return 0.0;
  double v_norm = v_norm_;
  for (int k = 0; k < delay_; ++k) v_norm += dt * effort_norm(pending_active_effort(k));
  const double max_v_norm = std::sqrt(start_v_norm_ * start_v_norm_ + 2.0 * std::max(0.0, level));
  const double v_norm_rise = dt * effort_norm(active_effort);
  return v_norm_rise > 0.0 ? std::min(1.0, std::max(0.0, max_v_norm - v_norm) / v_norm_rise) : 1.0;
}

double EffortQueue::work(Evaluation& d, double dt) noexcept {
  if (!has_start_state_) return 0.0;
  const double potential_energy = d.potential_energy();
  if (has_every_state_) return -sample_work_.recovered_energy(d, -potential_energy, dt);
  advance_time(dt);
  model_.difference(start_configuration_, d.q(), displacement_);
  const double work = acting_effort_.dot(displacement_) -
                      (potential_energy - start_potential_energy_) + work_error_;
  // The displacement of a base that turns is not the integral of its velocity.
  return std::max({0.0, work, model_.b() > 0 ? largest_work() : 0.0});
}

/// Let the acting effort act for a time, s, without a state.
void EffortQueue::advance_time(double dt) noexcept {
  v_norm_ += dt * effort_norm(acting_active_effort_);
  path_length_ += dt * v_norm_;
}

/// The norm of an effort (nv,) by the inverse mass matrix, at most, while no state is seen.
double EffortQueue::effort_norm(const VectorV& effort) noexcept {
  scratch_ = effort;
  M_factor_.solve(scratch_.data());
  return kInertiaFactor * std::sqrt(std::max(0.0, effort.dot(scratch_)));
}

DelayedGrant::DelayedGrant(const Model& model, BaseWrenchLimiter wrench_limiter, int delay)
    : model_(model),
      wrench_limiter_(std::move(wrench_limiter)),
      sample_count_(delay + 1),
      predicted_state_(model),
      predictor_(model),
      grant_(model),
      torque_limits_(model) {
  static_effort_ = compensation_error_ = net_effort_ = active_effort_ = VectorV::Zero(model.nv());
  scratch_ = held_weight_ = brake_ = static_effort_;
  prediction_.acceleration = prediction_.displacement = static_effort_;
}

bool DelayedGrant::saturate(VectorV& effort) noexcept {
  if (wrench_limiter_.is_ideal()) return false;
  VectorB wrench = effort.head(model_.b());
  if (!wrench_limiter_.saturate(wrench)) return false;
  effort.head(model_.b()) = wrench;
  return true;
}

void DelayedGrant::static_effort(Evaluation& d, VectorV& result) noexcept {
  result = d.g();
  if (wrench_limiter_.is_ideal()) return;
  VectorB wrench = result.head(model_.b());
  if (wrench_limiter_.saturate(wrench)) replace_wrench(d, wrench, result);
}

void DelayedGrant::compensation_error(Evaluation& d, VectorV& result) noexcept {
  if (wrench_limiter_.is_ideal()) {
    result.setZero(model_.nv());
    return;
  }
  static_effort(d, result);
  result -= d.g();
}

/// Give an effort (nv,) another wrench and keep the force on the shape.
void DelayedGrant::replace_wrench(Evaluation& d, const VectorB& wrench, VectorV& effort) noexcept {
  const int b = model_.b();
  const VectorB wrench_change = wrench - effort.head(b);
  add_product(transposed(d.A()), wrench_change, effort.tail(model_.n()));
  effort.head(b) = wrench;
}

bool DelayedGrant::holds_weight(Evaluation& d) noexcept {
  if (wrench_limiter_.is_ideal()) return true;
  compensation_error(d, compensation_error_);
  return (compensation_error_.array() == 0.0).all();
}

void DelayedGrant::strongest_brake(Evaluation& d, double dt, VectorV& result) noexcept {
  const int n = model_.n();
  static_effort(d, held_weight_);
  vms_ph::strongest_brake(d, sample_count_ * dt, result);
  if (!wrench_limiter_.is_ideal()) {
    // Relative to the weight that the actuators hold.
    result += held_weight_;
    result -= d.g();
    VectorB wrench = result.head(model_.b());
    wrench_limiter_.limit_brake(wrench, d.M().topLeftCorner(model_.b(), model_.b()));
    replace_wrench(d, wrench, result);
  }
  const double share = torque_limits_.allowed_share(held_weight_.tail(n), result.tail(n));
  result = held_weight_ + share * (result - held_weight_);
}

void DelayedGrant::next_velocity(Evaluation& d, const EffortQueue& effort_queue, double dt,
                                 VectorV& result) noexcept {
  result = d.v();
  const int count = effort_queue.pending_count();
  if (count == 0) return;
  compensation_error(d, compensation_error_);
  scratch_ = d.g() - compensation_error_;
  add_product(d.C(), d.v(), scratch_);
  net_effort_ = -count * scratch_;
  for (int k = 0; k < count; ++k) net_effort_ += effort_queue.pending_effort(k);
  M_factor_.compute(d.M());
  M_factor_.solve(net_effort_.data());
  result += dt * net_effort_;
}

void DelayedGrant::grant(Evaluation& d, VectorV& effort, const EffortQueue& effort_queue,
                         double level, const DebtCeiling& debt_ceiling, double dt) noexcept {
  reason_ = "";
  is_braking_ = false;
  if (is_surely_covered(d, effort, effort_queue, level, debt_ceiling.motion_energy_bound(), dt)) {
    static_effort(d, active_effort_);
    active_effort_ = effort - active_effort_;
    return;
  }
  Evaluation* state = &d;
  double pending_energy = 0.0;
  for (int k = 0; k < effort_queue.pending_count(); ++k) {
    compensation_error(*state, compensation_error_);
    predictor_.begin(*state, compensation_error_, 0.0, dt);
    net_effort_ = effort_queue.pending_effort(k) + compensation_error_;
    predictor_.predict(net_effort_, prediction_);
    const double energy = predictor_.max_energy();
    pending_energy += level < 0.0 ? energy : std::max(0.0, energy);
    if (!std::isfinite(energy)) break;
    // The state at the end is copied before it is overwritten.
    predicted_state_.set(predictor_.end_q(), predictor_.end_v());
    state = &predicted_state_;
  }
  double budget = std::isfinite(pending_energy) ? level - pending_energy : std::min(level, 0.0);
  if (level < 0.0) budget = std::min(budget, 0.0);
  static_effort(*state, static_effort_);
  const bool is_covered = grant_.grant(*state, effort, static_effort_, budget, dt);
  is_braking_ = !is_covered;
  reason_ = grant_.reason().text();
  if (!is_covered) {
    strongest_brake(*state, dt, brake_);
    grant_.brake(effort, static_effort_, brake_);
  }
  active_effort_ = effort - static_effort_;
  M_factor_.compute(state->M());
  double remaining_rise = debt_ceiling.v_norm_rise(level);
  for (int k = 0; k < effort_queue.pending_count(); ++k)
    remaining_rise -= v_norm_rise(effort_queue.pending_active_effort(k), dt);
  remaining_rise = std::max(0.0, remaining_rise);
  const double required_rise = v_norm_rise(active_effort_, dt);
  if (!(required_rise > remaining_rise)) return;
  compensation_error(*state, compensation_error_);
  predictor_.begin(*state, compensation_error_, 0.0, dt);
  active_effort_ *= std::max(remaining_rise / required_rise, neutral_share(effort));
  effort = static_effort_ + active_effort_;
  if (reason_[0] != '\0') return;
  reason_ = level < -SampleGrant::kRounding ? reasons::tank_in_debt : reasons::tank_uncovered;
}

/// By how much an effort beyond the static one (nv,) raises |v|_M in a sample at most, with
/// M_factor_ at its state.
double DelayedGrant::v_norm_rise(const VectorV& active_effort, double dt) noexcept {
  scratch_ = active_effort;
  M_factor_.solve(scratch_.data());
  return dt * std::sqrt(std::max(0.0, active_effort.dot(scratch_)));
}

/// The share of a brake (nv,) that takes out what holding the weight over a sample gives.
double DelayedGrant::neutral_share(const VectorV& effort) noexcept {
  predictor_.predict(static_effort_, prediction_);
  const double static_work = predictor_.max_energy();
  if (!(static_work > 0.0)) return 0.0;
  predictor_.predict(effort, prediction_);
  const double brake_work = predictor_.max_energy();
  return static_work > brake_work ? std::min(1.0, static_work / (static_work - brake_work)) : 1.0;
}

/// Whether a bound for any direction of the motion shows that the tank covers an effort: an active
/// effort F changes the root of the kinetic energy by at most |F|_{M^-1} / sqrt 2 per time.
bool DelayedGrant::is_surely_covered(Evaluation& d, const VectorV& effort,
                                     const EffortQueue& effort_queue, double level,
                                     double kinetic_energy, double dt) noexcept {
  if (!(level > 0.0)) return false;
  M_factor_.compute(d.M());
  compensation_error(d, compensation_error_);
  double largest_squared_effort_norm = 0.0, largest_acceleration = 0.0;
  const int count = effort_queue.pending_count();
  for (int k = 0; k <= count; ++k) {
    net_effort_ = k < count ? effort_queue.pending_effort(k) : effort;
    if (k == count) net_effort_ -= compensation_error_;
    net_effort_ -= d.g();
    scratch_ = net_effort_;
    M_factor_.solve(scratch_.data());
    largest_squared_effort_norm = std::max(largest_squared_effort_norm, net_effort_.dot(scratch_));
    largest_acceleration = std::max(largest_acceleration, scratch_.cwiseAbs().maxCoeff());
  }
  const double span = (count + 1) * dt;
  if (!(span * (d.v().cwiseAbs().maxCoeff() + span * largest_acceleration) < kLongestDisplacement))
    return false;
  const double v_norm_change = span * std::sqrt(std::max(0.0, largest_squared_effort_norm));
  return kSafetyFactor * v_norm_change * (std::sqrt(2.0 * kinetic_energy) + 0.5 * v_norm_change) <=
         level;
}

MotionLimits::MotionLimits(const Model& model) : model_(model) {
  braked_velocity_ = velocity_step_ = effort_change_ = VectorV::Zero(model.nv());
  active_brake_ = unit_force_effort_ = braked_velocity_;
}

bool MotionLimits::tighten(double share, double& share_bound) noexcept {
  if (!(share < share_bound)) return false;
  share_bound = share;
  return true;
}

double MotionLimits::share(Evaluation& d, const VectorV& v, const VectorV& desired_effort,
                           const VectorV& brake_effort, const VectorV& static_effort,
                           const EnergyGuardSettings& settings, double dt) noexcept {
  reason_.clear();
  M_factor_.compute(d.M());
  braked_velocity_ = brake_effort - d.g();
  add_product(d.C(), d.v(), braked_velocity_, -1.0);
  M_factor_.solve(braked_velocity_.data());
  braked_velocity_ = v + dt * braked_velocity_;
  effort_change_ = desired_effort - brake_effort;
  velocity_step_ = effort_change_;
  M_factor_.solve(velocity_step_.data());
  velocity_step_ *= dt;
  double share_bound = 1.0;
  if (settings.max_power > 0.0) {
    active_brake_ = brake_effort - static_effort;
    const double slope = 0.5 * (effort_change_.dot(v) + effort_change_.dot(braked_velocity_));
    const double power = 0.5 * (active_brake_.dot(v) + active_brake_.dot(braked_velocity_));
    if (tighten(largest_root(0.5 * effort_change_.dot(velocity_step_),
                             slope + 0.5 * active_brake_.dot(velocity_step_),
                             power - settings.max_power),
                share_bound)) {
      reason_.set("power at its limit of %g W", settings.max_power);
    }
  }
  if (settings.max_joint_speed > 0.0) {
    for (Eigen::Index i = model_.b(); i < v.size(); ++i) {
      const double rate = braked_velocity_[i], change = velocity_step_[i],
                   bound = settings.max_joint_speed;
      if (!(std::abs(rate + change) > bound)) continue;
      const double end_rate = rate + change > 0.0 ? bound : -bound;
      const double ratio =
          std::abs(rate) < bound && change != 0.0 ? (end_rate - rate) / change : 0.0;
      if (tighten(std::min(std::max(ratio, 0.0), 1.0), share_bound)) {
        reason_.set("joint rate at its limit of %g", settings.max_joint_speed);
      }
    }
  }
  if (settings.max_speed > 0.0 || settings.max_kinetic_energy > 0.0)
    limit_tool(d, v, settings, share_bound);
  return share_bound;
}

void MotionLimits::limit_tool(Evaluation& d, const VectorV& v, const EnergyGuardSettings& settings,
                              double& share_bound) noexcept {
  const MatrixView jacobian = d.frame_jacobian(model_.end_effector(), pinocchio::LOCAL);
  const MatrixView linear_jacobian = jacobian.top_rows(3);
  const auto v0 = product<Eigen::Vector3d>(linear_jacobian, braked_velocity_);
  const auto dv = product<Eigen::Vector3d>(linear_jacobian, velocity_step_);
  const double a = dv.squaredNorm(), b = 2.0 * v0.dot(dv), c = v0.squaredNorm();
  if (settings.max_speed > 0.0 &&
      tighten(largest_root(a, b, c - settings.max_speed * settings.max_speed), share_bound)) {
    reason_.set("speed at its limit of %g m/s", settings.max_speed);
  }
  if (!(settings.max_kinetic_energy > 0.0)) return;
  auto direction = product<Eigen::Vector3d>(linear_jacobian, v);
  if (!(direction.norm() > kMinSpeed)) direction = v0 + dv;
  const double length = direction.norm();
  if (!(length > kMinSpeed)) return;
  direction /= length;
  multiply(transposed(linear_jacobian), direction, unit_force_effort_);
  VectorV response = unit_force_effort_;
  M_factor_.solve(response.data());
  const double squared_limit = 2.0 * settings.max_kinetic_energy * unit_force_effort_.dot(response);
  if (tighten(largest_root(a, b, c - squared_limit), share_bound)) {
    reason_.set("kinetic energy at its limit of %g J", settings.max_kinetic_energy);
  }
}

}  // namespace vms_ph
