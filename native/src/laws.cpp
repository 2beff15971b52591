// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/laws.hpp"

#include "vms_ph_native/attitude_control.hpp"
#include "vms_ph_native/decoupled_vms.hpp"
#include "vms_ph_native/differential_drive.hpp"
#include "vms_ph_native/end_effector_impedance.hpp"
#include "vms_ph_native/mobile_manipulation.hpp"
#include "vms_ph_native/pose_ida_pbc.hpp"
#include "vms_ph_native/pushing_impedance.hpp"
#include "vms_ph_native/resolved_motion.hpp"
#include "vms_ph_native/task_space_ida_pbc.hpp"
#include "vms_ph_native/underactuated_flight.hpp"
#include "vms_ph_native/wheeled_impedance.hpp"

namespace vms_ph {

const std::vector<std::string>& law_names() {
  static const std::vector<std::string> names{
      "AttitudeControl",      "DecoupledVMSController", "DifferentialDrive",
      "EndEffectorImpedance", "MobileManipulation",     "PoseIDAPBC",
      "PushingImpedance",     "ResolvedMotion",         "TaskSpaceIDAPBC",
      "UnderactuatedFlight",  "WheeledImpedance"};
  return names;
}

bool drives_by_wheels(const std::string& name) noexcept {
  return name == "DifferentialDrive" || name == "WheeledImpedance";
}

std::unique_ptr<Controller> make_law(const std::string& name, const Model& model,
                                     const std::optional<Allocation>& allocation,
                                     bool base_actuated, const std::vector<Wheel>& wheels) {
  if (name.empty()) {
    const char* usual = model.b() == 0 ? "TaskSpaceIDAPBC" : "DecoupledVMSController";
    return make_law(usual, model, allocation, base_actuated);
  }
  if (name == "AttitudeControl") {
    return std::make_unique<AttitudeControl>(model, allocation, base_actuated);
  }
  if (name == "DecoupledVMSController") {
    return std::make_unique<DecoupledVMSController>(model, allocation, base_actuated);
  }
  if (name == "DifferentialDrive") return std::make_unique<DifferentialDrive>(model, wheels);
  if (name == "EndEffectorImpedance") {
    return std::make_unique<EndEffectorImpedance>(model, allocation, base_actuated);
  }
  if (name == "MobileManipulation") {
    return std::make_unique<MobileManipulation>(model, allocation, base_actuated);
  }
  if (name == "PoseIDAPBC") {
    return std::make_unique<PoseIDAPBC>(model, allocation, base_actuated);
  }
  if (name == "PushingImpedance") {
    return std::make_unique<PushingImpedance>(model, allocation, base_actuated);
  }
  if (name == "ResolvedMotion") return std::make_unique<ResolvedMotion>(model);
  if (name == "TaskSpaceIDAPBC") return std::make_unique<TaskSpaceIDAPBC>(model);
  if (name == "UnderactuatedFlight") {
    return std::make_unique<UnderactuatedFlight>(model, allocation, base_actuated);
  }
  if (name == "WheeledImpedance") return std::make_unique<WheeledImpedance>(model, wheels);
  std::string known;
  for (const std::string& each : law_names()) known += (known.empty() ? "" : ", ") + each;
  throw ModelError("there is no law '" + name + "' in the C++ core; there are " + known);
}

}  // namespace vms_ph
