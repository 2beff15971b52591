// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/laws.hpp"

#include <algorithm>
#include <iterator>

#include "vms_ph_native/cartesian_impedance.hpp"

namespace vms_ph {
namespace {

template <class Law>
std::unique_ptr<Controller> make(const LawSetup& setup) {
  return std::make_unique<Law>(setup.model, setup.allocation, setup.base_actuated);
}

struct LawEntry {
  const char* name;
  LawFactory* make;
  bool needs_wheels = false;
};

constexpr LawEntry kLaws[] = {
    {"AttitudeControl", make_attitude_control},
    {"CartesianImpedance", make<CartesianImpedance>},
    {"DecoupledVMSController", make_decoupled_vms},
    {"DifferentialDrive", make_differential_drive, true},
    {"MobileManipulation", make_mobile_manipulation},
    {"PoseIDAPBC", make_pose_ida_pbc},
    {"PushingImpedance", make<PushingImpedance>},
    {"ResolvedMotion", make_resolved_motion},
    {"TaskSpaceIDAPBC", make_task_space_ida_pbc},
    {"UnderactuatedFlight", make_underactuated_flight},
    {"WheeledImpedance", make_wheeled_impedance, true},
};

const LawEntry* find_law(const std::string& name) noexcept {
  const LawEntry* entry = std::find_if(std::begin(kLaws), std::end(kLaws),
                                       [&](const LawEntry& law) { return law.name == name; });
  return entry == std::end(kLaws) ? nullptr : entry;
}

}  // namespace

const std::vector<std::string>& law_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> name_list;
    for (const LawEntry& entry : kLaws) name_list.emplace_back(entry.name);
    return name_list;
  }();
  return names;
}

bool drives_by_wheels(const std::string& name) noexcept {
  const LawEntry* entry = find_law(name);
  return entry != nullptr && entry->needs_wheels;
}

std::unique_ptr<Controller> make_law(const std::string& name, const Model& model,
                                     const std::optional<Allocation>& allocation,
                                     bool base_actuated, const std::vector<Wheel>& wheels) {
  const char* default_name = model.b() == 0 ? "TaskSpaceIDAPBC" : "DecoupledVMSController";
  if (const LawEntry* entry = find_law(name.empty() ? default_name : name)) {
    return entry->make({model, allocation, base_actuated, wheels});
  }
  std::string all_names;
  for (const auto& law : law_names()) all_names += (all_names.empty() ? "" : ", ") + law;
  if (name == "EndEffectorImpedance") {
    throw ModelError("EndEffectorImpedance is CartesianImpedance now, with the same gains");
  }
  throw ModelError("there is no law '" + name + "' in the C++ core; there are " + all_names);
}

}  // namespace vms_ph
