// A Python controller that is stood in for, as long as it does not answer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/python_controller.hpp"

namespace vms_ph {

/// The host's safe output is what was right for the last state that Python answered. Held for
/// longer it lets go of an arm that stands upright: within a second the least motion grows to a
/// fall. There is a model here, so that weight is balanced where the robot is, and it is slowed
/// down to rest.
class GravityCompensatingFallback final : public Controller {
 public:
  /// @param model  the robot that the law was made for; must outlive this.
  /// @throws ModelError  the law has other joints.
  GravityCompensatingFallback(const Model& model, std::unique_ptr<PythonController> law);

  bool reset(const RobotState& state) noexcept override { return law_->reset(state); }
  const Command& update(const RobotState& state, const Reference& reference,
                        double dt) noexcept override;
  void missed_updates() noexcept override { law_->missed_updates(); }
  std::vector<Gain> gains() const override { return law_->gains(); }
  bool set_gain(const std::string& name, double value) noexcept override {
    return law_->set_gain(name, value);
  }

  /// The law itself, for its log and its counts.
  const PythonController& law() const { return *law_; }

 private:
  const Model& model_;
  std::unique_ptr<PythonController> law_;
  Evaluation d_;
  Command steady_;
};

}  // namespace vms_ph
