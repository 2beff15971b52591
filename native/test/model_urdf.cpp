// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// What a URDF says about rotors and about joints that mimic others is in the model.
#include <cmath>
#include <string>
#include <vector>

#include "arm.hpp"
#include "core_test.hpp"
#include "vms_ph_native/dynamics.hpp"
#include "vms_ph_native/integrators/schemes.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

namespace model_urdf {

using vms_ph::Base;
using vms_ph::Model;
using vms_ph::ModelError;

// The arm with <dynamics> in its elbow.
std::string arm_with(const std::string& dynamics) {
  std::string xml = kArm;
  return xml.insert(xml.rfind("</joint>"), dynamics);
}

// Three hinges in a row; the first two have what is given in their elements.
std::string chain(const std::string& first_element, const std::string& second_element) {
  std::string xml = "<robot name='chain'>";
  for (const char* name : {"l0", "l1", "l2", "l3"}) {
    xml += std::string("<link name='") + name +
           "'><inertial><origin xyz='0.1 0 0'/><mass value='1'/><inertia ixx='0.1' iyy='0.1' "
           "izz='0.1' ixy='0' ixz='0' iyz='0'/></inertial></link>";
  }
  const std::string joint_elements[] = {first_element, second_element,
                                        "<dynamics damping='0.5' friction='0.2'/>"};
  for (int i = 0; i < 3; ++i) {
    xml += "<joint name='j" + std::to_string(i) + "' type='revolute'><parent link='l" +
           std::to_string(i) + "'/><child link='l" + std::to_string(i + 1) +
           "'/><axis xyz='0 0 1'/><limit lower='-1' upper='1' effort='3' velocity='2'/>" +
           joint_elements[i] + "</joint>";
  }
  return xml + "<gazebo><mimicJoint>j1</mimicJoint></gazebo></robot>";
}

// Pinocchio's parser refuses some of these before.
void check_refused(const std::string& xml, const char* why) {
  try {
    const auto resolved = vms_ph::resolve_mimics(vms_ph::mimics_of_urdf(xml), {});
    Model::from_urdf(xml, Base::fixed);
    CHECK(!"accepted");
  } catch (const ModelError& error) {
    CHECK_HAS(error.what(), why);
  }
}

// The mass matrix is that of the robot whose joints are all free, projected; and a step is taken.
void check_mass(const Model& model, const Model& full_model, const Eigen::VectorXd& q) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::VectorXd full_q(full_model.nq());
  model.expand_configuration(q, full_q);
  vms_ph::Dynamics dynamics(model), full_dynamics(full_model);
  dynamics.set_configuration(q.data());
  full_dynamics.set_configuration(full_q.data());
  Matrix mass(model.nv(), model.nv()), full_mass(full_model.nv(), full_model.nv());
  dynamics.mass(mass.data());
  full_dynamics.mass(full_mass.data());
  Matrix projection = Matrix::Identity(full_model.nv(), model.nv());
  for (int k = 0; k < model.n(); ++k) {
    Eigen::VectorXd shifted_q(full_model.nq());
    model.expand_configuration(q + Eigen::VectorXd::Unit(model.nq(), model.position_index(k)),
                               shifted_q);
    projection.col(model.b() + k).tail(full_model.n()) = (shifted_q - full_q).tail(full_model.n());
  }
  CHECK((mass - projection.transpose() * full_mass * projection).norm() < 1e-13);
  vms_ph::RKMK4 scheme(model, true);
  vms_ph::SolverState x = scheme.begin(q, Eigen::VectorXd::Ones(model.nv()), 0.0), next_state = x;
  CHECK(scheme.step(x, vms_ph::Ports(), 0.0, 1e-3, next_state).failure == vms_ph::Failure::none);
  CHECK(model.is_configuration(next_state.q) && next_state.q != q);
}

void check_mimics() {
  // The first hinge follows the second, which follows the third.
  const std::string first_element =
      "<mimic joint='j1' multiplier='-0.5' offset='0.1'/>"
      "<dynamics damping='0.1' friction='0.1'/><!-- <mimic joint='j2'/> -->";
  const std::string second_element = "<mimic offset = \"0.2\" joint = \"j2\" multiplier = \"4\" />";
  const Model model = Model::from_urdf(chain(first_element, second_element), Base::planar);
  CHECK(model.joint_names() == std::vector<std::string>{"j2"});
  CHECK(model.nq() == 5 && model.nv() == 4);
  CHECK(std::abs(model.damping()[0] - (0.5 + 0.1 * 2.0 * 2.0)) < 1e-15);
  CHECK(std::abs(model.dry_friction()[0] - (0.2 + 0.1 * 2.0)) < 1e-15);
  CHECK(std::abs(model.max_position()[0] - 0.2) < 1e-15 &&
        std::abs(model.min_position()[0] + 0.3) < 1e-15);
  CHECK(model.max_velocity()[0] == 0.5 && model.max_effort()[0] == 3.0);
  Eigen::VectorXd q = model.neutral_configuration(), full_q(model.pinocchio().nq);
  q[4] = 0.1;
  model.expand_configuration(q, full_q);
  CHECK((full_q.tail(3) - Eigen::Vector3d(-0.5 * (4.0 * 0.1 + 0.2) + 0.1, 0.6, 0.1)).norm() <
        1e-15);
  // Who follows a locked joint is locked where that leaves it.
  const Model locked_model =
      Model::from_urdf(chain(first_element, second_element), Base::fixed, "", {"j1"});
  CHECK(locked_model.joint_names() == std::vector<std::string>{"j2"});
  const auto& rotation =
      locked_model.pinocchio().frames[locked_model.frame_id("l1")].placement.rotation();
  CHECK(std::abs(std::atan2(rotation(1, 0), rotation(0, 0)) - 0.1) < 1e-15);

  check_mass(model, Model::from_urdf(chain("", ""), Base::planar), q);
  check_refused(chain("<mimic joint='j1'/>", "<mimic joint='j0'/>"),
                "the joints j0, j1 mimic each other in a circle");
  check_refused(chain("<mimic/>", ""), "joint 'j0' has a <mimic> that gives no joint");
  check_refused(chain("<mimic joint='x'/>", ""), "there is no moving joint 'x'");
  check_refused(chain("<mimic joint='j1' offset='far'/>", ""),
                "the offset of the <mimic> of joint 'j0' must be a finite number; given: 'far'");
  check_refused(chain("<mimic joint='j1' offset='3'/>", ""), "limits of joint 'j0' cannot be met");
}

TEST(model_urdf) {
  check_mimics();
  for (const Base base : {Base::fixed, Base::floating}) {
    const auto model =
        Model::from_urdf(arm_with("<dynamics armature = '0.25' damping='1'/>"), base);
    CHECK(model.pinocchio().armature.tail(2) == Eigen::Vector2d(0.0, 0.25));
    CHECK(model.pinocchio().armature.head(model.b()).isZero(0.0));
  }
  CHECK(Model::from_urdf(kArm, Base::fixed).pinocchio().armature.isZero(0.0));
  try {
    Model::from_urdf(arm_with("<dynamics armature=\"-1\" damping=\"0\"/>"), Base::fixed);
    CHECK(!"accepted");
  } catch (const ModelError& error) {
    CHECK_HAS(error.what(), "the armature of joint 'elbow' must be finite, not negative");
  }
}

}  // namespace model_urdf
