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

#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <utility>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>

#include "vms_ph_native/model.hpp"

namespace vms_ph_ros2_control {
namespace {

using boost::property_tree::ptree;
using vms_ph::ModelError;

/// The element of a robot that has a name, if the text has it.
std::optional<ptree> element_of(const std::string& urdf, const std::string& name) {
  // Descriptions without it, most of them, are not parsed.
  if (urdf.find("<" + name) == std::string::npos) return std::nullopt;
  std::istringstream text(urdf);
  ptree document;
  try {
    boost::property_tree::read_xml(text, document);
  } catch (const boost::property_tree::xml_parser_error& error) {
    throw ModelError(std::string("the robot description is not XML: ") + error.what());
  }
  const auto found = document.get_child_optional("robot." + name);
  return found ? std::optional<ptree>(*found) : std::nullopt;
}

/// An attribute of numbers, of which a certain count is accepted.
Eigen::VectorXd numbers(const ptree& element, const std::string& what, const std::string& key,
                        Eigen::Index count) {
  const auto text = element.get<std::string>("<xmlattr>." + key, "");
  std::vector<double> values;
  const char* at = text.c_str();
  for (char* end = nullptr;; at = end) {
    const double value = std::strtod(at, &end);  // a stream would not read "inf"
    if (end == at) break;
    values.push_back(value);
  }
  const std::string rest(at);
  if (static_cast<Eigen::Index>(values.size()) != count ||
      rest.find_first_not_of(" \t\r\n") != std::string::npos) {
    throw ModelError("the attribute " + key + " of <" + what + "> must be " +
                     std::to_string(count) + " numbers; given: '" + text + "'");
  }
  return Eigen::Map<const Eigen::VectorXd>(values.data(), count);
}

double number(const ptree& element, const std::string& what, const std::string& key,
              std::optional<double> otherwise = std::nullopt) {
  if (otherwise && !element.get_optional<std::string>("<xmlattr>." + key)) return *otherwise;
  return numbers(element, what, key, 1)[0];
}

/// A number that is not negative; infinite only where that is what it is without the attribute.
double size_of(const ptree& element, const std::string& what, const std::string& key,
               double otherwise = 0.0) {
  const double value = number(element, what, key, otherwise);
  if (value >= 0.0 && (std::isfinite(value) || value == otherwise)) return value;
  throw ModelError("the attribute " + key + " of <" + what +
                   "> must not be negative; given: " + std::to_string(value));
}

}  // namespace

std::optional<BaseActuators> actuators_in(const std::string& urdf) {
  const std::string tag = "vms_ph_allocation", input = "input";
  const auto element = element_of(urdf, tag);
  if (!element) {
    if (!element_of(urdf, "vms_ph_actuators")) return std::nullopt;
    throw ModelError(
        "the robot description has <vms_ph_actuators>, but not <vms_ph_allocation>, which the "
        "plugins read: publish what 'ros2 run vms_ph describe ROBOT --ros2-control TAG' prints, or "
        "remove the element for a base that makes any wrench");
  }
  const auto m = static_cast<Eigen::Index>(element->count(input));
  const Eigen::Index b = element->get<std::string>("<xmlattr>.base", "") == "planar" ? 3 : 6;
  Eigen::MatrixXd matrix(b, m);
  Eigen::VectorXd lower(m), upper(m);
  ActuatorInputs made;
  for (Eigen::VectorXd* each :
       {&made.thrust_constant, &made.time_constant, &made.dead_zone, &made.loss_ratio,
        &made.friction, &made.largest_rate, &made.torque_constant, &made.resistance}) {
    each->resize(m);
  }
  Eigen::Index i = 0;
  for (const auto& [name, each] : *element) {
    if (name != input) continue;
    matrix.col(i) = numbers(each, input, "column", b);
    lower[i] = number(each, input, "lower");
    upper[i] = number(each, input, "upper");
    made.names.push_back(each.get<std::string>("<xmlattr>.name", std::to_string(i)));
    made.thrust_constant[i] = size_of(each, input, "thrust_constant");
    made.time_constant[i] = size_of(each, input, "time_constant");
    made.dead_zone[i] = size_of(each, input, "dead_zone");
    made.loss_ratio[i] = size_of(each, input, "loss_ratio");
    made.friction[i] = size_of(each, input, "friction");
    made.largest_rate[i] =
        size_of(each, input, "largest_rate", std::numeric_limits<double>::infinity());
    made.torque_constant[i] = size_of(each, input, "torque_constant");
    made.resistance[i] = size_of(each, input, "resistance");
    ++i;
  }
  Eigen::VectorXd weights = numbers(*element, tag, "weights", b);
  if (!(weights.minCoeff() > 0.0) || !weights.allFinite()) {
    throw ModelError("the attribute weights of <" + tag + "> must be positive");
  }
  return BaseActuators{std::move(made),
                       vms_ph::Allocation(std::move(matrix), std::move(lower), std::move(upper)),
                       std::move(weights)};
}

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
