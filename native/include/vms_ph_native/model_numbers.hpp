// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A robot in plain numbers, as another program or another version of Pinocchio holds it.
#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

namespace vms_ph {

/// What a model of Pinocchio holds, in its order and by its names.
struct ModelNumbers {
  /// A joint and the body that it moves.
  struct Joint {
    std::string name, kind;       ///< of Pinocchio, such as JointModelRZ
    int velocities;               ///< its degrees of freedom
    std::size_t parent;           ///< 0 is the universe, 1 the first joint
    Eigen::Matrix4d placement;    ///< in the frame of the parent
    Eigen::Vector3d slide, axis;  ///< its linear and angular rate in its own axes
    double mass;                  ///< of the body, kg
    Eigen::Vector3d centre;       ///< of its mass, m
    Eigen::Matrix3d inertia;      ///< about its centre of mass, kg m^2
  };

  /// A frame, fixed to the body of a joint.
  struct Frame {
    std::string name;
    int type;  ///< of Pinocchio
    std::size_t joint, parent;
    Eigen::Matrix4d placement;  ///< in the frame of the joint
  };

  std::string name;
  std::vector<Joint> joints;                                          ///< without the universe
  std::vector<Frame> frames;                                          ///< without the universe
  Eigen::VectorXd lower, upper;                                       ///< of configurations, (nq,)
  Eigen::VectorXd effort, velocity, armature, damping, dry_friction;  ///< (nv,)
  Eigen::Vector3d gravity;                                            ///< m/s^2
};

}  // namespace vms_ph
