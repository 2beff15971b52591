// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
// http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

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
