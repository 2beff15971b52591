// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0
// Pinocchio's spatial algebra, and the names of its models, under those of either major version.
#pragma once

#include <pinocchio/fwd.hpp>

#if __has_include(<pinocchio/spatial.hpp>)
#include <pinocchio/spatial.hpp>
#else
#include <pinocchio/spatial/explog.hpp>
#endif
#include <pinocchio/multibody/fwd.hpp>
