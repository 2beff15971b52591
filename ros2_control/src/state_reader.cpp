// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "state_reader.hpp"

#include <algorithm>
#include <limits>

#include "interface_names.hpp"
#include "robot_setup.hpp"

namespace vms_ph_ros2_control {
namespace {

// The state interfaces are those of the joints, of the base, of the wrench, then of the stamp.
constexpr int kBaseValueCount = static_cast<int>(kPoseAndTwistNames.size());

// Last second that a stamp can have.
constexpr double kLastSecond = std::numeric_limits<std::int32_t>::max();

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

// Consecutive advancing stamps after which a clock that was set back is accepted.
constexpr int kMinConsecutiveStamps = 5;

}  // namespace

StateReader::StateReader(const vms_ph::Model& model, const std::string& base_name,
                         const std::string& stamp_name, bool reads_positions_only,
                         const std::string& wrench_name)
    : model_(model), is_stamped_(!stamp_name.empty()), reads_positions_only_(reads_positions_only) {
  for (const std::string& name : model.joint_names()) {
    names_.push_back(name + "/position");
    if (!reads_positions_only) names_.push_back(name + "/velocity");
  }
  const auto add_names = [this](const std::string& prefix, const auto& suffixes) {
    for (const char* name : suffixes) names_.push_back(prefix + "/" + name);
  };
  if (model.b() > 0 && !reads_positions_only) add_names(base_name, kPoseAndTwistNames);
  if (!wrench_name.empty()) {
    wrench_index_ = static_cast<Eigen::Index>(names_.size());
    add_names(wrench_name, kWrenchNames);
  }
  if (is_stamped_) add_names(stamp_name, kStampNames);
  values_ = Eigen::VectorXd::Constant(static_cast<Eigen::Index>(names_.size()), vms_ph::kNaN);
  state_.q = Eigen::VectorXd::Zero(reads_positions_only ? model.n() : model.nq());
  state_.v = Eigen::VectorXd::Zero(model.nv());
}

const vms_ph::RobotState& StateReader::read(
    const std::vector<hardware_interface::LoanedStateInterface>& interfaces) noexcept {
  for (Eigen::Index i = 0; i < values_.size(); ++i)
    values_[i] = interfaces[static_cast<std::size_t>(i)].get_optional().value_or(vms_ph::kNaN);
  if (wrench_index_ > 0) state_.wrench = values_.segment<6>(wrench_index_);
  const int b = model_.b(), n = model_.n();
  if (reads_positions_only_) return state_.q = values_.head(n), state_;
  for (int i = 0; i < n; ++i) {
    model_.set_joint(i, values_[2 * i], state_.q);
    state_.v[b + i] = values_[2 * i + 1];
  }
  if (b == 0) return state_;
  const auto base_values = values_.segment<kBaseValueCount>(2 * n);
  if (model_.base() == vms_ph::Base::planar) {
    const double z = base_values[5], w = base_values[6], norm_sq = z * z + w * w;
    state_.q.head<4>() << base_values.head<2>(), (w * w - z * z) / norm_sq, 2.0 * w * z / norm_sq;
    state_.v.head<3>() << base_values[7], base_values[8], base_values[12];
  } else {
    state_.q.head<7>() = base_values.head<7>();
    state_.q.segment<4>(3) /= base_values.segment<4>(3).norm();  // NaN before a measurement: zeros
    state_.v.head<6>() = base_values.tail<6>();
  }
  return state_;
}

const char* StampMonitor::update(const builtin_interfaces::msg::Time& stamp,
                                 double elapsed_time) noexcept {
  const std::int64_t stamp_ns = stamp.sec * kNanosecondsPerSecond + stamp.nanosec;
  if (has_last_stamp_ && stamp_ns <= last_stamp_) {
    stall_time_ += std::max(elapsed_time, 0.0);
    if (stamp_ns == last_stamp_)
      return stall_time_ < timeout_ ? "" : "the state is old: its stamp does not advance";
    // A clock that was set back is accepted once its stamps advance again.
    consecutive_stamps_ = consecutive_stamps_ == 0 || stamp_ns < rejected_stamp_
                              ? 1
                              : consecutive_stamps_ + (stamp_ns > rejected_stamp_ ? 1 : 0);
    rejected_stamp_ = stamp_ns;
    if (consecutive_stamps_ < kMinConsecutiveStamps) return "the state is older than the last one";
  }
  restart();
  has_last_stamp_ = true;
  last_stamp_ = stamp_ns;
  return "";
}

std::optional<builtin_interfaces::msg::Time> StateReader::stamp() const noexcept {
  if (!is_stamped_) return std::nullopt;
  const double sec = values_[values_.size() - 2], nanosec = values_[values_.size() - 1];
  if (!(sec >= 0.0 && sec <= kLastSecond && nanosec >= 0.0 && nanosec < 1e9)) return std::nullopt;
  builtin_interfaces::msg::Time time;
  time.sec = static_cast<std::int32_t>(sec);
  time.nanosec = static_cast<std::uint32_t>(nanosec);
  return time;
}

}  // namespace vms_ph_ros2_control
