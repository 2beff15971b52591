// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "tag_attributes.hpp"

#include <cmath>
#include <cstdlib>
#include <sstream>
#include <vector>

#include <boost/property_tree/xml_parser.hpp>

#include "vms_ph_native/model.hpp"

namespace vms_ph_ros2_control {

using vms_ph::ModelError;

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

bool has(const ptree& element, const std::string& key) {
  return element.get_optional<std::string>("<xmlattr>." + key).has_value();
}

std::string text_of(const ptree& element, const std::string& key) {
  return element.get<std::string>("<xmlattr>." + key, "");
}

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
              std::optional<double> otherwise) {
  if (otherwise && !element.get_optional<std::string>("<xmlattr>." + key)) return *otherwise;
  return numbers(element, what, key, 1)[0];
}

double size_of(const ptree& element, const std::string& what, const std::string& key,
               double otherwise) {
  const double value = number(element, what, key, otherwise);
  if (value >= 0.0 && (std::isfinite(value) || value == otherwise)) return value;
  throw ModelError("the attribute " + key + " of <" + what +
                   "> must not be negative; given: " + std::to_string(value));
}

Eigen::VectorXd finite_numbers(const ptree& element, const std::string& what,
                               const std::string& key, Eigen::Index count) {
  if (!has(element, key)) return Eigen::VectorXd::Zero(count);
  Eigen::VectorXd found = numbers(element, what, key, count);
  if (found.allFinite()) return found;
  throw ModelError("the attribute " + key + " of <" + what + "> must be finite; given: '" +
                   text_of(element, key) + "'");
}

Eigen::Vector3d axis_of(const ptree& element, const std::string& what, const std::string& key) {
  const Eigen::Vector3d axis = numbers(element, what, key, 3);
  if (std::abs(axis.norm() - 1.0) < kRounded) return axis;
  throw ModelError("the attribute " + key + " of <" + what +
                   "> must be an axis of length one; given: '" + text_of(element, key) + "'");
}

}  // namespace vms_ph_ros2_control
