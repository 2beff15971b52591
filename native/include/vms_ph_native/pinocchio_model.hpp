// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0
// The models of Pinocchio themselves, for those that look inside one.
#pragma once

#include "vms_ph_native/pinocchio.hpp"

#if __has_include(<pinocchio/multibody.hpp>)
#include <pinocchio/multibody.hpp>
#else
#include <pinocchio/multibody/data.hpp>
#include <pinocchio/multibody/model.hpp>
#endif
