// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// vms_ph/PythonController: a controller object written in Python.
#include <pluginlib/class_list_macros.hpp>
#include <vms_ph/python_controller_parameters.hpp>

#include "controller_shell.hpp"
#include "vms_ph_native/gravity_compensating_fallback.hpp"

namespace vms_ph_ros2_control {

class PythonController final : public ControllerShell {
 protected:
  void declare() override {
    listener_ = std::make_shared<python_controller::ParamListener>(get_node());
  }

  std::unique_ptr<vms_ph::Controller> make(const vms_ph::Model& model,
                                           const RobotSetup& setup) override {
    const auto p = listener_->get_params();
    refuse_wheels(setup, "PythonController");
    const bool base_actuated = get_node()->get_parameter("base_actuated").as_bool();
    vms_ph::PythonRobot robot{setup.urdf,
                              setup.base,
                              setup.end_effector,
                              setup.locked_joints,
                              setup.gravity,
                              base_actuated,
                              {},
                              {}};
    const auto allocation = base_allocation(setup);
    if (allocation)
      robot.allocation = {allocation->matrix(), allocation->lower(), allocation->upper()};
    if (const auto* fluid = model.fluid()) robot.fluid = *fluid;
    vms_ph::PythonOptions options;
    options.environment = p.environment;
    options.folders = p.folders;
    options.period = 1.0 / get_update_rate();
    options.priority = static_cast<int>(p.python_priority);
    auto law = std::make_unique<vms_ph::PythonController>(p.controller, robot, options);
    return std::make_unique<vms_ph::GravityCompensatingFallback>(model, std::move(law), allocation,
                                                                 base_actuated);
  }

  std::string log_text(const vms_ph::Controller& law) const override {
    return static_cast<const vms_ph::GravityCompensatingFallback&>(law).law().log();
  }

 private:
  std::shared_ptr<python_controller::ParamListener> listener_;
};

}  // namespace vms_ph_ros2_control

PLUGINLIB_EXPORT_CLASS(vms_ph_ros2_control::PythonController,
                       controller_interface::ChainableControllerInterface)
