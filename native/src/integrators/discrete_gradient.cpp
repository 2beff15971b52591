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
constexpr double kTolerance = 1e-11, kFloor = 1e-13;
constexpr double kStagnation = 1e-9, kNoise = 1e-10;
constexpr double kContraction = 0.5;
constexpr int kFixedPointLimit = 60, kNewtonLimit = 30;
constexpr double kDifference = 1e-7, kShortest = 1.0 / 64.0;

/// The largest size of an entry; NaN where one is NaN.
double size_of(const Eigen::VectorXd& y) {
  double largest = 0.0;
  for (const double entry : y) {
    if (std::isnan(entry)) return entry;
    largest = std::max(largest, std::abs(entry));
  }
  return largest;
}

double rounding(double size) { return kStagnation * size + kNoise; }

}  // namespace

FixedPoint::FixedPoint(int size) : slope_(size, size) {
  unknown = y_ = following_ = residual_ = step_ = trial_ = left_ = Eigen::VectorXd::Zero(size);
}

bool FixedPoint::solve(Sweep& sweep, StepResult& result) noexcept {
  result.failure = Failure::none;
  y_ = unknown;
  double last = kInfinity, before = kInfinity;
  int count = 1;
  for (; count <= kFixedPointLimit; ++count) {
    if (!sweep.sweep(y_, following_)) {
      result.failure = Failure::not_finite;
      return false;
    }
    residual_ = following_ - y_;
    const double size = size_of(following_), change = size_of(residual_);
    const bool stalls = change > kContraction * before;
    if (change <= kTolerance * size + kFloor || (stalls && change <= rounding(size))) {
      unknown = y_;
      result.iterations = count;
      return true;
    }
    if (stalls || !(change < kInfinity)) break;
    y_ = following_;
    before = last;
    last = change;
  }
  result.iterations = std::min(count, kFixedPointLimit);
  return newton(sweep, result);
}

bool FixedPoint::newton(Sweep& sweep, StepResult& result) noexcept {
  const auto fails = [&result](Failure failure, double amount, double extent) {
    result.failure = failure;
    result.amount = amount;
    result.extent = extent;
    return false;
  };
  y_ = unknown;
  if (!sweep.sweep(y_, following_)) return fails(Failure::not_finite, 0.0, 0.0);
  residual_ = following_ - y_;
  // Full steps may cycle around a kink of a force within the step: they are shortened.
  for (int count = 1; count <= kNewtonLimit; ++count) {
    const double size = size_of(y_) + size_of(residual_);
    if (size_of(residual_) <= kTolerance * size + kFloor) {
      unknown = y_;
      result.iterations += count;
      return true;
    }
    const double width = kDifference * std::max(size, 1e-3);
    for (Eigen::Index i = 0; i < y_.size(); ++i) {
      trial_ = y_;
      trial_[i] += width;
      if (!sweep.sweep(trial_, following_)) return fails(Failure::not_finite, 0.0, 0.0);
      slope_.col(i) = (following_ - trial_ - residual_) / width;
    }
    if (!slope_.allFinite()) return fails(Failure::not_finite, 0.0, 0.0);
    step_ = residual_;
    if (!solve_square(slope_, step_, 0.0)) return fails(Failure::not_finite, 0.0, 0.0);
    double length = 1.0;
    while (true) {
      trial_ = y_ - length * step_;
      if (!sweep.sweep(trial_, following_)) return fails(Failure::not_finite, 0.0, 0.0);
      left_ = following_ - trial_;
      if (size_of(left_) < (1.0 - 0.1 * length) * size_of(residual_)) break;
      length *= 0.5;
      if (length < kShortest) {
        if (!(size_of(residual_) <= rounding(size))) {
          return fails(Failure::newton_stalls, size_of(residual_), 0.0);
        }
        unknown = y_;
        result.iterations += count;
        return sweep.sweep(y_, following_);
      }
    }
    y_ = trial_;
    residual_ = left_;
  }
  return fails(Failure::newton_unfinished, size_of(residual_), kNewtonLimit);
}

namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::VectorXd;

// As in the Python scheme, which gives the reasons.
constexpr double kLinearLimit = 1e-3, kStalled = 1e-9;

/// The angle of cay(turn) over the length of turn.
double angle_ratio(const Vector3d& turn) {
  const double square = turn.squaredNorm();
  if (square < 1e-8) return 1.0 - square / 12.0;  // the next term is below 1e-18
  const double length = std::sqrt(square);
  return 2.0 * std::atan(0.5 * length) / length;
}

}  // namespace

DiscreteGradient::DiscreteGradient(const Model& model, bool gravity)
    : robot_(model, gravity),
      end_(robot_.tree),
      free_(end_.nv() + 1),
      forced_(end_.nv() + 1 + (robot_.k > 0 ? 3 : 0)) {
  const int nv = end_.nv(), n = end_.n();
  end_.set_configuration(end_.neutral());
  weights_ = VectorXd::Zero(n);
  for (int i = 0; i < n; ++i) weights_[i] = end_.inertia_of(i);
  typical_ = std::sqrt(weights_.mean());
  zero_effort_ = reach_ = v_mid_ = force_ = velocity_ = VectorXd::Zero(nv);
  slope_ = pi_mean_ = weighted_ = VectorXd::Zero(n);
  q_mid_ = VectorXd::Zero(end_.nq());
}

SolverState DiscreteGradient::begin(const VectorXd& q, const VectorXd& v, double t) {
  SolverState x;
  robot_.split(q, v, t, x);
  x.pi = VectorXd::Zero(robot_.tree.n());
  robot_.tree.write_joint_momenta(x.pi.data());
  for (auto& value : x.past.values) value = VectorXd::Zero(robot_.tree.nv() + 1);
  return x;
}

Vector3d DiscreteGradient::in_base(const VectorXd& q, const Vector3d& angular) const noexcept {
  return robot_.rotation(q).transpose() * angular;
}

void DiscreteGradient::inertial_motion(const SolverState& x, VectorXd& q, VectorXd& v) noexcept {
  q = x.q;
  end_.set_configuration(q);
  if (robot_.k > 0) {
    const Matrix3d rotation = robot_.rotation(q);
    robot_.set_position(-(rotation * end_.centre()), q);
  }
  end_.solve({Vector3d::Zero(), in_base(q, x.angular)}, x.pi, v);
}

void DiscreteGradient::motion(const SolverState& x, VectorXd& q, VectorXd& v) noexcept {
  q.resize(x.q.size());
  v.resize(robot_.tree.nv());
  inertial_motion(x, q, v);
  if (robot_.k > 0) robot_.to_inertial(x.fall.centre_at(x.t), x.fall.velocity_at(x.t), q, v);
}

void DiscreteGradient::guess(const SolverState& x, double t, double dt, bool fresh) noexcept {
  const int nv = robot_.tree.nv();
  FixedPoint& solver = ports_->any ? forced_ : free_;
  if (!fresh && x.past.count == PastSteps::kPoints) {
    x.past.extrapolate(t + 0.5 * dt, solver.unknown.head(nv + 1));
  } else {
    inertial_motion(x, q_mid_, v_mid_);
    end_.accelerate(v_mid_, zero_effort_, velocity_);
    solver.unknown.head(nv) = v_mid_ + (0.5 * dt) * velocity_;
    solver.unknown[nv] = 0.0;
  }
  if (ports_->any && robot_.k > 0) solver.unknown.tail<3>() = x.fall.velocity_at(x.t, 0.5 * dt);
}

StepResult DiscreteGradient::step(const SolverState& x, const Ports& ports, double t, double dt,
                                  SolverState& next) noexcept {
  const int nv = robot_.tree.nv();
  from_ = &x;
  ports_ = &ports;
  result_state_ = &next;
  t_ = t;
  dt_ = dt;
  l0_ = in_base(x.q, x.angular);
  StepResult result;
  FixedPoint& solver = ports.any ? forced_ : free_;
  guess(x, t, dt, false);
  if (!solver.solve(*this, result)) {
    if (x.past.count == 0) return result;
    // An extrapolation across a jump, or a change of step, may not be a usable guess.
    guess(x, t, dt, true);
    if (!solver.solve(*this, result)) return result;
  }
  polish(result);
  if (ports.any) robot_.add_port_energies(ports, v_mid_, dt, result);
  next.past.count = x.past.count;
  next.past.times = x.past.times;
  for (std::size_t i = 0; i < PastSteps::kPoints; ++i) next.past.values[i] = x.past.values[i];
  next.past.append(t + 0.5 * dt, solver.unknown.head(nv + 1));
  return result;
}

bool DiscreteGradient::sweep(const VectorXd& unknown, VectorXd& following) noexcept {
  const SolverState& x = *from_;
  SolverState& end = *result_state_;
  Tree& middle = robot_.tree;
  const int b = robot_.tree.b(), n = robot_.tree.n(), nv = b + n;
  const auto y = unknown.head(nv);
  reach_ = dt_ * y;
  v_mid_ = y;
  const Vector3d turn = middle.base_twist(reach_).angular;
  middle.set_base({Vector3d::Zero(), (robot_.k == 3 ? angle_ratio(turn) : 1.0) * turn}, reach_);
  end.q = x.q;
  robot_.integrate(x.q, reach_, end.q, true);
  reach_ *= 0.5;
  q_mid_ = x.q;
  robot_.integrate(x.q, reach_, q_mid_, true);
  reach_ *= 2.0;
  if (!std::isfinite(end.q.squaredNorm())) return false;
  weighted_ = weights_.cwiseProduct(reach_.tail(n));
  square_ = reach_.tail(n).dot(weighted_);

  middle.set_configuration(q_mid_);
  middle.set_velocity(v_mid_);
  slope_.setZero();
  middle.add_slopes(1.0, slope_.data());
  if (robot_.has_potential) middle.add_weight(-1.0, slope_);
  end.pi = x.pi + dt_ * slope_;
  end.angular = x.angular;
  end.energy = x.energy;
  end.fall = x.fall;
  end.t = t_ + dt_;
  if (ports_->any) {
    const Matrix3d rotation = robot_.rotation(q_mid_);
    Vector3d centre_velocity = Vector3d::Zero();
    if (robot_.k > 0) {
      centre_velocity = unknown.tail<3>();
      robot_.to_inertial(Vector3d::Zero(), centre_velocity, q_mid_, v_mid_);
    }
    robot_.external_force(*ports_, t_ + 0.5 * dt_, v_mid_, force_);
    if (robot_.k > 0) {
      // The effect of a force at a fixed centre of mass, whose motion is integrated separately.
      const Screw acting = middle.base_twist(force_);
      const Vector3d torque = acting.angular - middle.centre().cross(acting.linear);
      for (int i = 0; i < n; ++i) {
        force_[b + i] -= middle.pull(i).dot(acting.linear) / robot_.mass;
      }
      const Vector3d push = rotation * acting.linear, half = 0.5 * turn;
      // In inertial axes, such that its work is w . torque.
      const Vector3d rotated_torque = torque - half.cross(torque) + half * half.dot(torque);
      end.angular += dt_ * (robot_.rotation(end.q) * rotated_torque) / (1.0 + half.squaredNorm());
      end.energy.add(
          dt_ * (torque.dot(middle.base_twist(unknown).angular) + force_.tail(n).dot(y.tail(n))));
      // A constant force over the step: the mean of the velocity it adds is half of the final
      // value.
      const Vector3d gain = (0.5 * dt_ / robot_.mass) * push;
      following.tail<3>() = x.fall.velocity_at(x.t, 0.5 * dt_) + gain;
      if (!push.isZero(0.0)) {
        end.fall = x.fall.after_impulse(x.t, dt_, dt_ * gain, dt_ * push);
        end.fall.since = end.t;
      }
    } else {
      end.energy.add(dt_ * force_.dot(y));
    }
    end.pi += dt_ * force_.tail(n);
  }
  correct(unknown[nv]);
  const Vector3d l1 = in_base(end.q, end.angular);
  const Screw mean{Vector3d::Zero(), 0.5 * (l0_ + l1)};
  pi_mean_ = 0.5 * (x.pi + end.pi);
  middle.solve(mean, pi_mean_, velocity_);
  following.head(nv) = velocity_;
  const double newer = multiplier(following, l1);
  following[nv] = newer;
  if (newer != unknown[nv]) {
    // The newer multiplier is used at once: the sweeps contract twice as fast.
    correct(newer - unknown[nv]);
    pi_mean_ = 0.5 * (x.pi + end.pi);
    middle.solve(mean, pi_mean_, velocity_);
    following.head(nv) = velocity_;
  }
  return true;
}

/// Subtract `by` times the direction of the discrete gradient from the joint momenta.
void DiscreteGradient::correct(double by) noexcept {
  if (square_ != 0.0) result_state_->pi -= (by * typical_ / std::sqrt(square_)) * weighted_;
}

double DiscreteGradient::multiplier(const VectorXd& following, const Vector3d& l1) noexcept {
  if (square_ == 0.0) return 0.0;
  const SolverState& x = *from_;
  const int b = robot_.tree.b(), n = robot_.tree.n();
  const Energy here = energy(result_state_->q, l1, result_state_->pi);
  // The energy error of the midpoint rule: it vanishes with the joint motion, for any guess.
  double gained = -slope_.dot(reach_.tail(n));
  for (int i = 0; i < n; ++i) gained += following[b + i] * (result_state_->pi[i] - x.pi[i]);
  double missed = here.value - x.energy.value - gained;
  if (robot_.k > 0) missed -= robot_.tree.base_twist(following).angular.dot(l1 - l0_);
  if (std::abs(missed) <= kEnergyRounding * here.scale) return 0.0;
  return dt_ * missed / (typical_ * std::sqrt(square_));
}

DiscreteGradient::Energy DiscreteGradient::energy(const VectorXd& q, const Vector3d& angular,
                                                  const VectorXd& pi) noexcept {
  end_.set_configuration(q);
  end_.solve({Vector3d::Zero(), angular}, pi, velocity_);
  const double kinetic = 0.5 * (angular.dot(end_.base_twist(velocity_).angular) +
                                pi.dot(velocity_.tail(robot_.tree.n())));
  const double potential = robot_.has_potential ? end_.potential() : 0.0;
  return {kinetic + potential, kinetic + std::abs(potential)};
}

/// Correct the energy error left by rounding in the solution; fail if it is larger.
void DiscreteGradient::polish(StepResult& result) noexcept {
  const int n = robot_.tree.n();
  const Energy here = energy(result_state_->q, in_base(result_state_->q, result_state_->angular),
                             result_state_->pi);
  const double gap = here.value - result_state_->energy.value;
  if (std::abs(gap) <= kEnergyRounding * here.scale) return;
  // The kinetic energy of momentum - share * along is quadratic in the share; the small root.
  const double slope = weighted_.dot(velocity_.tail(n));
  end_.solve(Screw{}, weighted_, velocity_);
  const double curvature = weighted_.dot(velocity_.tail(n));
  if (std::abs(2.0 * curvature * gap) <= kLinearLimit * slope * slope) {
    // `slope` has the sign of the step.
    const double root = std::sqrt(slope * slope - 2.0 * curvature * gap);
    result_state_->pi -= (2.0 * gap / (slope + std::copysign(root, slope))) * weighted_;
  } else if (!(std::abs(gap) <= kStalled * here.scale)) {
    result.failure = Failure::energy_missed;
    result.amount = gap;
  }
}

}  // namespace vms_ph
