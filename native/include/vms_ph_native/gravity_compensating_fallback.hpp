// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A fallback that compensates gravity while a Python controller does not answer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vms_ph_native/output_stage.hpp"
#include "vms_ph_native/python_controller.hpp"

namespace vms_ph {

/// The safe output of the host compensates gravity at the last state that Python answered. Held for
/// longer it does not stabilise an upright arm, which falls within a second. The fallback has a
/// model: it compensates gravity at the present state and damps the robot to rest.
class GravityCompensatingFallback final : public Controller {
 public:
  /// @param model          the robot that the law was made for; must outlive this.
  /// @param allocation     the actuators of the base; without them it can apply any wrench.
  /// @param base_actuated  whether the base has actuators; otherwise the joints alone are damped.
  /// @throws ModelError  the law was made for other joints.
  GravityCompensatingFallback(const Model& model, std::unique_ptr<PythonController> law,
                              std::optional<Allocation> allocation = {}, bool base_actuated = true);

  bool reset(const RobotState& state) noexcept override { return law_->reset(state); }
  const Command& update(const RobotState& state, const Reference& reference,
                        double dt) noexcept override;
  void note_missed_updates() noexcept override { law_->note_missed_updates(); }
  std::vector<Gain> gains() const override { return law_->gains(); }
  bool set_gain(const std::string& name, double value) noexcept override {
    return law_->set_gain(name, value);
  }

  /// The hosted law, for its log and its counters.
  const PythonController& law() const { return *law_; }

 private:
  const Model& model_;
  std::unique_ptr<PythonController> law_;
  SafeOutput fallback_;
  Command fallback_command_;
};

}  // namespace vms_ph
