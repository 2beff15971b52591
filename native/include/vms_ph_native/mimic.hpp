// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

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
