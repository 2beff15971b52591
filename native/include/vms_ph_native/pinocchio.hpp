// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0
// Includes Pinocchio's spatial algebra and model declarations, either major version.
#pragma once

#include <pinocchio/fwd.hpp>

#if __has_include(<pinocchio/spatial.hpp>)
#include <pinocchio/spatial.hpp>
#else
#include <pinocchio/spatial/explog.hpp>
#endif
#include <pinocchio/multibody/fwd.hpp>
