// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/integrators/schemes.hpp"

#include <cmath>

#include "vms_ph_native/tree_inlined.hpp"

namespace vms_ph {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::VectorXd;

CentroidalRobot::CentroidalRobot(const Model& model, bool gravity)
    : tree(model, gravity),
      centre_dim(tree.free_dimensions()),
      mass(tree.total_mass()),
      fall_acceleration(tree.fall_acceleration()),
      has_shape_potential(tree.has_potential()) {}

Matrix3d CentroidalRobot::rotation(const VectorXd& q) const noexcept {
  return base_rotation(tree.b(), q.data());
}

Vector3d CentroidalRobot::position(const VectorXd& q) const noexcept {
  Vector3d origin = Vector3d::Zero();
  for (int i = 0; i < centre_dim; ++i) origin[i] = q[i];
  return origin;
}

void CentroidalRobot::set_position(const Vector3d& origin, VectorXd& q) const noexcept {
  for (int i = 0; i < centre_dim; ++i) q[i] = origin[i];
}

void CentroidalRobot::move_centre_to_origin(const Matrix3d& attitude, VectorXd& q) const noexcept {
  set_position(-(attitude * tree.centre_of_mass()), q);
}

void CentroidalRobot::split(const VectorXd& q, const VectorXd& v, double t,
                            SolverState& x) noexcept {
  x.q = q;
  x.v = v;
  x.t = t;
  x.fall = Fall{};
  x.fall.start_time = t;
  x.fall.mass = mass;
  x.fall.gravity = fall_acceleration;
  x.energy = CompensatedSum{};
  x.past.count = 0;
  tree.set_configuration(q);
  if (centre_dim > 0) {
    const Matrix3d attitude = rotation(q);
    tree.set_velocity(v);
    Vector3d linear = tree.momentum().linear;
    if (centre_dim == 2) linear.z() = 0.0;
    const Vector3d centre_offset = attitude * tree.centre_of_mass();
    x.fall.linear_momentum = attitude * linear;
    x.fall.centre = position(q) + centre_offset;
    if (centre_dim == 2) x.fall.centre.z() = 0.0;
    for (int i = 0; i < centre_dim; ++i) x.v[i] -= linear[i] / mass;
    set_position(-centre_offset, x.q);
    tree.set_velocity(x.v);
    const Screw& p = tree.momentum();
    x.angular_momentum = attitude * (p.angular - tree.centre_of_mass().cross(p.linear));
    if (centre_dim == 2) x.angular_momentum.head<2>().setZero();
  }
  x.energy.value = energy(x.q, x.v);
}

void CentroidalRobot::to_inertial(const Vector3d& origin, const Vector3d& velocity, VectorXd& q,
                                  VectorXd& v) const noexcept {
  if (centre_dim == 0) return;
  const Vector3d base_velocity = rotation(q).transpose() * velocity;
  for (int i = 0; i < centre_dim; ++i) {
    v[i] += base_velocity[i];
    q[i] += origin[i];
  }
}

void CentroidalRobot::integrate_joints(const VectorXd& q, const VectorXd& increment,
                                       VectorXd& out) const noexcept {
  const int b = tree.b(), n = tree.n();
  for (int i = 0, index = tree.nq() - tree.position_count(); i < n; ++i) {
    const double step = increment[b + i];
    if (tree.is_pair(i)) {
      rotate_pair(q.data() + index, step, out.data() + index);
      index += 2;
    } else {
      out[index] = q[index] + step;
      ++index;
    }
  }
}

VMS_PH_FMA void CentroidalRobot::integrate(const VectorXd& q, const VectorXd& increment,
                                           VectorXd& out, bool keep_base_position) const noexcept {
  integrate_joints(q, increment, out);
  if (centre_dim == 0) return;
  const Screw step = tree.base_twist(increment);
  const Vector3d& w = step.angular;
  const double square = w.squaredNorm(), angle = std::sqrt(square);
  if (!keep_base_position) {
    // (1 - cos x) / x^2 and (x - sin x) / x^3; the next terms are below rounding.
    const bool is_small = square < 1e-4;
    const double first_coefficient =
        is_small ? 0.5 - square * (1.0 / 24 - square * (1.0 / 720 - square / 40320))
                 : (1.0 - std::cos(angle)) / square;
    const double second_coefficient =
        is_small ? 1.0 / 6 - square * (1.0 / 120 - square * (1.0 / 5040 - square / 362880))
                 : (angle - std::sin(angle)) / (square * angle);
    const Vector3d w_cross_linear = w.cross(step.linear);
    const Vector3d displacement = step.linear + first_coefficient * w_cross_linear +
                                  second_coefficient * w.cross(w_cross_linear);
    set_position(position(q) + rotation(q) * displacement, out);
  }
  if (centre_dim == 2) return rotate_pair(q.data() + 2, w.z(), out.data() + 2);
  double sinc = 0.5 - square * (1.0 / 48 - square * (1.0 / 3840 - square / 645120));
  double cosine = 1.0 - square * (1.0 / 8 - square * (1.0 / 384 - square / 46080));
  if (!(square < 1e-4)) {
    sinc = std::sin(0.5 * angle) / angle;
    cosine = std::cos(0.5 * angle);
  }
  const Eigen::Quaterniond step_rotation(cosine, sinc * w.x(), sinc * w.y(), sinc * w.z());
  const Eigen::Quaterniond end_quat = Eigen::Quaterniond(q[6], q[3], q[4], q[5]) * step_rotation;
  out.segment<4>(3) = end_quat.coeffs() * (0.5 * (3.0 - end_quat.squaredNorm()));
}

double CentroidalRobot::energy(const VectorXd& q, const VectorXd& v) noexcept {
  tree.set_configuration(q);
  tree.set_velocity(v);
  return tree.kinetic_energy() + tree.potential_energy();
}

void CentroidalRobot::add_friction(const Ports& ports, int joint, double rate,
                                   double& force) const noexcept {
  force -= ports.viscous[joint] * rate;
  if (ports.coulomb[joint] != 0.0) force -= ports.coulomb[joint] * std::tanh(rate / ports.slip);
}

void CentroidalRobot::port_force(const Ports& ports, double t, const VectorXd& v,
                                 VectorXd& force) const noexcept {
  const int b = tree.b();
  force.setZero();
  if (ports.torque.size() > 0) force.tail(tree.n()) += ports.torque;
  if (ports.wrench_base.size() > 0) force.head(b) += ports.wrench_base;
  if (ports.spin.is_spinning) force.segment<3>(3) += ports.spin.moment(t, v.segment<3>(3));
  if (ports.has_tool) tree.add_wrench(tree.from_end_effector(ports.tool_wrench), force.data());
  if (ports.viscous.size() == 0) return;
  for (int i = 0; i < tree.n(); ++i) add_friction(ports, i, v[b + i], force[b + i]);
}

void CentroidalRobot::add_port_energies(const Ports& ports, const VectorXd& v, double duration,
                                        StepResult& result) const noexcept {
  const int b = tree.b(), n = tree.n();
  if (ports.torque.size() > 0) result.supplied[0] += duration * ports.torque.dot(v.tail(n));
  if (ports.wrench_base.size() > 0) {
    result.supplied[1] += duration * ports.wrench_base.dot(v.head(b));
  }
  if (ports.has_tool) {
    result.supplied[2] += duration * tree.power_of(tree.from_end_effector(ports.tool_wrench), v);
  }
  if (ports.viscous.size() == 0) return;
  for (int i = 0; i < n; ++i) {
    double force = 0.0;
    add_friction(ports, i, v[b + i], force);
    result.dissipated -= duration * force * v[b + i];
  }
}

}  // namespace vms_ph
