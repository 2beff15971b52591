// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

// vms_ph/PoseIDAPBC: an impedance of the pose of the end effector, in C++.
#include "vms_ph_native/pose_ida_pbc.hpp"

#include <pluginlib/class_list_macros.hpp>
#include <vms_ph/pose_ida_pbc_parameters.hpp>

#include "controller_shell.hpp"

namespace vms_ph_ros2_control {

class PoseIDAPBC final : public ControllerShell {
 protected:
  void declare() override { listener_ = std::make_shared<pose_ida_pbc::ParamListener>(get_node()); }

  std::unique_ptr<vms_ph::Controller> make(const vms_ph::Model& model,
                                           const RobotSetup& setup) override {
    const bool actuated = get_node()->get_parameter("base_actuated").as_bool();
    return std::make_unique<vms_ph::PoseIDAPBC>(model, base_allocation(setup), actuated);
  }

 private:
  std::shared_ptr<pose_ida_pbc::ParamListener> listener_;
};

}  // namespace vms_ph_ros2_control

PLUGINLIB_EXPORT_CLASS(vms_ph_ros2_control::PoseIDAPBC,
                       controller_interface::ChainableControllerInterface)
