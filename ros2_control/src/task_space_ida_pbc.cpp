// vms_ph/TaskSpaceIDAPBC: the task-space law of redundant arms, in C++.
#include "vms_ph_native/task_space_ida_pbc.hpp"

#include <pluginlib/class_list_macros.hpp>
#include <vms_ph/task_space_ida_pbc_parameters.hpp>

#include "controller_shell.hpp"

namespace vms_ph_ros2_control {

class TaskSpaceIDAPBC final : public ControllerShell {
 protected:
  void declare() override {
    listener_ = std::make_shared<task_space_ida_pbc::ParamListener>(get_node());
  }

  std::unique_ptr<vms_ph::Controller> make(const vms_ph::Model& model, const RobotSetup&) override {
    return std::make_unique<vms_ph::TaskSpaceIDAPBC>(model);
  }

 private:
  std::shared_ptr<task_space_ida_pbc::ParamListener> listener_;
};

}  // namespace vms_ph_ros2_control

PLUGINLIB_EXPORT_CLASS(vms_ph_ros2_control::TaskSpaceIDAPBC,
                       controller_interface::ChainableControllerInterface)
