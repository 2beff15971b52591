// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "description_tags.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>

#include "robot_setup.hpp"
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

/// An element, whose attributes are read and checked.
///
/// What is not accepted throws a vms_ph::ModelError whose message names the attribute, the text
/// given and what is accepted.
struct Element {
  const ptree& tree;
  std::string name;

  bool has(const std::string& key) const { return attribute(key).has_value(); }

  /// The text of an attribute; empty without it.
  std::string text(const std::string& key) const { return attribute(key).value_or(""); }

  [[noreturn]] void refuse(const std::string& key, const std::string& requirement) const {
    throw ModelError("the attribute " + key + " of <" + name + "> must be " + requirement +
                     "; given: '" + text(key) + "'");
  }

  /// Numbers, of which a certain count is accepted.
  Eigen::VectorXd numbers(const std::string& key, Eigen::Index count) const {
    const std::vector<double> values = numbers_of(text(key));
    if (static_cast<Eigen::Index>(values.size()) != count) {
      refuse(key, std::to_string(count) + " numbers");
    }
    return Eigen::Map<const Eigen::VectorXd>(values.data(), count);
  }

  double number(const std::string& key) const { return numbers(key, 1)[0]; }

  /// A number that is not negative; infinite only where the default is infinite.
  double nonnegative_number(const std::string& key, double default_number = 0.0) const {
    const double number = has(key) ? this->number(key) : default_number;
    if (number >= 0.0 && (std::isfinite(number) || number == default_number)) return number;
    refuse(key, "finite and not negative");
  }

  /// Finite numbers; all zero without the attribute.
  Eigen::VectorXd finite_numbers(const std::string& key, Eigen::Index count) const {
    if (!has(key)) return Eigen::VectorXd::Zero(count);
    Eigen::VectorXd finite_vector = numbers(key, count);
    if (!finite_vector.allFinite()) refuse(key, "finite");
    return finite_vector;
  }

  /// An axis, of length one.
  Eigen::Vector3d axis(const std::string& key) const {
    const Eigen::Vector3d axis = numbers(key, 3);
    if (!(std::abs(axis.norm() - 1.0) < kTolerance)) refuse(key, "an axis of length one");
    return axis;
  }

 private:
  std::optional<std::string> attribute(const std::string& key) const {
    const auto match = tree.get_optional<std::string>("<xmlattr>." + key);
    return match ? std::optional<std::string>(*match) : std::nullopt;
  }
};

/// The elements of a name in another one.
std::vector<Element> children_of(const ptree& tree, const std::string& name) {
  std::vector<Element> children;
  for (const auto& [child_name, child] : tree) {
    if (child_name == name) children.push_back({child, name});
  }
  return children;
}

constexpr const char* kReactionWheel = "reaction_wheel";

/// Read what gives the angular momentum of what an input spins: rate, inertia and axes.
void read_spin(const Element& input, Eigen::Index i, ActuatorInputs& inputs,
               SpinningParts& spinning_parts) {
  const auto kind = input.text("kind");
  const bool is_reaction_wheel = kind == kReactionWheel;
  if (!kind.empty() && !is_reaction_wheel) {
    input.refuse("kind", std::string(kReactionWheel) + ", or not be there");
  }
  inputs.is_reaction_wheel[static_cast<std::size_t>(i)] = is_reaction_wheel;
  inputs.start_rate[i] = input.finite_numbers("rate", 1)[0];
  spinning_parts.inertia[i] = input.nonnegative_number("inertia");
  const bool has_inertia = spinning_parts.inertia[i] > 0.0;
  if (is_reaction_wheel && !has_inertia) input.refuse("inertia", "above zero for a reaction_wheel");
  if (is_reaction_wheel && std::abs(inputs.start_rate[i]) > inputs.largest_rate[i]) {
    input.refuse("rate", "within the largest_rate of a reaction_wheel, " +
                             std::to_string(inputs.largest_rate[i]));
  }
  if (!has_inertia) return;
  if (!is_reaction_wheel && !(inputs.thrust_constant[i] > 0.0)) {
    input.refuse("thrust_constant",
                 "above zero beside inertia, so that the rate follows from it, "
                 "where the kind is not reaction_wheel");
  }
  spinning_parts.axis.col(i) = input.axis("spin_axis");
  if (input.has("tilt_rate")) spinning_parts.quarter_turn_axis.col(i) = input.axis("spin_axis_sin");
}

/// Read the limits of a tilt.
void read_tilt(const Element& input, Eigen::Index i, AngleColumns& columns) {
  const double lower = input.number("tilt_lower"), upper = input.number("tilt_upper");
  if (!(lower <= 0.0)) input.refuse("tilt_lower", "zero or less");
  if (!(upper >= 0.0 && upper - lower <= M_PI + kTolerance)) {
    input.refuse("tilt_upper", "zero or more, at most pi above tilt_lower");
  }
  columns.largest_tilt_rate[i] = input.number("tilt_rate");
  if (!(columns.largest_tilt_rate[i] > 0.0)) input.refuse("tilt_rate", "above zero");
  columns.lower_tilt[i] = lower;
  columns.upper_tilt[i] = upper;
}

/// The input whose angle turns the column of input i; -1 for none.
Eigen::Index angle_input_of(const Element& input, Eigen::Index i,
                            const std::vector<std::string>& names) {
  const std::string steering = input.text("steering");
  if (input.has("tilt_rate")) {
    if (input.has("angle")) {
      input.refuse("angle", "beside steering only; an input with tilt_rate starts without tilt");
    }
    if (!steering.empty()) input.refuse("steering", "absent beside tilt_rate");
    return i;
  }
  if (steering.empty()) {
    for (const char* key : {"tilt_lower", "tilt_upper", "angle", "column_fixed", "column_cos",
                            "column_sin", "spin_axis_sin"}) {
      if (input.has(key)) input.refuse(key, "beside tilt_rate or steering, which turn the input");
    }
    return -1;
  }
  const auto steering_name = std::find(names.begin(), names.end(), steering);
  if (steering_name == names.end()) input.refuse("steering", "the name of an input");
  return steering_name - names.begin();
}

/// Check an input that turns: what steers it, and its column at the start, which is `column` (b,).
void check_angle_input(const AngleColumns& columns, const Element& input, Eigen::Index i,
                       const Eigen::VectorXd& column) {
  const Eigen::Index angle_input = columns.angle_input[static_cast<std::size_t>(i)];
  if (angle_input < 0) return;
  if (columns.angle_input[static_cast<std::size_t>(angle_input)] != angle_input ||
      (angle_input != i && columns.is_tilting(angle_input))) {
    input.refuse("steering", "an input that steers itself");
  }
  const double angle = columns.angles[angle_input];
  const Eigen::VectorXd start_column = columns.fixed.col(i) +
                                       std::cos(angle) * columns.cosine.col(i) +
                                       std::sin(angle) * columns.sine.col(i);
  const double scale = 1.0 + start_column.cwiseAbs().maxCoeff();
  if ((start_column - column).cwiseAbs().maxCoeff() <= kTolerance * scale) return;
  std::ostringstream requirement;
  requirement << "column_fixed + cos(angle) column_cos + sin(angle) column_sin at the angle of the "
                 "start, '"
              << start_column.transpose().format({Eigen::StreamPrecision, Eigen::DontAlignCols})
              << "'";
  input.refuse("column", requirement.str());
}

/// The columns of all inputs by the angles that turn them; `matrix` (b,m) is the map at the start.
AngleColumns angle_columns(const std::vector<Element>& elements,
                           const std::vector<std::string>& names, const Eigen::MatrixXd& matrix) {
  const Eigen::Index b = matrix.rows(), m = matrix.cols();
  AngleColumns columns;
  columns.fixed = matrix;
  columns.cosine = columns.sine = Eigen::MatrixXd::Zero(b, m);
  columns.angles = columns.lower_tilt = columns.upper_tilt = columns.largest_tilt_rate =
      Eigen::VectorXd::Zero(m);
  for (Eigen::Index i = 0; i < m; ++i) {
    const Element& input = elements[static_cast<std::size_t>(i)];
    columns.angle_input.push_back(angle_input_of(input, i, names));
    if (columns.angle_input.back() < 0) continue;
    columns.fixed.col(i) = input.finite_numbers("column_fixed", b);
    columns.cosine.col(i) = input.finite_numbers("column_cos", b);
    columns.sine.col(i) = input.finite_numbers("column_sin", b);
    columns.angles[i] = input.finite_numbers("angle", 1)[0];
    if (input.has("tilt_rate")) read_tilt(input, i, columns);
  }
  for (Eigen::Index i = 0; i < m; ++i)
    check_angle_input(columns, elements[static_cast<std::size_t>(i)], i, matrix.col(i));
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
  const auto tree = element_of(urdf, "vms_ph_allocation");
  if (!tree) {
    if (!element_of(urdf, "vms_ph_actuators")) return std::nullopt;
    throw ModelError(
        "the robot description has <vms_ph_actuators>, but not <vms_ph_allocation>, which the "
        "plugins read: publish what 'ros2 run vms_ph describe ROBOT --ros2-control TAG' prints, or "
        "remove the element for a base that makes any wrench");
  }
  const Element allocation{*tree, "vms_ph_allocation"};
  const std::vector<Element> elements = children_of(*tree, "input");
  const auto m = static_cast<Eigen::Index>(elements.size());
  const Eigen::Index b = allocation.text("base") == "planar" ? 3 : 6;
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
  for (Eigen::Index i = 0; i < m; ++i) {
    const Element& input = elements[static_cast<std::size_t>(i)];
    matrix.col(i) = input.numbers("column", b);
    lower[i] = input.number("lower");
    upper[i] = input.number("upper");
    inputs.names.push_back(input.has("name") ? input.text("name") : std::to_string(i));
    inputs.thrust_constant[i] = input.nonnegative_number("thrust_constant");
    inputs.time_constant[i] = input.nonnegative_number("time_constant");
    inputs.dead_zone[i] = input.nonnegative_number("dead_zone");
    inputs.loss_ratio[i] = input.nonnegative_number("loss_ratio");
    inputs.friction[i] = input.nonnegative_number("friction");
    inputs.largest_rate[i] =
        input.nonnegative_number("largest_rate", std::numeric_limits<double>::infinity());
    inputs.torque_constant[i] = input.nonnegative_number("torque_constant");
    inputs.resistance[i] = input.nonnegative_number("resistance");
    read_spin(input, i, inputs, spinning_parts);
  }
  Eigen::VectorXd weights = allocation.numbers("weights", b);
  if (!(weights.minCoeff() > 0.0) || !weights.allFinite()) allocation.refuse("weights", "positive");
  AngleColumns columns = angle_columns(elements, inputs.names, matrix);
  return BaseActuators{std::move(inputs),
                       vms_ph::Allocation(std::move(matrix), std::move(lower), std::move(upper)),
                       std::move(weights), std::move(spinning_parts), std::move(columns)};
}

std::optional<vms_ph::Fluid> parse_fluid(const std::string& urdf) {
  const auto tree = element_of(urdf, "vms_ph_fluid");
  if (!tree) return std::nullopt;
  vms_ph::Fluid fluid;
  fluid.density = Element{*tree, "vms_ph_fluid"}.number("density");
  for (const Element& element : children_of(*tree, "body")) {
    vms_ph::ImmersedBody body;
    body.link = element.text("link");
    body.added_mass =
        Eigen::Map<const Eigen::Matrix<double, 6, 6>>(element.numbers("added_mass", 36).data());
    body.volume = element.number("volume");
    body.centre_of_buoyancy = element.numbers("centre_of_buoyancy", 3);
    body.linear_drag = element.numbers("linear_drag", 6);
    body.quadratic_drag = element.numbers("quadratic_drag", 6);
    fluid.bodies.push_back(body);
  }
  return fluid;
}

}  // namespace vms_ph_ros2_control
