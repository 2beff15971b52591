// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The laws of the C++ core as controllers, a line for each.
#include "vms_ph_native/laws.hpp"

#include <pluginlib/class_list_macros.hpp>
#include <vms_ph/attitude_control_parameters.hpp>
#include <vms_ph/cartesian_impedance_parameters.hpp>
#include <vms_ph/decoupled_vms_controller_parameters.hpp>
#include <vms_ph/differential_drive_parameters.hpp>
#include <vms_ph/mobile_manipulation_parameters.hpp>
#include <vms_ph/pose_ida_pbc_parameters.hpp>
#include <vms_ph/pushing_impedance_parameters.hpp>
#include <vms_ph/resolved_motion_parameters.hpp>
#include <vms_ph/task_space_ida_pbc_parameters.hpp>
#include <vms_ph/underactuated_flight_parameters.hpp>
#include <vms_ph/wheeled_impedance_parameters.hpp>

#include "controller_shell.hpp"

namespace vms_ph_ros2_control {

/// A law by its name in the core, with the listener that declares its gains.
template <class Listener>
class CoreLaw : public ControllerShell {
 protected:
  explicit CoreLaw(const char* law_name) : law_name_(law_name) {}

  void declare() override { listener_ = std::make_shared<Listener>(get_node()); }

  std::unique_ptr<vms_ph::Controller> make(const vms_ph::Model& model,
                                           const RobotSetup& setup) override {
    const bool base_actuated = get_node()->get_parameter("base_actuated").as_bool();
    if (!vms_ph::drives_by_wheels(law_name_)) refuse_wheels(setup, law_name_);
    return vms_ph::make_law(law_name_, model, base_allocation(setup), base_actuated, setup.wheels);
  }

 private:
  const char* law_name_;
  std::shared_ptr<Listener> listener_;
};

class MobileManipulation final : public CoreLaw<mobile_manipulation::ParamListener> {
 public:
  MobileManipulation() : CoreLaw("MobileManipulation") {}

 protected:
  bool pose_is_of_base() const override { return true; }
};

}  // namespace vms_ph_ros2_control

// The class and its registration under the name that it has in Python.
#define VMS_PH_LAW(Law, schema)                             \
  namespace vms_ph_ros2_control {                           \
  class Law final : public CoreLaw<schema::ParamListener> { \
   public:                                                  \
    Law() : CoreLaw(#Law) {}                                \
  };                                                        \
  }                                                         \
  PLUGINLIB_EXPORT_CLASS(vms_ph_ros2_control::Law,          \
                         controller_interface::ChainableControllerInterface)

VMS_PH_LAW(AttitudeControl, attitude_control)
VMS_PH_LAW(DecoupledVMSController, decoupled_vms_controller)
VMS_PH_LAW(DifferentialDrive, differential_drive)
VMS_PH_LAW(CartesianImpedance, cartesian_impedance)
VMS_PH_LAW(PoseIDAPBC, pose_ida_pbc)
VMS_PH_LAW(PushingImpedance, pushing_impedance)
VMS_PH_LAW(ResolvedMotion, resolved_motion)
VMS_PH_LAW(TaskSpaceIDAPBC, task_space_ida_pbc)
VMS_PH_LAW(UnderactuatedFlight, underactuated_flight)
VMS_PH_LAW(WheeledImpedance, wheeled_impedance)

PLUGINLIB_EXPORT_CLASS(vms_ph_ros2_control::MobileManipulation,
                       controller_interface::ChainableControllerInterface)
