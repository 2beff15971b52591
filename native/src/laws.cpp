// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/laws.hpp"

#include <algorithm>
#include <iterator>

namespace vms_ph {
namespace {

struct Law {
  const char* name;
  LawFactory* make;
  bool needs_wheels = false;
};

constexpr Law kLaws[] = {
    {"AttitudeControl", make_attitude_control},
    {"CartesianImpedance", make_cartesian_impedance},
    {"DecoupledVMSController", make_decoupled_vms},
    {"DifferentialDrive", make_differential_drive, true},
    {"MobileManipulation", make_mobile_manipulation},
    {"PoseIDAPBC", make_pose_ida_pbc},
    {"PushingImpedance", make_pushing_impedance},
    {"ResolvedMotion", make_resolved_motion},
    {"TaskSpaceIDAPBC", make_task_space_ida_pbc},
    {"UnderactuatedFlight", make_underactuated_flight},
    {"WheeledImpedance", make_wheeled_impedance, true},
};

const Law* find_law(const std::string& name) noexcept {
  const Law* law = std::find_if(std::begin(kLaws), std::end(kLaws),
                                [&](const Law& entry) { return entry.name == name; });
  return law == std::end(kLaws) ? nullptr : law;
}

}  // namespace

const std::vector<std::string>& law_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Law& law : kLaws) all.emplace_back(law.name);
    return all;
  }();
  return names;
}

bool drives_by_wheels(const std::string& name) noexcept {
  const Law* law = find_law(name);
  return law != nullptr && law->needs_wheels;
}

std::unique_ptr<Controller> make_law(const std::string& name, const Model& model,
                                     const std::optional<Allocation>& allocation,
                                     bool base_actuated, const std::vector<Wheel>& wheels) {
  const char* default_name = model.b() == 0 ? "TaskSpaceIDAPBC" : "DecoupledVMSController";
  if (const Law* law = find_law(name.empty() ? default_name : name)) {
    return law->make({model, allocation, base_actuated, wheels});
  }
  std::string names;
  for (const Law& law : kLaws) names += (names.empty() ? "" : ", ") + std::string(law.name);
  if (name == "EndEffectorImpedance") {
    throw ModelError("EndEffectorImpedance is CartesianImpedance now, with the same gains");
  }
  throw ModelError("there is no law '" + name + "' in the C++ core; there are " + names);
}

}  // namespace vms_ph
