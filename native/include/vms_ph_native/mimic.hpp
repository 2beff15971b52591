// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Joints that follow others.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace vms_ph {

/// A joint that follows another: `position = multiplier * position of the other + offset`.
struct Mimic {
  std::string joint, of;
  double multiplier = 1.0;  ///< m/rad or rad/m between joints of different kinds
  double offset = 0.0;      ///< rad or m
};

/// Mimics without chains.
struct ResolvedMimics {
  std::vector<Mimic> mimics;             ///< each of a joint that mimics no other
  std::map<std::string, double> locked;  ///< all joints to lock, with their positions
};

/// Resolve chains of mimics, and lock joints that mimic locked ones.
///
/// @throws ModelError  joints mimic each other in a circle.
ResolvedMimics resolve_mimics(const std::vector<Mimic>& mimics,
                              const std::map<std::string, double>& locked);

/// The mimic tags of a URDF without comments, in the order of the file.
///
/// @throws ModelError  a tag that names no joint, or has a number that is none.
std::vector<Mimic> mimics_of_urdf(const std::string& xml);

}  // namespace vms_ph
