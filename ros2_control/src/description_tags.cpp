// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "description_tags.hpp"

#include <algorithm>
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
using vms_ph::ActuatorInputs;
using vms_ph::AngleColumns;
using vms_ph::BaseActuators;
using vms_ph::ModelError;
using vms_ph::SpinningParts;

/// Relative error of numbers that count as equal, and of the length of an axis.
constexpr double kTolerance = 1e-9;

/// The element of a robot that has a name, if the text has it.
///
/// @throws vms_ph::ModelError  the text is not XML.
std::optional<ptree> element_of(const std::string& urdf, const std::string& name) {
  // Descriptions without it, most of them, are not parsed.
  if (urdf.find("<" + name) == std::string::npos) return std::nullopt;
  std::istringstream xml_stream(urdf);
  ptree document;
  try {
    boost::property_tree::read_xml(xml_stream, document);
  } catch (const boost::property_tree::xml_parser_error& error) {
    throw ModelError(std::string("the robot description is not XML: ") + error.what());
  }
  const auto child_element = document.get_child_optional("robot." + name);
  return child_element ? std::optional<ptree>(*child_element) : std::nullopt;
}

/// Whether an element has an attribute.
bool has_attribute(const ptree& element, const std::string& key) {
  return element.get_optional<std::string>("<xmlattr>." + key).has_value();
}

/// The text of an attribute; empty without it.
std::string text_of(const ptree& element, const std::string& key) {
  return element.get<std::string>("<xmlattr>." + key, "");
}

/// An attribute of numbers, of which a certain count is accepted.
///
/// @param element_name  name of the element, in messages.
/// @throws vms_ph::ModelError  they are not numbers, or of another count. As those below, its
///                             message names the attribute, the value given and the values
///                             accepted.
Eigen::VectorXd numbers(const ptree& element, const std::string& element_name,
                        const std::string& key, Eigen::Index count) {
  const auto text = element.get<std::string>("<xmlattr>." + key, "");
  std::vector<double> values;
  const char* cursor = text.c_str();
  for (char* end = nullptr;; cursor = end) {
    const double value = std::strtod(cursor, &end);  // a stream would not read "inf"
    if (end == cursor) break;
    values.push_back(value);
  }
  const std::string remainder(cursor);
  if (static_cast<Eigen::Index>(values.size()) != count ||
      remainder.find_first_not_of(" \t\r\n") != std::string::npos) {
    throw ModelError("the attribute " + key + " of <" + element_name + "> must be " +
                     std::to_string(count) + " numbers; given: '" + text + "'");
  }
  return Eigen::Map<const Eigen::VectorXd>(values.data(), count);
}

double number(const ptree& element, const std::string& element_name, const std::string& key,
              std::optional<double> fallback = std::nullopt) {
  if (fallback && !element.get_optional<std::string>("<xmlattr>." + key)) return *fallback;
  return numbers(element, element_name, key, 1)[0];
}

/// A number that is not negative; infinite only where the default is infinite.
double nonnegative_number(const ptree& element, const std::string& element_name,
                          const std::string& key, double fallback = 0.0) {
  const double value = number(element, element_name, key, fallback);
  if (value >= 0.0 && (std::isfinite(value) || value == fallback)) return value;
  throw ModelError("the attribute " + key + " of <" + element_name +
                   "> must not be negative; given: " + std::to_string(value));
}

/// An attribute of finite numbers; all zero without the attribute.
Eigen::VectorXd finite_numbers(const ptree& element, const std::string& element_name,
                               const std::string& key, Eigen::Index count) {
  if (!has_attribute(element, key)) return Eigen::VectorXd::Zero(count);
  Eigen::VectorXd values = numbers(element, element_name, key, count);
  if (values.allFinite()) return values;
  throw ModelError("the attribute " + key + " of <" + element_name + "> must be finite; given: '" +
                   text_of(element, key) + "'");
}

/// An axis, of length one.
Eigen::Vector3d axis_of(const ptree& element, const std::string& element_name,
                        const std::string& key) {
  const Eigen::Vector3d axis = numbers(element, element_name, key, 3);
  if (std::abs(axis.norm() - 1.0) < kTolerance) return axis;
  throw ModelError("the attribute " + key + " of <" + element_name +
                   "> must be an axis of length one; given: '" + text_of(element, key) + "'");
}

constexpr const char* kReactionWheel = "reaction_wheel";

std::string to_text(const Eigen::VectorXd& values) {
  std::ostringstream stream;
  for (Eigen::Index i = 0; i < values.size(); ++i) stream << (i > 0 ? " " : "") << values[i];
  return stream.str();
}

/// Read what gives the angular momentum of what an input spins: rate, inertia and axes.
void read_spin(const ptree& child, const std::string& element_name, Eigen::Index i,
               ActuatorInputs& inputs, SpinningParts& spinning_parts) {
  const auto kind = text_of(child, "kind");
  if (!kind.empty() && kind != kReactionWheel) {
    throw ModelError("the attribute kind of <" + element_name + "> must be " + kReactionWheel +
                     ", or not be there; given: '" + kind + "'");
  }
  const bool is_reaction_wheel = kind == kReactionWheel;
  inputs.is_reaction_wheel[static_cast<std::size_t>(i)] = is_reaction_wheel;
  inputs.start_rate[i] = finite_numbers(child, element_name, "rate", 1)[0];
  spinning_parts.inertia[i] = nonnegative_number(child, element_name, "inertia");
  if (is_reaction_wheel && !(spinning_parts.inertia[i] > 0.0)) {
    throw ModelError("the attribute inertia of an <" + element_name + "> of the kind " +
                     kReactionWheel + " must be above zero; given: '" + text_of(child, "inertia") +
                     "'");
  }
  if (is_reaction_wheel && std::abs(inputs.start_rate[i]) > inputs.largest_rate[i]) {
    throw ModelError("the attribute rate of an <" + element_name + "> of the kind " +
                     kReactionWheel + " must be within largest_rate, " +
                     std::to_string(inputs.largest_rate[i]) +
                     "; given: " + std::to_string(inputs.start_rate[i]));
  }
  if (!(spinning_parts.inertia[i] > 0.0)) return;
  if (!is_reaction_wheel && !(inputs.thrust_constant[i] > 0.0)) {
    throw ModelError("an <" + element_name +
                     "> with the attribute inertia needs thrust_constant, from which its rate "
                     "follows, or the kind " +
                     kReactionWheel);
  }
  spinning_parts.axis.col(i) = axis_of(child, element_name, "spin_axis");
  if (has_attribute(child, "tilt_rate"))
    spinning_parts.quarter_turn_axis.col(i) = axis_of(child, element_name, "spin_axis_sin");
}

/// Read the limits of a tilt.
void read_tilt(const ptree& child, const std::string& element_name, Eigen::Index i,
               AngleColumns& columns) {
  const double lower = number(child, element_name, "tilt_lower"),
               upper = number(child, element_name, "tilt_upper");
  columns.largest_tilt_rate[i] = number(child, element_name, "tilt_rate");
  if (!(lower <= 0.0 && upper >= 0.0 && upper - lower <= M_PI + kTolerance &&
        columns.largest_tilt_rate[i] > 0.0)) {
    throw ModelError("an <" + element_name +
                     "> that tilts must have tilt_lower and tilt_upper around zero, at most pi "
                     "apart, and a tilt_rate above zero; given: " +
                     std::to_string(lower) + ", " + std::to_string(upper) + " and " +
                     std::to_string(columns.largest_tilt_rate[i]));
  }
  columns.lower_tilt[i] = lower;
  columns.upper_tilt[i] = upper;
}

/// The input whose angle turns the column of input i; -1 for none.
Eigen::Index angle_input_of(const ptree& child, const std::string& element_name, Eigen::Index i,
                            const std::vector<std::string>& names) {
  const std::string steering = text_of(child, "steering");
  if (has_attribute(child, "tilt_rate")) {
    if (has_attribute(child, "angle")) {
      throw ModelError("the attribute angle of <" + element_name +
                       "> is that of steering, an input with tilt_rate starts without tilt; "
                       "given: '" +
                       text_of(child, "angle") + "'");
    }
    if (steering.empty()) return i;
    throw ModelError("an <" + element_name + "> has tilt_rate or steering, not both; given: '" +
                     text_of(child, "tilt_rate") + "' and '" + steering + "'");
  }
  if (steering.empty()) {
    for (const char* key : {"tilt_lower", "tilt_upper", "angle", "column_fixed", "column_cos",
                            "column_sin", "spin_axis_sin"}) {
      if (!has_attribute(child, key)) continue;
      throw ModelError("an <" + element_name + "> that has the attribute " + key +
                       " turns and must have tilt_rate or steering; given: none of them");
    }
    return -1;
  }
  const auto steering_name = std::find(names.begin(), names.end(), steering);
  if (steering_name != names.end()) return steering_name - names.begin();
  throw ModelError("the attribute steering of <" + element_name +
                   "> must be the name of an input; given: '" + steering + "'");
}

/// Check an input that turns: what steers it, and its column at the start, which is `column` (b,).
void check_angle_input(const AngleColumns& columns, const std::string& element_name, Eigen::Index i,
                       const std::vector<std::string>& names, const Eigen::VectorXd& column) {
  const Eigen::Index angle_input = columns.angle_input[static_cast<std::size_t>(i)];
  if (angle_input < 0) return;
  const std::string& name = names[static_cast<std::size_t>(i)];
  if (columns.angle_input[static_cast<std::size_t>(angle_input)] != angle_input ||
      (angle_input != i && columns.is_tilting(angle_input))) {
    throw ModelError("the attribute steering of the <" + element_name + "> '" + name +
                     "' must be an input that steers itself; given: '" +
                     names[static_cast<std::size_t>(angle_input)] + "'");
  }
  const double angle = columns.angles[angle_input];
  const Eigen::VectorXd start_column = columns.fixed.col(i) +
                                       std::cos(angle) * columns.cosine.col(i) +
                                       std::sin(angle) * columns.sine.col(i);
  const double scale = 1.0 + start_column.cwiseAbs().maxCoeff();
  if ((start_column - column).cwiseAbs().maxCoeff() <= kTolerance * scale) return;
  throw ModelError("the attribute column of the <" + element_name + "> '" + name +
                   "' must be column_fixed + cos(angle) column_cos + sin(angle) column_sin at the "
                   "angle of the start, '" +
                   to_text(start_column) + "'; given: '" + to_text(column) + "'");
}

/// The columns of all inputs by the angles that turn them; `matrix` (b,m) is the map at the start.
AngleColumns angle_columns(const ptree& element, const std::string& element_name,
                           const std::vector<std::string>& names, const Eigen::MatrixXd& matrix) {
  const Eigen::Index b = matrix.rows(), m = matrix.cols();
  AngleColumns columns;
  columns.fixed = matrix;
  columns.cosine = columns.sine = Eigen::MatrixXd::Zero(b, m);
  columns.angles = columns.lower_tilt = columns.upper_tilt = columns.largest_tilt_rate =
      Eigen::VectorXd::Zero(m);
  Eigen::Index i = 0;
  for (const auto& [name, child] : element) {
    if (name != element_name) continue;
    columns.angle_input.push_back(angle_input_of(child, element_name, i, names));
    if (columns.angle_input.back() >= 0) {
      columns.fixed.col(i) = finite_numbers(child, element_name, "column_fixed", b);
      columns.cosine.col(i) = finite_numbers(child, element_name, "column_cos", b);
      columns.sine.col(i) = finite_numbers(child, element_name, "column_sin", b);
      columns.angles[i] = finite_numbers(child, element_name, "angle", 1)[0];
      if (has_attribute(child, "tilt_rate")) read_tilt(child, element_name, i, columns);
    }
    ++i;
  }
  for (i = 0; i < m; ++i) check_angle_input(columns, element_name, i, names, matrix.col(i));
  return columns;
}

}  // namespace

std::vector<std::size_t> inputs_of(const std::string& name, const std::vector<std::string>& names) {
  const auto name_stem = [](const std::string& input) { return input.substr(0, input.find('/')); };
  std::vector<std::size_t> input_indices;
  bool is_known = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    is_known = is_known || names[i] == name || name_stem(names[i]) == name;
    if (name_stem(names[i]) == name_stem(name)) input_indices.push_back(i);
  }
  return is_known ? input_indices : std::vector<std::size_t>();
}

std::optional<BaseActuators> parse_actuators(const std::string& urdf) {
  const std::string tag = "vms_ph_allocation", input_tag = "input";
  const auto element = element_of(urdf, tag);
  if (!element) {
    if (!element_of(urdf, "vms_ph_actuators")) return std::nullopt;
    throw ModelError(
        "the robot description has <vms_ph_actuators>, but not <vms_ph_allocation>, which the "
        "plugins read: publish what 'ros2 run vms_ph describe ROBOT --ros2-control TAG' prints, or "
        "remove the element for a base that makes any wrench");
  }
  const auto m = static_cast<Eigen::Index>(element->count(input_tag));
  const Eigen::Index b = text_of(*element, "base") == "planar" ? 3 : 6;
  Eigen::MatrixXd matrix(b, m);
  Eigen::VectorXd lower(m), upper(m);
  ActuatorInputs inputs;
  SpinningParts spinning_parts;
  for (Eigen::VectorXd* values :
       {&spinning_parts.inertia, &inputs.start_rate, &inputs.thrust_constant, &inputs.time_constant,
        &inputs.dead_zone, &inputs.loss_ratio, &inputs.friction, &inputs.largest_rate,
        &inputs.torque_constant, &inputs.resistance}) {
    values->resize(m);
  }
  inputs.is_reaction_wheel.resize(static_cast<std::size_t>(m));
  spinning_parts.axis = spinning_parts.quarter_turn_axis = Eigen::Matrix3Xd::Zero(3, m);
  Eigen::Index i = 0;
  for (const auto& [name, child] : *element) {
    if (name != input_tag) continue;
    matrix.col(i) = numbers(child, input_tag, "column", b);
    lower[i] = number(child, input_tag, "lower");
    upper[i] = number(child, input_tag, "upper");
    inputs.names.push_back(child.get<std::string>("<xmlattr>.name", std::to_string(i)));
    inputs.thrust_constant[i] = nonnegative_number(child, input_tag, "thrust_constant");
    inputs.time_constant[i] = nonnegative_number(child, input_tag, "time_constant");
    inputs.dead_zone[i] = nonnegative_number(child, input_tag, "dead_zone");
    inputs.loss_ratio[i] = nonnegative_number(child, input_tag, "loss_ratio");
    inputs.friction[i] = nonnegative_number(child, input_tag, "friction");
    inputs.largest_rate[i] = nonnegative_number(child, input_tag, "largest_rate",
                                                std::numeric_limits<double>::infinity());
    inputs.torque_constant[i] = nonnegative_number(child, input_tag, "torque_constant");
    inputs.resistance[i] = nonnegative_number(child, input_tag, "resistance");
    read_spin(child, input_tag, i, inputs, spinning_parts);
    ++i;
  }
  Eigen::VectorXd weights = numbers(*element, tag, "weights", b);
  if (!(weights.minCoeff() > 0.0) || !weights.allFinite()) {
    throw ModelError("the attribute weights of <" + tag + "> must be positive");
  }
  AngleColumns columns = angle_columns(*element, input_tag, inputs.names, matrix);
  return BaseActuators{std::move(inputs),
                       vms_ph::Allocation(std::move(matrix), std::move(lower), std::move(upper)),
                       std::move(weights), std::move(spinning_parts), std::move(columns)};
}

std::optional<vms_ph::Fluid> parse_fluid(const std::string& urdf) {
  const std::string tag = "vms_ph_fluid", body_tag = "body";
  const auto element = element_of(urdf, tag);
  if (!element) return std::nullopt;
  vms_ph::Fluid fluid;
  fluid.density = number(*element, tag, "density");
  for (const auto& [name, child] : *element) {
    if (name != body_tag) continue;
    vms_ph::ImmersedBody body;
    body.link = child.get<std::string>("<xmlattr>.link", "");
    body.added_mass = Eigen::Map<const Eigen::Matrix<double, 6, 6>>(
        numbers(child, body_tag, "added_mass", 36).data());
    body.volume = number(child, body_tag, "volume");
    body.centre_of_buoyancy = numbers(child, body_tag, "centre_of_buoyancy", 3);
    body.linear_drag = numbers(child, body_tag, "linear_drag", 6);
    body.quadratic_drag = numbers(child, body_tag, "quadratic_drag", 6);
    fluid.bodies.push_back(body);
  }
  return fluid;
}

}  // namespace vms_ph_ros2_control
