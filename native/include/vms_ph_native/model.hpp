// The robot: a kinematic tree on a base that is fixed, planar or floating.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "vms_ph_native/pinocchio.hpp"

namespace vms_ph {

/// What a user gave cannot be used; the message says what was given, what is accepted and what to do.
class ModelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Base { fixed, planar, floating };

/// Immutable after construction, and safe to share between threads.
///
/// Configurations and velocities are Pinocchio's: q = [base, joints], v = [base twist in the base
/// frame, linear first; joint rates].
class Model {
 public:
  /// Take a model whose first joint is the base's, if that moves.
  ///
  /// @param end_effector  name of a frame; the last body's when empty.
  /// @throws ModelError   a joint with more than one freedom besides the base, or no such frame.
  explicit Model(pinocchio::Model model, const std::string& end_effector = "");

  /// Make a model from the text of a URDF.
  ///
  /// @param base           what the root link can do.
  /// @param locked_joints  held at zero.
  /// @throws ModelError    text that is no URDF, no such joint, or joints that mimic others.
  static Model from_urdf(const std::string& xml, Base base, const std::string& end_effector = "",
                         const std::vector<std::string>& locked_joints = {});

  /// Make a model from what pinocchio.Model.saveToString() gives, of the same Pinocchio.
  static Model from_archive(const std::string& text, const std::string& end_effector = "");

  const pinocchio::Model& pinocchio() const { return model_; }
  const std::string& name() const { return model_.name; }
  Base base() const { return base_; }
  int b() const { return b_; }    ///< dimension of the base velocity: 0, 3 or 6
  int n() const { return n_; }    ///< number of joints
  int nq() const { return model_.nq; }
  int nv() const { return model_.nv; }
  const std::vector<std::string>& joint_names() const { return joint_names_; }
  pinocchio::FrameIndex end_effector() const { return end_effector_; }

  /// Limits of the n joints, in the order of the joint rates; infinite where there are none.
  const Eigen::VectorXd& lower() const { return lower_; }
  const Eigen::VectorXd& upper() const { return upper_; }
  const Eigen::VectorXd& effort() const { return effort_; }

 private:
  pinocchio::Model model_;
  Base base_;
  int b_, n_;
  std::vector<std::string> joint_names_;
  pinocchio::FrameIndex end_effector_;
  Eigen::VectorXd lower_, upper_, effort_;
};

}  // namespace vms_ph
