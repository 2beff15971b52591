// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// What a golden file of a law of moving bases tells: a robot, a controller and what it is given.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "golden.hpp"
#include "vms_ph_native/laws.hpp"
#include "vms_ph_native/supervisor.hpp"

namespace vms_ph::golden {

/// The names of the golden files of these laws.
inline std::vector<std::string> base_law_files(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("base_law", 0) == 0) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// One call of the controller, and what must come of it.
struct Step {
  enum class Kind { gain, payload, reset, update };

  Kind kind = Kind::update;
  std::string gain;
  double value = 0.0;       ///< of the gain, or the time step
  Eigen::VectorXd payload;  ///< mass, moment and deviation of the mass
  RobotState state;
  Reference reference;
  std::vector<Line> expected_lines;
};

class BaseLawRun {
 public:
  BaseLawRun(const std::string& folder, const std::string& file);

  const std::vector<Step>& steps() const { return steps_; }
  const Model& model() const { return *model_; }
  Controller& law() { return *law_; }

  /// Make the call of a step; the command of an update, else null. Whether it was taken is in
  /// `is_accepted`.
  const Command* apply(const Step& step, bool& is_accepted) noexcept {
    if (step.kind == Step::Kind::update)
      return &law_->update(step.state, step.reference, step.value);
    if (step.kind == Step::Kind::payload) {
      is_accepted = law_->carry(step.payload[0], step.payload.segment<3>(1), step.payload[4]);
      return nullptr;
    }
    is_accepted = step.kind == Step::Kind::reset ? law_->reset(step.state)
                                                 : law_->set_gain(step.gain, step.value);
    return nullptr;
  }

 private:
  void read_robot(const std::string& folder, const std::vector<Line>& lines);
  void read_steps(const std::vector<Line>& lines);

  std::unique_ptr<Model> model_;
  std::unique_ptr<Controller> law_;
  std::vector<Step> steps_;
};

inline BaseLawRun::BaseLawRun(const std::string& folder, const std::string& file) {
  const std::vector<Line> lines = read(folder + "/" + file);
  read_robot(folder, lines);
  read_steps(lines);
}

inline void BaseLawRun::read_robot(const std::string& folder, const std::vector<Line>& lines) {
  std::vector<std::string> robot;
  std::string law;
  Eigen::Vector3d gravity = Eigen::Vector3d::Zero();
  bool base_actuated = true;
  double payload_rate = 0.0;
  std::vector<Eigen::VectorXd> rotors;
  Eigen::VectorXd lower, upper;
  std::vector<Wheel> wheels;
  for (const Line& line : lines) {
    if (line.key == "robot") robot = line.words();
    if (line.key == "law") law = line.words().at(0);
    if (line.key == "gravity") gravity = line.numbers();
    if (line.key == "payload_rate") payload_rate = line.number();
    if (line.key == "base_actuated") base_actuated = line.number() != 0.0;
    if (line.key == "wheel") wheels.push_back({line.words().at(0), std::stod(line.words().at(1))});
    if (line.key == "rotors") rotors.push_back(line.numbers());
    if (line.key == "lower") lower = line.numbers();
    if (line.key == "upper") upper = line.numbers();
  }
  const Base base = robot.at(1) == "fixed"    ? Base::fixed
                    : robot.at(1) == "planar" ? Base::planar
                                              : Base::floating;
  model_ = std::make_unique<Model>(
      Model::from_urdf(file_text(folder + "/" + robot.at(0)), base, robot.at(2), {}, gravity));
  std::optional<Allocation> allocation;
  if (!rotors.empty()) {
    Eigen::MatrixXd matrix(static_cast<Eigen::Index>(rotors.size()), lower.size());
    for (std::size_t i = 0; i < rotors.size(); ++i) {
      matrix.row(static_cast<Eigen::Index>(i)) = rotors[i];
    }
    allocation.emplace(matrix, lower, upper);
  }
  law_ = make_law(law, *model_, allocation, base_actuated, wheels);
  if (payload_rate > 0.0) {
    law_ = std::make_unique<PayloadCompensation>(*model_, std::move(law_), payload_rate);
  }
}

inline void BaseLawRun::read_steps(const std::vector<Line>& lines) {
  const auto add = [this](Step::Kind kind) -> Step& {
    steps_.emplace_back();
    steps_.back().kind = kind;
    return steps_.back();
  };
  for (const Line& line : lines) {
    if (line.key == "gain") {
      Step& step = add(Step::Kind::gain);
      step.gain = line.words()[0];
      step.value = std::stod(line.words()[1]);
    } else if (line.key == "payload") {
      add(Step::Kind::payload).payload = line.numbers();
    } else if (line.key == "reset") {
      add(Step::Kind::reset).state.q = line.numbers();
    } else if (line.key == "q") {
      add(Step::Kind::update).state.q = line.numbers();
    } else if (line.key == "v") {
      steps_.back().state.v = line.numbers();
    } else if (line.key == "pose") {
      const Eigen::VectorXd rows = line.numbers();
      steps_.back().reference.pose =
          Eigen::Map<const Eigen::Matrix<double, 4, 4, Eigen::RowMajor>>(rows.data());
    } else if (line.key == "position") {
      steps_.back().reference.position = line.numbers();
    } else if (line.key == "velocity") {
      steps_.back().reference.velocity = line.numbers();
    } else if (line.key == "twist") {
      steps_.back().reference.twist = line.numbers();
    } else if (line.key == "wrench") {
      steps_.back().reference.wrench = line.numbers();
    } else if (line.key == "measured_wrench") {
      steps_.back().state.wrench = line.numbers();
    } else if (line.key == "joints") {
      steps_.back().reference.joints = line.numbers();
      steps_.back().reference.has_joints = true;
    } else if (line.key == "dt") {
      steps_.back().value = line.number();
    } else if (!steps_.empty() && line.key != "update") {
      steps_.back().expected_lines.push_back(line);
    }
  }
}

}  // namespace vms_ph::golden
