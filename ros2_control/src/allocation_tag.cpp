// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include "description_tags.hpp"
#include "tag_attributes.hpp"
#include "vms_ph_native/model.hpp"

namespace vms_ph_ros2_control {
namespace {

using vms_ph::ModelError;

constexpr const char* kReactionWheel = "reaction_wheel";

std::string words(const Eigen::VectorXd& values) {
  std::ostringstream made;
  for (Eigen::Index i = 0; i < values.size(); ++i) made << (i > 0 ? " " : "") << values[i];
  return made.str();
}

/// The momentum of what an input spins.
void read_spin(const ptree& each, const std::string& what, Eigen::Index i, ActuatorInputs& made,
               SpinningParts& spinning) {
  const auto kind = text_of(each, "kind");
  if (!kind.empty() && kind != kReactionWheel) {
    throw ModelError("the attribute kind of <" + what + "> must be " + kReactionWheel +
                     ", or not be there; given: '" + kind + "'");
  }
  const bool reaction = kind == kReactionWheel;
  made.reaction[static_cast<std::size_t>(i)] = reaction;
  made.rate[i] = finite_numbers(each, what, "rate", 1)[0];
  spinning.inertia[i] = size_of(each, what, "inertia");
  if (reaction && !(spinning.inertia[i] > 0.0)) {
    throw ModelError("the attribute inertia of an <" + what + "> of the kind " + kReactionWheel +
                     " must be above zero; given: '" + text_of(each, "inertia") + "'");
  }
  if (reaction && std::abs(made.rate[i]) > made.largest_rate[i]) {
    throw ModelError("the attribute rate of an <" + what + "> of the kind " + kReactionWheel +
                     " must be within largest_rate, " + std::to_string(made.largest_rate[i]) +
                     "; given: " + std::to_string(made.rate[i]));
  }
  if (!(spinning.inertia[i] > 0.0)) return;
  if (!reaction && !(made.thrust_constant[i] > 0.0)) {
    throw ModelError("an <" + what +
                     "> with the attribute inertia needs thrust_constant, from which its rate "
                     "follows, or the kind " +
                     kReactionWheel);
  }
  spinning.axis.col(i) = axis_of(each, what, "spin_axis");
  if (has(each, "tilt_rate")) spinning.quarter.col(i) = axis_of(each, what, "spin_axis_sin");
}

/// The limits of a tilt.
void read_tilt(const ptree& each, const std::string& what, Eigen::Index i,
               TurningColumns& columns) {
  const double lower = number(each, what, "tilt_lower"), upper = number(each, what, "tilt_upper");
  columns.fastest[i] = number(each, what, "tilt_rate");
  if (!(lower <= 0.0 && upper >= 0.0 && upper - lower <= M_PI + kRounded &&
        columns.fastest[i] > 0.0)) {
    throw ModelError("an <" + what +
                     "> that tilts must have tilt_lower and tilt_upper around zero, at most pi "
                     "apart, and a tilt_rate above zero; given: " +
                     std::to_string(lower) + ", " + std::to_string(upper) + " and " +
                     std::to_string(columns.fastest[i]));
  }
  columns.lower[i] = lower;
  columns.upper[i] = upper;
}

/// The input whose angle turns the column of input i; -1 for none.
Eigen::Index turned_by(const ptree& each, const std::string& what, Eigen::Index i,
                       const std::vector<std::string>& names) {
  const std::string steering = text_of(each, "steering");
  if (has(each, "tilt_rate")) {
    if (has(each, "angle")) {
      throw ModelError("the attribute angle of <" + what +
                       "> is that of steering, an input with tilt_rate starts without tilt; "
                       "given: '" +
                       text_of(each, "angle") + "'");
    }
    if (steering.empty()) return i;
    throw ModelError("an <" + what + "> has tilt_rate or steering, not both; given: '" +
                     text_of(each, "tilt_rate") + "' and '" + steering + "'");
  }
  if (steering.empty()) {
    for (const char* key : {"tilt_lower", "tilt_upper", "angle", "column_fixed", "column_cos",
                            "column_sin", "spin_axis_sin"}) {
      if (!has(each, key)) continue;
      throw ModelError("an <" + what + "> that has the attribute " + key +
                       " turns and must have tilt_rate or steering; given: none of them");
    }
    return -1;
  }
  const auto found = std::find(names.begin(), names.end(), steering);
  if (found != names.end()) return found - names.begin();
  throw ModelError("the attribute steering of <" + what +
                   "> must be the name of an input; given: '" + steering + "'");
}

/// Check an input that turns: what steers it, and its column at the start, which is `column` (b,).
void check_turning(const TurningColumns& made, const std::string& what, Eigen::Index i,
                   const std::vector<std::string>& names, const Eigen::VectorXd& column) {
  const Eigen::Index by = made.by[static_cast<std::size_t>(i)];
  if (by < 0) return;
  const std::string& name = names[static_cast<std::size_t>(i)];
  if (made.by[static_cast<std::size_t>(by)] != by || (by != i && made.tilts(by))) {
    throw ModelError("the attribute steering of the <" + what + "> '" + name +
                     "' must be an input that steers itself; given: '" +
                     names[static_cast<std::size_t>(by)] + "'");
  }
  const double angle = made.start[by];
  const Eigen::VectorXd turned =
      made.fixed.col(i) + std::cos(angle) * made.cosine.col(i) + std::sin(angle) * made.sine.col(i);
  const double size = 1.0 + turned.cwiseAbs().maxCoeff();
  if ((turned - column).cwiseAbs().maxCoeff() <= kRounded * size) return;
  throw ModelError("the attribute column of the <" + what + "> '" + name +
                   "' must be column_fixed + cos(angle) column_cos + sin(angle) column_sin at the "
                   "angle of the start, '" +
                   words(turned) + "'; given: '" + words(column) + "'");
}

/// What turns the columns of inputs, of which `matrix` (b,m) is the map at the start.
TurningColumns turning_columns(const ptree& element, const std::string& what,
                               const std::vector<std::string>& names,
                               const Eigen::MatrixXd& matrix) {
  const Eigen::Index b = matrix.rows(), m = matrix.cols();
  TurningColumns made;
  made.fixed = matrix;
  made.cosine = made.sine = Eigen::MatrixXd::Zero(b, m);
  made.start = made.lower = made.upper = made.fastest = Eigen::VectorXd::Zero(m);
  Eigen::Index i = 0;
  for (const auto& [name, each] : element) {
    if (name != what) continue;
    made.by.push_back(turned_by(each, what, i, names));
    if (made.by.back() >= 0) {
      made.fixed.col(i) = finite_numbers(each, what, "column_fixed", b);
      made.cosine.col(i) = finite_numbers(each, what, "column_cos", b);
      made.sine.col(i) = finite_numbers(each, what, "column_sin", b);
      made.start[i] = finite_numbers(each, what, "angle", 1)[0];
      if (has(each, "tilt_rate")) read_tilt(each, what, i, made);
    }
    ++i;
  }
  for (i = 0; i < m; ++i) check_turning(made, what, i, names, matrix.col(i));
  return made;
}

}  // namespace

std::vector<std::size_t> inputs_of(const std::string& name, const std::vector<std::string>& names) {
  const auto owner = [](const std::string& input) { return input.substr(0, input.find('/')); };
  std::vector<std::size_t> found;
  bool exists = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    exists = exists || names[i] == name || owner(names[i]) == name;
    if (owner(names[i]) == owner(name)) found.push_back(i);
  }
  return exists ? found : std::vector<std::size_t>();
}

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
  const Eigen::Index b = text_of(*element, "base") == "planar" ? 3 : 6;
  Eigen::MatrixXd matrix(b, m);
  Eigen::VectorXd lower(m), upper(m);
  ActuatorInputs made;
  SpinningParts spinning;
  for (Eigen::VectorXd* each :
       {&spinning.inertia, &made.rate, &made.thrust_constant, &made.time_constant, &made.dead_zone,
        &made.loss_ratio, &made.friction, &made.largest_rate, &made.torque_constant,
        &made.resistance}) {
    each->resize(m);
  }
  made.reaction.resize(static_cast<std::size_t>(m));
  spinning.axis = spinning.quarter = Eigen::Matrix3Xd::Zero(3, m);
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
    read_spin(each, input, i, made, spinning);
    ++i;
  }
  Eigen::VectorXd weights = numbers(*element, tag, "weights", b);
  if (!(weights.minCoeff() > 0.0) || !weights.allFinite()) {
    throw ModelError("the attribute weights of <" + tag + "> must be positive");
  }
  TurningColumns columns = turning_columns(*element, input, made.names, matrix);
  return BaseActuators{std::move(made),
                       vms_ph::Allocation(std::move(matrix), std::move(lower), std::move(upper)),
                       std::move(weights), std::move(spinning), std::move(columns)};
}

}  // namespace vms_ph_ros2_control
