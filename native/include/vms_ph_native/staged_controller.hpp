// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Common base class of the laws whose efforts pass the output stage.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/gain_table.hpp"
#include "vms_ph_native/output_stage.hpp"
#include "vms_ph_native/springs.hpp"

namespace vms_ph {

/// A law behind an OutputStage, with springs at the joint limits. The output stage has the safe
/// output, the limits and the energy tank. A law defines start_holding(), which sets its minimum to
/// a configuration, and control(); its gains are those of RampedGains.
class StagedController : public Controller {
 public:
  bool reset(const RobotState& state) noexcept override;
  bool resume(const RobotState& state) noexcept final;
  const Command& update(const RobotState& state, const Reference& reference,
                        double dt) noexcept override;
  Evaluation* evaluation() noexcept override { return &d_; }
  void note_missed_updates() noexcept override { stage_.note_missed_updates(); }
  bool carry_load(const Eigen::VectorXd& load) noexcept override { return stage_.carry(load); }

 protected:
  StagedController(const Model& model, std::unique_ptr<Actuation> actuation);

  /// Set the minimum to the configuration of `d_`, at rest.
  virtual void start_holding() noexcept = 0;

  /// The command at the state of `d_`, for a usable time step; the gains have been followed.
  virtual const Command& control(const Reference& reference, double dt) noexcept = 0;

  /// The gains in force.
  virtual const OutputGains& active_gains() const noexcept = 0;

  /// Move the gains in force towards those set, for a time step in s; null: take them at once.
  virtual void follow_gains(const double* dt) noexcept = 0;

  /// Write what limited quantities had in the last update to the fields of their limits.
  void store_limit_demand(LimitGains& demand) const noexcept { demand = stage_.limit_demand(); }

  /// The effort (nv,) that the output stage passes of a desired one.
  const VectorV& apply_output_stage(const VectorV& desired_effort, double dt) noexcept {
    return stage_.apply(d_, desired_effort, active_gains(), dt);
  }

  /// The safe output at a state for which the law computed no finite effort.
  const Command& reject_effort() noexcept { return stage_.reject_effort(d_); }

  /// Complete the command with the effort that was passed, and with further reasons.
  const Command& make_command(const VectorV& effort,
                              std::initializer_list<const char*> reasons) noexcept;

  const Model& model_;
  const int b_, n_;
  const VectorV zero_velocity_;  // (nv,) zeros
  Evaluation d_;
  OutputStage stage_;
  JointLimitPotential joint_limits_;
  Reason reason_;
  Command command_;
  bool is_limited_ = false;  // the effort of the last update
  double age_ = 0.0;         // of the state of d_, s
  Twist wrench_;             // that was measured with it

 private:
  bool restart_at(const Eigen::VectorXd& q) noexcept;
};

/// A law with its gains: those set, and those in force, which follow them.
template <class Law, class Record>
class RampedGains : public Law {
 public:
  std::vector<Gain> gains() const override { return Record::table().list(gains_); }
  bool set_gain(const std::string& name, double value) noexcept override {
    return Record::table().set(gains_, name, value);
  }

 protected:
  template <class... Arguments>
  explicit RampedGains(const Model& model, Arguments&&... arguments)
      : Law(model, std::forward<Arguments>(arguments)...) {
    Record::table();  // constructed here, so that setting a gain later does not allocate
  }

  const Record& active_gains() const noexcept override { return ramp_.active_gains(); }

  void follow_gains(const double* dt) noexcept override {
    if (!dt) return ramp_.restart(gains_);
    this->store_limit_demand(ramp_.limit_demand);
    ramp_.follow(gains_, *dt);
  }

  /// Hold the neutral configuration; for the end of constructors.
  void reset_to_neutral() noexcept {
    RobotState start;
    start.q = this->model_.neutral_configuration();
    this->reset(start);
  }

 private:
  Record gains_;
  GainRamp<Record> ramp_;
};

}  // namespace vms_ph
