// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// What stands between a host and any law: a supervisor, and the weight of an observed payload.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/output_stage.hpp"
#include "vms_ph_native/plausibility.hpp"
#include "vms_ph_native/reason.hpp"

namespace vms_ph {

/// A law whose efforts carry the weight of a payload as well; it is described in
/// vms_ph_controllers/laws/payload_compensation.py.
class PayloadCompensation final : public Controller {
 public:
  /// Compensate a payload beside a law for a robot, which must outlive it.
  ///
  /// @param max_mass_rate  of the mass in force, kg/s; of the first moment 0.3 m times it.
  PayloadCompensation(const Model& model, std::shared_ptr<Controller> law,
                      double max_mass_rate = 2.0);

  bool reset(const RobotState& state) noexcept override { return law_->reset(state); }
  bool resume(const RobotState& state) noexcept override { return law_->resume(state); }
  Evaluation* evaluation() noexcept override { return law_->evaluation(); }
  void note_missed_updates() noexcept override { law_->note_missed_updates(); }
  std::vector<Gain> gains() const override { return law_->gains(); }
  bool set_gain(const std::string& name, double value) noexcept override {
    return law_->set_gain(name, value);
  }

  const Command& update(const RobotState& state, const Reference& reference,
                        double dt) noexcept override;
  bool carry(double mass, const Eigen::Vector3d& first_moment, double deviation) noexcept override;
  const Eigen::VectorXd* payload_weight(const Eigen::VectorXd& q) noexcept override;

  /// Mass in force, kg.
  double mass() const noexcept { return payload_[0]; }

 private:
  void advance_payload(double dt) noexcept;

  const Model& model_;
  std::shared_ptr<Controller> law_;
  const double max_mass_rate_;
  const Eigen::VectorXd zero_velocity_;  // (nv,) zeros
  Evaluation d_;
  // Mass, kg, and first moment, kg m: the observed ones, and those in force.
  Eigen::Vector4d target_payload_ = Eigen::Vector4d::Zero(), payload_ = target_payload_;
  Eigen::VectorXd weight_;  // (nv,)
  const double reach_;
  Reason reason_;
  Command command_;
};

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
  Evaluation* evaluation() noexcept override { return law_->evaluation(); }
  const Command& update(const RobotState& state, const Reference& reference,
                        double dt) noexcept override;
  void note_missed_updates() noexcept override { law_->note_missed_updates(); }
  bool carry(double mass, const Eigen::Vector3d& first_moment, double deviation) noexcept override {
    return law_->carry(mass, first_moment, deviation);
  }
  const Eigen::VectorXd* payload_weight(const Eigen::VectorXd& q) noexcept override {
    return law_->payload_weight(q);
  }
  std::vector<Gain> gains() const override { return law_->gains(); }
  bool set_gain(const std::string& name, double value) noexcept override {
    return law_->set_gain(name, value);
  }

  /// The safe output, for a host without a new state; `cause` is part of its reason.
  const Command& hold(const char* cause, double dt) noexcept;

  const Controller& law() const { return *law_; }

 private:
  bool holds_weight(const RobotState& state, double dt) noexcept;
  void store_reference(const Reference& reference) noexcept;
  const Command& safe_output(const char* prefix, const char* cause, double dt) noexcept;
  const Command& bound_efforts(const Command& command) noexcept;

  const Model& model_;
  std::shared_ptr<Controller> law_;
  StatePlausibility state_plausibility_;
  ReferencePlausibility reference_plausibility_;
  SafeOutput safe_output_;
  const Eigen::VectorXd unknown_q_, unknown_v_;  // NaN
  Eigen::VectorXd safe_q_;                       // (nq,) where the safe output acts
  Reference pending_reference_;
  const Judgement* judgement_ = nullptr;
  Command command_;
  bool has_delay_ = false;  // whether the law takes the age of states
  double age_ = 0.0;        // of the last state, s
  Reason age_reason_, reason_;
};

}  // namespace vms_ph
