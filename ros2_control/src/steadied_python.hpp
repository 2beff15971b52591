// A Python controller that is stood in for, as long as it does not answer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/python_controller.hpp"

namespace vms_ph_ros2_control {

/// The host's safe output is what was right for the last state that Python answered. Held for
/// longer it lets go of an arm that stands upright: within a second the least motion grows to a
/// fall. There is a model here, so that weight is balanced where the robot is, and it is slowed
/// down to rest.
class SteadiedPython final : public vms_ph::Controller {
 public:
  /// @param model  the robot, of the same joints; must outlive this.
  SteadiedPython(const vms_ph::Model& model, std::unique_ptr<vms_ph::PythonController> law);

  bool reset(const vms_ph::RobotState& state) noexcept override { return law_->reset(state); }
  const vms_ph::Command& update(const vms_ph::RobotState& state,
                                const vms_ph::Reference& reference, double dt) noexcept override;
  std::vector<vms_ph::Gain> gains() const override { return law_->gains(); }
  bool set_gain(const std::string& name, double value) noexcept override {
    return law_->set_gain(name, value);
  }

  std::string log() const { return law_->log(); }

 private:
  const vms_ph::Model& model_;
  std::unique_ptr<vms_ph::PythonController> law_;
  vms_ph::Evaluation d_;
  vms_ph::Command steady_;
};

}  // namespace vms_ph_ros2_control
