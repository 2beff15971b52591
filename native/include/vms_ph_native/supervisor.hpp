// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The guard of a control law: plausible states and references in, bounded efforts out.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vms_ph_native/output_stage.hpp"
#include "vms_ph_native/plausibility.hpp"

namespace vms_ph {

/// Stands between a host and any law. The law receives plausible states and references only. At any
/// other state, and where the law returns numbers that are not finite, gravity is compensated and
/// the motion damped (SafeOutput) with Status::holding, also at a state older than a sample for a
/// law without a gain "delay", and at one that comes too late to hold the weight. StatePlausibility
/// says when the law acts again; references that came in between then take effect, unless the law
/// had to be restarted.
class Supervisor final : public Controller {
 public:
  /// Supervise a law of a robot with the actuators of its base; the model must outlive it.
  ///
  /// @throws ModelError  a bound out of its range, or an allocation for another kind of base.
  Supervisor(const Model& model, std::shared_ptr<Controller> law,
             const PlausibilityBounds& bounds = {},
             std::optional<Allocation> allocation = std::nullopt, bool base_actuated = true);

  /// Restart the law, and accept where the robot is.
  bool reset(const RobotState& state) noexcept override;
  const Command& update(const RobotState& state, const Reference& reference,
                        double dt) noexcept override;
  void missed_updates() noexcept override { law_->missed_updates(); }
  bool carry(double mass, const Eigen::Vector3d& moment, double deviation) noexcept override {
    return law_->carry(mass, moment, deviation);
  }
  std::vector<Gain> gains() const override { return law_->gains(); }
  bool set_gain(const std::string& name, double value) noexcept override {
    return law_->set_gain(name, value);
  }

  /// The safe output, for a host without a new state; `why` is part of its reason.
  const Command& hold(const char* why, double dt) noexcept;

  const Controller& law() const { return *law_; }

 private:
  bool holds_weight(const RobotState& state, double dt) noexcept;
  void store_reference(const Reference& reference) noexcept;
  const Command& safe(const char* problem, const char* why, double dt) noexcept;
  const Command& bounded(const Command& command) noexcept;

  const Model& model_;
  std::shared_ptr<Controller> law_;
  StatePlausibility states_;
  ReferencePlausibility references_;
  SafeOutput safe_;
  const Eigen::VectorXd unknown_q_, unknown_v_;
  Eigen::VectorXd safe_q_;  // (nq,) where the safe output acts
  Reference waiting_;
  const Judgement* judgement_ = nullptr;
  Command command_;
  bool has_delay_ = false;  // whether the law takes the age of states
  double age_ = 0.0;        // of the last state, s
  Reason late_, reason_;
};

}  // namespace vms_ph
