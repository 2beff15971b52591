// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A time-stepping scheme as Python holds it.
#pragma once

#include <memory>

#include "vms_ph_native/integrators/stepper.hpp"
#include "vms_ph_native/model.hpp"

namespace vms_ph {

/// A scheme with its robot, which it refers to.
struct Scheme {
  std::shared_ptr<Model> model;
  std::unique_ptr<Stepper> stepper;
  bool gravity;
};

}  // namespace vms_ph
