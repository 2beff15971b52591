// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The law says what the Python one said when the golden data were written.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <sstream>
#include <vector>

#include "core_test.hpp"
#include "energy_numbers.hpp"
#include "file_text.hpp"
#include "vms_ph_native/task_space_ida_pbc.hpp"

namespace golden_task_space {

// Relative to the size of a quantity; sizes below one N m, J or W count as one.
constexpr double kParity = 1e-9;

Eigen::VectorXd numbers(std::istringstream& line) {
  std::vector<double> parsed;
  for (std::string word; line >> word;) parsed.push_back(std::stod(word));
  return Eigen::Map<Eigen::VectorXd>(parsed.data(), static_cast<Eigen::Index>(parsed.size()));
}

std::optional<Eigen::Vector3d> optional_vector(std::istringstream& line) {
  std::string line_rest;
  std::getline(line, line_rest);
  if (line_rest == " -") return std::nullopt;
  std::istringstream rest_stream(line_rest);
  return Eigen::Vector3d(numbers(rest_stream));
}

// Replays golden files to a law and counts what differs.
class GoldenReplay {
 public:
  explicit GoldenReplay(std::string folder) : folder_(std::move(folder)) {}

  void run(const std::string& name) {
    std::istringstream text(file_text(folder_ + "/" + name));
    for (std::string row; std::getline(text, row);) {
      std::istringstream line(row);
      std::string word;
      line >> word;
      read(word, line);
    }
    std::printf("%s: %d updates, furthest apart %.2g\n", name.c_str(), updates_, max_difference_);
  }

  int failures() const { return failures_ + (updates_ < 100 ? 1 : 0); }

 private:
  void read(const std::string& word, std::istringstream& line) {
    if (word == "robot") {
      std::string urdf, frame;
      line >> urdf >> frame;
      model_ = std::make_unique<vms_ph::Model>(
          vms_ph::Model::from_urdf(file_text(folder_ + "/" + urdf), vms_ph::Base::fixed, frame));
    } else if (word == "scenario") {
      line >> scenario_;
      law_ = std::make_unique<vms_ph::TaskSpaceIDAPBC>(*model_);
      command_ = nullptr;
    } else if (word == "gain") {
      std::string name, value;
      line >> name >> value;
      expect(law_->set_gain(name, std::stod(value)), "gain " + name);
    } else if (word == "reset") {
      expect(law_->set_minimum(numbers(line)), "reset");
    } else if (word == "q") {
      state_.q = numbers(line);
    } else if (word == "v") {
      state_.v = numbers(line);
    } else if (word == "position") {
      reference_.position = optional_vector(line);
    } else if (word == "velocity") {
      reference_.velocity = optional_vector(line);
    } else if (word == "dt") {
      command_ = &law_->update(state_, reference_, numbers(line)[0]);
      ++updates_;
    } else if (word != "update") {
      compare(word, line);
    }
  }

  void compare(const std::string& word, std::istringstream& line) {
    if (word == "status") {
      int status = -1;
      line >> status;
      expect(static_cast<int>(command_->status) == status, "status");
    } else if (word == "reason") {
      std::string reason;
      std::getline(line >> std::ws, reason);
      std::string ours = command_->reason[0] ? command_->reason : "-";
      if (reason.rfind("near a singularity", 0) == 0) {
        // The singular value is compared by itself; where it is zero it is told as mere rounding.
        ours.resize(std::min(ours.size(), ours.rfind(' ')));
        reason.resize(reason.rfind(' '));
      }
      expect(ours == reason, "reason '" + ours + "' for '" + reason + "'");
    } else if (word == "torque") {
      near(command_->torque, numbers(line), word);
    } else if (word == "energy") {
      near(vms_ph::golden::numbers(command_->energy), numbers(line), word);
    } else if (word == "rest") {
      near(Eigen::Vector3d(command_->task_error, command_->smallest_singular_value,
                           command_->authority),
           numbers(line), word);
    }
  }

  void near(const Eigen::VectorXd& ours, const Eigen::VectorXd& golden,
            const std::string& quantity) {
    expect(ours.size() == golden.size(), quantity + " has another size");
    for (Eigen::Index i = 0; i < std::min(ours.size(), golden.size()); ++i) {
      if (ours[i] == golden[i]) continue;
      const double difference = std::abs(ours[i] - golden[i]) / std::max(1.0, std::abs(golden[i]));
      max_difference_ = std::max(max_difference_, difference);
      expect(difference <= kParity, quantity + "[" + std::to_string(i) +
                                        "]: " + std::to_string(ours[i]) + " for " +
                                        std::to_string(golden[i]));
    }
  }

  void expect(bool holds, const std::string& quantity) {
    if (holds) return;
    ++failures_;
    std::printf("%s, update %d: %s\n", scenario_.c_str(), updates_, quantity.c_str());
  }

  std::string folder_, scenario_;
  std::unique_ptr<vms_ph::Model> model_;
  std::unique_ptr<vms_ph::TaskSpaceIDAPBC> law_;
  vms_ph::RobotState state_;
  vms_ph::Reference reference_;
  const vms_ph::Command* command_ = nullptr;
  int updates_ = 0, failures_ = 0;
  double max_difference_ = 0.0;
};

TEST(golden_task_space) {
  int failures = 0;
  for (const char* arm : {"panda", "crane"}) {
    GoldenReplay replay(folder);
    replay.run(std::string("task_space_") + arm + ".txt");
    failures += replay.failures();
  }
  CHECK(failures == 0);
}

}  // namespace golden_task_space
