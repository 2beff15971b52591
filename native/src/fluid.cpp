// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/fluid.hpp"

#include <cmath>

#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/model.hpp"

namespace vms_ph {
namespace {

// Share of the largest entry by which an added mass may differ from its transpose, or have an
// eigenvalue below zero: published coefficients are rounded.
constexpr double kRounding = 1e-9;

using Matrix6 = Eigen::Matrix<double, 6, 6>;

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

}  // namespace vms_ph
