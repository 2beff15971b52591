// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/mimic.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "urdf_text.hpp"
#include "vms_ph_native/model.hpp"

namespace vms_ph {
namespace {

double number(const std::string& tag, const std::string& name, double otherwise,
              const std::string& joint) {
  const auto text = urdf::attribute(tag, name);
  if (!text) return otherwise;
  char* end = nullptr;
  const double value = std::strtod(text->c_str(), &end);
  const bool is_number =
      end != text->c_str() &&
      text->find_first_not_of(urdf::kSpace, static_cast<std::size_t>(end - text->c_str())) ==
          std::string::npos;
  if (!is_number || !std::isfinite(value)) {
    throw ModelError("the " + name + " of the <mimic> of joint '" + joint +
                     "' must be a finite number; given: '" + *text + "'");
  }
  return value;
}

}  // namespace

std::vector<Mimic> mimics_of_urdf(const std::string& xml) {
  const std::string begin = "<mimic";
  std::vector<Mimic> found;
  for (auto at = xml.find(begin); at != std::string::npos; at = xml.find(begin, at + 1)) {
    const std::string tag = urdf::tag_at(xml, at), joint = urdf::joint_around(xml, at);
    const bool is_longer_word =
        tag.size() > begin.size() &&
        (urdf::kSpace + std::string("/")).find(tag[begin.size()]) == std::string::npos;
    if (is_longer_word || urdf::attribute(joint, "type").value_or("") == "fixed") continue;
    const std::string name = urdf::attribute(joint, "name").value_or("");
    const auto of = urdf::attribute(tag, "joint");
    if (!of) throw ModelError("joint '" + name + "' has a <mimic> that gives no joint");
    found.push_back(
        {name, *of, number(tag, "multiplier", 1.0, name), number(tag, "offset", 0.0, name)});
  }
  return found;
}

ResolvedMimics resolve_mimics(const std::vector<Mimic>& mimics,
                              const std::map<std::string, double>& locked) {
  const auto mimic_named = [&](const std::string& name) {
    return std::find_if(mimics.begin(), mimics.end(),
                        [&](const Mimic& mimic) { return mimic.joint == name; });
  };
  ResolvedMimics resolved{{}, locked};
  for (const Mimic& mimic : mimics) {
    if (locked.count(mimic.joint) > 0) continue;
    Mimic whole{mimic.joint, mimic.of, mimic.multiplier, mimic.offset};
    std::string seen = mimic.joint;
    for (std::size_t steps = 0; locked.count(whole.of) == 0; ++steps) {
      const auto next = mimic_named(whole.of);
      if (next == mimics.end()) break;
      if (whole.of == mimic.joint || steps == mimics.size()) {
        throw ModelError("the joints " + seen + " mimic each other in a circle");
      }
      seen += ", " + whole.of;
      whole.offset += whole.multiplier * next->offset;
      whole.multiplier *= next->multiplier;
      whole.of = next->of;
    }
    const auto held = locked.find(whole.of);
    if (held == locked.end()) {
      resolved.mimics.push_back(whole);
    } else {
      resolved.locked[whole.joint] = whole.multiplier * held->second + whole.offset;
    }
  }
  return resolved;
}

}  // namespace vms_ph
