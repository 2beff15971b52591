// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/fluid.hpp"

#include <cmath>

#include <Eigen/Geometry>

#include "vms_ph_native/dynamics.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/se3.hpp"

namespace vms_ph {
namespace {

// Share of the largest entry by which an added mass may differ from its transpose, or have an
// eigenvalue below zero: published coefficients are rounded.
constexpr double kRounding = 1e-9;

using Matrix6 = Eigen::Matrix<double, 6, 6>;

/// The skew matrix ad~_p with ad~_p V = ad_V^T p, of a momentum p, linear part first.
Matrix6 coadjoint_matrix(const Eigen::Matrix<double, 6, 1>& p) {
  Matrix6 matrix = Matrix6::Zero();
  matrix.topRightCorner<3, 3>() = matrix.bottomLeftCorner<3, 3>() = se3::skew(p.head<3>());
  matrix.bottomRightCorner<3, 3>() = se3::skew(p.tail<3>());
  return matrix;
}

}  // namespace

void Fluid::check() const {
  if (!(std::isfinite(density) && density > 0.0)) {
    throw ModelError("the density of a fluid must be positive; given: " + std::to_string(density) +
                     " kg/m^3");
  }
  for (const ImmersedBody& body : bodies) {
    const auto reject = [&](const std::string& problem) {
      throw ModelError("the " + problem + " of '" + body.link + "' in a fluid");
    };
    if (!body.centre_of_buoyancy.allFinite()) reject("centre of buoyancy must be finite:");
    if (!(std::isfinite(body.volume) && body.volume >= 0.0)) reject("volume must not be negative:");
    for (const auto* drag : {&body.linear_drag, &body.quadratic_drag}) {
      if (!drag->allFinite() || drag->minCoeff() < 0.0) reject("drag must not be negative:");
    }
    const Matrix6& added_mass = body.added_mass;
    const double largest_entry = added_mass.cwiseAbs().maxCoeff();
    if (!added_mass.allFinite() || !((added_mass - added_mass.transpose()).cwiseAbs().maxCoeff() <=
                                     kRounding * largest_entry + 1e-12)) {
      reject("added mass must be finite and symmetric:");
    }
    if (SymmetricEigen().least_eigenvalue(added_mass) < -kRounding * largest_entry) {
      reject("added mass must be positive semi-definite:");
    }
  }
}

FluidTerms::FluidTerms(const Model& model) : gravity_(model.gravity()) {
  if (model.fluid() == nullptr) return;
  density_ = model.fluid()->density;
  for (const ImmersedBody& description : model.fluid()->bodies) {
    BodyTerms body{};
    body.description = description;
    body.frame_index = static_cast<int>(model.frame_id(description.link));
    body.jacobian = body.jacobian_rate = Jacobian::Zero(6, model.nv());
    bodies_.push_back(body);
  }
}

void FluidTerms::set_configuration(const Dynamics& robot) noexcept {
  for (BodyTerms& body : bodies_) {
    robot.jacobian(body.frame_index, false, body.jacobian.data());
    robot.placement(body.frame_index, body.rotation, body.origin);
    const Vector3d buoyant_force =
        -density_ * body.description.volume * (body.rotation.transpose() * gravity_);
    body.buoyancy << buoyant_force, body.description.centre_of_buoyancy.cross(buoyant_force);
  }
}

void FluidTerms::set_velocity(const Dynamics& robot, const ConstVector& v) noexcept {
  for (BodyTerms& body : bodies_) {
    robot.jacobian_rate(body.frame_index, false, body.jacobian_rate.data());
    body.twist.noalias() = body.jacobian.lazyProduct(v);
    body.momentum.noalias() = body.description.added_mass * body.twist;
  }
}

void FluidTerms::add_inertia(MatrixV& M) const noexcept {
  for (const BodyTerms& body : bodies_) {
    const Matrix6V mass_jacobian = body.description.added_mass.lazyProduct(body.jacobian);
    M += body.jacobian.transpose().lazyProduct(mass_jacobian);
  }
}

void FluidTerms::add_gravity(VectorV& g) const noexcept {
  for (const BodyTerms& body : bodies_) g -= body.jacobian.transpose().lazyProduct(body.buoyancy);
}

double FluidTerms::potential_energy() const noexcept {
  double energy = 0.0;
  for (const BodyTerms& body : bodies_) {
    const Vector3d centre = body.origin + body.rotation * body.description.centre_of_buoyancy;
    energy += density_ * body.description.volume * gravity_.dot(centre);
  }
  return energy;
}

void FluidTerms::add_coriolis(MatrixV& C) const noexcept {
  for (const BodyTerms& body : bodies_) {
    Matrix6V mass_jacobian = body.description.added_mass.lazyProduct(body.jacobian_rate);
    mass_jacobian -= coadjoint_matrix(body.momentum).lazyProduct(body.jacobian);
    C += body.jacobian.transpose().lazyProduct(mass_jacobian);
  }
}

void FluidTerms::add_kinetic_gradient(VectorV& gradient) const noexcept {
  for (const BodyTerms& body : bodies_) {
    const Vector6 wrench = coadjoint_matrix(body.momentum).lazyProduct(body.twist);
    gradient += body.jacobian_rate.transpose().lazyProduct(body.momentum);
    gradient += body.jacobian.transpose().lazyProduct(wrench);
  }
}

void FluidTerms::add_momentum(VectorV& momentum) const noexcept {
  for (const auto& body : bodies_) momentum += body.jacobian.transpose().lazyProduct(body.momentum);
}

FluidTerms::Vector6 FluidTerms::BodyTerms::drag() const noexcept {
  return -(description.linear_drag + description.quadratic_drag.cwiseProduct(twist.cwiseAbs()))
              .cwiseProduct(twist);
}

void FluidTerms::add_drag(VectorV& force) const noexcept {
  for (const BodyTerms& body : bodies_) force += body.jacobian.transpose().lazyProduct(body.drag());
}

double FluidTerms::kinetic_energy() const noexcept {
  double energy = 0.0;
  for (const BodyTerms& body : bodies_) energy += 0.5 * body.momentum.dot(body.twist);
  return energy;
}

}  // namespace vms_ph
