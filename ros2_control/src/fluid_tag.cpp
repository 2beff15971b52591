// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "description_tags.hpp"
#include "tag_attributes.hpp"

namespace vms_ph_ros2_control {

std::optional<vms_ph::Fluid> fluid_in(const std::string& urdf) {
  const std::string tag = "vms_ph_fluid", part = "body";
  const auto element = element_of(urdf, tag);
  if (!element) return std::nullopt;
  vms_ph::Fluid fluid;
  fluid.density = number(*element, tag, "density");
  for (const auto& [name, each] : *element) {
    if (name != part) continue;
    vms_ph::ImmersedBody body;
    body.link = each.get<std::string>("<xmlattr>.link", "");
    body.added_mass =
        Eigen::Map<const Eigen::Matrix<double, 6, 6>>(numbers(each, part, "added_mass", 36).data());
    body.volume = number(each, part, "volume");
    body.centre_of_buoyancy = numbers(each, part, "centre_of_buoyancy", 3);
    body.linear_drag = numbers(each, part, "linear_drag", 6);
    body.quadratic_drag = numbers(each, part, "quadratic_drag", 6);
    fluid.bodies.push_back(body);
  }
  return fluid;
}

}  // namespace vms_ph_ros2_control
