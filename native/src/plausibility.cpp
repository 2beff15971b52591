// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/plausibility.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <Eigen/LU>

#include "vms_ph_native/limits.hpp"

namespace vms_ph {
namespace {

// Norms of rotations may deviate by this much: odometry in single precision deviates by 1e-7.
constexpr double kNormTolerance = 1e-3;

// Distance of a base from the origin at which its position loses its digits, m.
constexpr double kLargestPosition = 1e6;

// Time without a position that widens the bound of the next step, s.
constexpr double kLongestGap = 0.1;

// Time constant of the test for frozen joints, s.
constexpr double kFrozenTime = 0.5;

// Positions that joints without limits may be sent to, rad.
constexpr double kLargestJointPosition = 1e4;

// Without overflow.
double length(const Eigen::Vector3d& vector) { return std::hypot(vector[0], vector[1], vector[2]); }

bool is_rotation(const Eigen::Matrix3d& matrix) {
  Eigen::Matrix3d error = matrix * matrix.transpose();
  for (int k = 0; k < 3; ++k) error(k, k) -= 1.0;
  return error.cwiseAbs().maxCoeff() < 1e-2 && matrix.determinant() >= 0.0;
}

}  // namespace

double braking_rate(double dt, double age) noexcept {
  const double age_share = 2.0 * age / std::max(3.0 * dt + 2.0 * age, 1e-12);
  return (1.0 + age_share) * 10.0 / (1.0 + 30.0 * dt + 20.0 * age);
}

void PlausibilityBounds::check() const {
#define VMS_PH_FIELD(name, initial, least, most)                                          \
  if (!(name >= least && name <= most)) {                                                 \
    throw ModelError("the plausibility bound " #name " must be from " #least " to " #most \
                     "; given: " +                                                        \
                     std::to_string(name));                                               \
  }
  VMS_PH_PLAUSIBILITY_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
}

VectorV PlausibilityBounds::speeds(const Model& model) const {
  VectorV speeds(model.nv());
  speeds.head(model.b()).setConstant(base_turn);
  speeds.head(model.base_linear_size()).setConstant(base_speed);
  speeds.tail(model.n()) = (velocity_factor * model.max_velocity()).cwiseMin(joint_speed);
  return speeds;
}

void PlausibilityBounds::positions(const Model& model, VectorV& lower, VectorV& upper) const {
  lower = model.min_position();
  upper = model.max_position();
  for (int i = 0; i < model.n(); ++i) {
    const double limit_range = upper[i] - lower[i];
    if (!std::isfinite(limit_range)) continue;
    lower[i] -= position_margin * limit_range;
    upper[i] += position_margin * limit_range;
  }
}

StatePlausibility::StatePlausibility(const Model& model, const PlausibilityBounds& bounds)
    : model_(model),
      bounds_((bounds.check(), bounds)),
      speed_bounds_(bounds.speeds(model)),
      q_(model.neutral_configuration()),
      v_(VectorV::Zero(model.nv())),
      problem_(max_reason_length(model)),
      discarded_reason_(max_reason_length(model)) {
  bounds_.positions(model, lower_, upper_);
  for (int i = 0; i < model.n(); ++i) {
    // Joints with two entries have no position limits.
    if (model.is_continuous(i)) continue;
    joint_limits_.push_back({i, model.position_index(i), lower_[i], upper_[i]});
  }
  step_ = mean_v_ = frozen_path_ = frozen_motion_ = v_;
  judgement_.q = q_;
  judgement_.v = v_;
  restart(q_, v_);
}

void StatePlausibility::restart(const ConstVector& q, const ConstVector& v) noexcept {
  for (auto& joint_limit : joint_limits_) {
    joint_limit.lower = std::min(lower_[joint_limit.joint], q[joint_limit.index]);
    joint_limit.upper = std::max(upper_[joint_limit.joint], q[joint_limit.index]);
  }
  accept(q, v);
  frozen_path_.setZero();
  frozen_motion_.setZero();
  lost_time_ = plausible_samples_ = relocation_time_ = 0.0;
  is_holding_ = false;
}

void StatePlausibility::accept(const ConstVector& q, const ConstVector& v) noexcept {
  q_ = last_measured_q_ = judgement_.q = q;
  v_ = judgement_.v = v;
}

const Judgement& StatePlausibility::judge(const ConstVector& q, const ConstVector& v,
                                          double dt) noexcept {
  judgement_.reason = "";
  judgement_.must_reset = false;
  problem_.clear();
  const bool is_valid_step = dt >= 0.0 && dt <= kLongestSample;
  const double elapsed_time = is_valid_step ? dt : 0.0;
  const bool is_valid_size = q.size() == model_.nq() && v.size() == model_.nv();
  if (is_valid_size) {
    values_are_plausible(q, v, problem_);
  } else {
    problem_.set(reasons::wrong_size);
  }
  if (!is_valid_step && problem_.empty()) {
    problem_.set("the time step of %.3g s is not between 0 and 1 s", dt);
  }
  const bool has_position = problem_.empty() || (is_valid_size && is_configuration(q));
  bool is_continuous = false;
  judgement_.is_position_measured = false;
  if (has_position) {
    model_.difference(q_, q, step_);
    const double span = elapsed_time + std::min(lost_time_, kLongestGap);
    const auto is_within_reach = [&](Eigen::Index i) {
      const double reach = span * speed_bounds_[i] + 2.0 * frozen_path_[i] + bounds_.step_tolerance;
      return std::abs(step_[i]) <= reach;
    };
    Eigen::Index jump_index = 0;
    while (jump_index < step_.size() && is_within_reach(jump_index)) ++jump_index;
    is_continuous = jump_index == step_.size();
    lost_time_ = 0.0;
    if (is_continuous) {
      judgement_.is_position_measured = check_motion(v, elapsed_time) && is_valid_step;
    } else if (problem_.empty()) {
      problem_.set("%s jumped by %.4g", name(jump_index), step_[jump_index]);
    }
  } else {
    lost_time_ += elapsed_time;
  }
  if (problem_.empty() && !is_holding_) {
    accept(q, v);
  } else {
    update_while_holding(q, v, elapsed_time, has_position, is_continuous);
  }
  if (!judgement_.must_hold()) judgement_.is_position_measured = true;
  return judgement_;
}

void StatePlausibility::update_while_holding(const ConstVector& q, const ConstVector& v, double dt,
                                             bool has_position, bool is_continuous) noexcept {
  is_holding_ = true;
  plausible_samples_ = problem_.empty() ? plausible_samples_ + 1.0 : 0.0;
  bool is_consistent = false;
  if (has_position) {
    model_.difference(last_measured_q_, q, mean_v_);
    is_consistent =
        (mean_v_.cwiseAbs().array() <= dt * speed_bounds_.array() + bounds_.step_tolerance).all();
    if (dt > 0.0) mean_v_ /= dt;
    last_measured_q_ = q;
    if (is_continuous) q_ = q;
  }
  find_plausible_velocity(v, has_position && dt > 0.0, dt);
  if (is_continuous) {
    frozen_path_ = 0.5 * step_.cwiseAbs();  // the next step may be as large again
  } else {
    for (Eigen::Index i = 0; i < v_.size(); ++i) frozen_path_[i] += dt * std::abs(v_[i]);
  }
  // Only a jump is forgiven with time; a value out of bounds is wrong for as long as it lasts.
  const bool is_relocated = has_position && is_consistent && !is_continuous &&
                            values_are_plausible(q, v, discarded_reason_);
  relocation_time_ = is_relocated ? relocation_time_ + dt : 0.0;
  judgement_.q = q_;
  judgement_.v = v_;
  if (problem_.empty()) {
    if (plausible_samples_ >= bounds_.recovery_samples) {
      is_holding_ = false;
      plausible_samples_ = 0.0;
      accept(q, v);
    } else {
      judgement_.reason = reasons::implausible_before;
    }
  } else if (is_relocated && relocation_time_ >= bounds_.restart_time) {
    restart(q, v);
    judgement_.must_reset = true;
  } else {
    judgement_.reason = problem_.text();
  }
}

/// Find the velocity that measurement and positions agree on, within the speed bounds.
void StatePlausibility::find_plausible_velocity(const ConstVector& v, bool has_rate,
                                                double dt) noexcept {
  const bool is_finite = v.size() == model_.nv() && v.allFinite();
  if (!is_finite && !has_rate) {
    // Nothing is measured: the motion that is left if the damping acts as computed.
    v_ /= 1.0 + dt * braking_rate(dt);
    return;
  }
  for (Eigen::Index i = 0; i < v_.size(); ++i) {
    const double speed_limit = speed_bounds_[i],
                 rate = has_rate && std::isfinite(mean_v_[i]) ? mean_v_[i] : 0.0;
    double plausible_rate = 0.0;
    if (!is_finite || !has_rate) {
      const double finite_rate = is_finite ? v[i] : rate;
      plausible_rate = std::abs(finite_rate) <= speed_limit ? finite_rate : 0.0;
    } else if ((v[i] > 0.0 && rate > 0.0) || (v[i] < 0.0 && rate < 0.0)) {
      plausible_rate = std::abs(v[i]) < std::abs(rate) ? v[i] : rate;
    }
    v_[i] = std::min(std::max(plausible_rate, -speed_limit), speed_limit);
  }
}

bool StatePlausibility::values_are_plausible(const ConstVector& q, const ConstVector& v,
                                             Reason& problem) noexcept {
  problem.clear();
  if (!std::isfinite(q.sum() + v.sum())) {
    problem.set(reasons::not_finite);
    return false;
  }
  if (!is_configuration(q)) {
    problem.set(reasons::rotation_not_normalised);
    return false;
  }
  for (int i = 0; i < model_.base_size(); ++i) {
    if (std::abs(q[i]) <= kLargestPosition) continue;
    problem.set("the base is farther than %g m from the origin", kLargestPosition);
    return false;
  }
  for (const auto& joint_limit : joint_limits_) {
    const double position = q[joint_limit.index];
    if (position >= joint_limit.lower && position <= joint_limit.upper) continue;
    problem.set("%s at %.4g is outside %.4g to %.4g",
                model_.joint_names()[static_cast<std::size_t>(joint_limit.joint)].c_str(), position,
                joint_limit.lower, joint_limit.upper);
    return false;
  }
  for (Eigen::Index i = 0; i < v.size(); ++i) {
    if (std::abs(v[i]) <= speed_bounds_[i]) continue;
    problem.set("%s moves at %.4g, its bound is %.4g", name(i), v[i], speed_bounds_[i]);
    return false;
  }
  return true;
}

/// Whether positions follow the motion: not frozen, and moved where joints seem too fast.
bool StatePlausibility::check_motion(const ConstVector& v, double dt) noexcept {
  bool is_fast = false;
  for (Eigen::Index i = 0; i < v.size(); ++i) {
    if (std::abs(v[i]) <= speed_bounds_[i]) continue;
    if (i < model_.b() || step_[i] == 0.0) return false;
    is_fast = true;
  }
  if (is_fast) return true;
  frozen_motion_ *= 1.0 - std::min(1.0, dt / kFrozenTime);
  for (Eigen::Index i = 0; i < v.size(); ++i) {
    const bool has_changed = step_[i] != 0.0;
    frozen_path_[i] = has_changed ? 0.0 : frozen_path_[i] + dt * std::abs(v[i]);
    frozen_motion_[i] = has_changed ? 0.0 : frozen_motion_[i] + dt * v[i];
  }
  for (Eigen::Index i = model_.b(); i < v.size(); ++i) {
    if (std::abs(frozen_motion_[i]) <= bounds_.frozen_distance) continue;
    if (problem_.empty()) problem_.set("%s moves, but its position is frozen", name(i));
    return false;
  }
  return true;
}

bool StatePlausibility::is_configuration(const ConstVector& q) const noexcept {
  return std::isfinite(q.sum()) && are_unit(model_.unit_slices(), q.data(), kNormTolerance);
}

const char* StatePlausibility::name(Eigen::Index i) const noexcept {
  if (i < model_.b()) return "the base";
  return model_.joint_names()[static_cast<std::size_t>(i - model_.b())].c_str();
}

ReferencePlausibility::ReferencePlausibility(const Model& model, const PlausibilityBounds& bounds)
    : model_(model),
      bounds_((bounds.check(), bounds)),
      zero_velocity_(VectorV::Zero(model.nv())),
      d_(model),
      reason_(256) {
  bounds_.positions(model, lower_, upper_);
  lower_ = lower_.cwiseMax(-kLargestJointPosition);
  upper_ = upper_.cwiseMin(kLargestJointPosition);
}

void ReferencePlausibility::check(Reference& reference, const ConstVector& q) noexcept {
  reason_.clear();
  const auto keep = [](auto& field, auto&& is_plausible) {
    if (field && !is_plausible(*field)) field.reset();
  };
  const auto is_slow = [this](const char* name, double speed, double turn_rate) {
    if (speed <= bounds_.base_speed && turn_rate <= bounds_.base_turn) return true;
    char cause[128];
    std::snprintf(cause, sizeof cause, "is faster than %g m/s or %g rad/s", bounds_.base_speed,
                  bounds_.base_turn);
    return reject(name, std::isfinite(speed + turn_rate) ? cause : "is not finite");
  };
  keep(reference.position, [&](const Eigen::Vector3d& point) {
    return point.allFinite() ? is_near("position", point, q) : reject("position", "is not finite");
  });
  keep(reference.velocity,
       [&](const Eigen::Vector3d& velocity) { return is_slow("velocity", length(velocity), 0.0); });
  keep(reference.pose, [&](const Pose& pose) {
    if (!pose.allFinite()) return reject("pose", "is not finite");
    if (!is_rotation(pose.topLeftCorner<3, 3>())) return reject("pose", "has no rotation");
    return is_near("pose", pose.topRightCorner<3, 1>(), q);
  });
  keep(reference.twist, [&](const Twist& twist) {
    return is_slow("twist", length(twist.head<3>()), length(twist.tail<3>()));
  });
  reference.has_joints = reference.has_joints && joints_are_plausible(reference.joints);
}

bool ReferencePlausibility::joints_are_plausible(const ConstVector& joints) noexcept {
  if (joints.size() != model_.n() || !joints.allFinite()) return reject("joints", "is not finite");
  for (Eigen::Index i = 0; i < joints.size(); ++i) {
    if (joints[i] >= lower_[i] && joints[i] <= upper_[i]) continue;
    char cause[128];
    std::snprintf(cause, sizeof cause, "is out of bounds at %s",
                  model_.joint_names()[static_cast<std::size_t>(i)].c_str());
    return reject("joints", cause);
  }
  return true;
}

/// The distance counts to the nearest of base, end effector and origin: which of them a law moves,
/// and whether relative to the base, only the law knows.
bool ReferencePlausibility::is_near(const char* name, const Eigen::Vector3d& point,
                                    const ConstVector& q) noexcept {
  double distance_to_robot = length(point);
  if (distance_to_robot <= bounds_.reference_distance) return true;
  distance_to_robot =
      std::min(distance_to_robot, length(point - model_.base_pose(q).translation()));
  if (distance_to_robot <= bounds_.reference_distance) return true;
  d_.set(q, zero_velocity_);
  distance_to_robot = std::min(distance_to_robot,
                               length(point - d_.placement(model_.end_effector()).translation()));
  if (distance_to_robot <= bounds_.reference_distance) return true;
  char cause[96];
  std::snprintf(cause, sizeof cause, "is %.3g m away, the bound is %g m", distance_to_robot,
                bounds_.reference_distance);
  return reject(name, cause);
}

bool ReferencePlausibility::reject(const char* name, const char* cause) noexcept {
  if (reason_.empty()) reason_.set("the reference %s is refused: it %s", name, cause);
  return false;
}

}  // namespace vms_ph
