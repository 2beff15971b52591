// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Models from URDF.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/model.hpp>
#include <pinocchio/parsers/urdf.hpp>

#include "vms_ph_native/model.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

namespace vms_ph {
namespace {

// Tags of a URDF that Pinocchio's parser does not pass on are found in the text.

constexpr const char* kSpace = " \t\r\n";

std::string without_comments(std::string xml) {
  for (auto start = xml.find("<!--"); start != std::string::npos; start = xml.find("<!--", start)) {
    const auto end = xml.find("-->", start + 4);
    xml.erase(start, end == std::string::npos ? end : end + 3 - start);
  }
  return xml;
}

/// The text of the tag that begins at a position, up to its bracket.
std::string tag_at(const std::string& xml, std::size_t at) {
  return xml.substr(at, xml.find('>', at) - at);
}

/// The value of an attribute of a tag.
std::optional<std::string> attribute(const std::string& tag, const std::string& name) {
  for (auto equals = tag.find('='); equals != std::string::npos;) {
    const auto quote = tag.find_first_of("\"'", equals);
    const auto end = quote == std::string::npos ? quote : tag.find(tag[quote], quote + 1);
    if (end == std::string::npos) return std::nullopt;
    const auto last = tag.find_last_not_of(kSpace, equals - 1);
    const auto first = tag.find_last_of(kSpace, last) + 1;
    if (tag.compare(first, last + 1 - first, name) == 0) {
      return tag.substr(quote + 1, end - quote - 1);
    }
    equals = tag.find('=', end);
  }
  return std::nullopt;
}

/// The tag of the joint whose element encloses a position; empty if none does.
std::string enclosing_joint_tag(const std::string& xml, std::size_t at) {
  const auto joint = xml.rfind("<joint", at);
  return joint == std::string::npos ? "" : tag_at(xml, joint);
}

double read_number(const std::string& tag, const std::string& name, double default_value,
                   const std::string& joint) {
  const auto text = attribute(tag, name);
  if (!text) return default_value;
  char* end = nullptr;
  const double value = std::strtod(text->c_str(), &end);
  const bool is_number =
      end != text->c_str() &&
      text->find_first_not_of(kSpace, static_cast<std::size_t>(end - text->c_str())) ==
          std::string::npos;
  if (!is_number || !std::isfinite(value)) {
    throw ModelError("the " + name + " of the <mimic> of joint '" + joint +
                     "' must be a finite number; given: '" + *text + "'");
  }
  return value;
}

}  // namespace

std::vector<Mimic> mimics_of_urdf(const std::string& xml) {
  const std::string tag_start = "<mimic";
  std::vector<Mimic> mimics;
  for (auto at = xml.find(tag_start); at != std::string::npos; at = xml.find(tag_start, at + 1)) {
    const std::string tag = tag_at(xml, at), joint = enclosing_joint_tag(xml, at);
    const bool is_longer_word =
        tag.size() > tag_start.size() &&
        (kSpace + std::string("/")).find(tag[tag_start.size()]) == std::string::npos;
    if (is_longer_word || attribute(joint, "type").value_or("") == "fixed") continue;
    const std::string name = attribute(joint, "name").value_or("");
    const auto leader = attribute(tag, "joint");
    if (!leader) throw ModelError("joint '" + name + "' has a <mimic> that gives no joint");
    mimics.push_back({name, *leader, read_number(tag, "multiplier", 1.0, name),
                      read_number(tag, "offset", 0.0, name)});
  }
  return mimics;
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
    Mimic combined{mimic.joint, mimic.leader, mimic.multiplier, mimic.offset};
    std::string cycle = mimic.joint;
    for (std::size_t steps = 0; locked.count(combined.leader) == 0; ++steps) {
      const auto next = mimic_named(combined.leader);
      if (next == mimics.end()) break;
      if (combined.leader == mimic.joint || steps == mimics.size()) {
        throw ModelError("the joints " + cycle + " mimic each other in a circle");
      }
      cycle += ", " + combined.leader;
      combined.offset += combined.multiplier * next->offset;
      combined.multiplier *= next->multiplier;
      combined.leader = next->leader;
    }
    const auto locked_joint = locked.find(combined.leader);
    if (locked_joint == locked.end()) {
      resolved.mimics.push_back(combined);
    } else {
      resolved.locked[combined.joint] =
          combined.multiplier * locked_joint->second + combined.offset;
    }
  }
  return resolved;
}

namespace {

// Sets the inertia of rotors, an attribute of <dynamics> that is not in the URDF standard.
void add_armature(const std::string& xml, pinocchio::Model& model) {
  for (auto at = xml.find("<dynamics"); at != std::string::npos;
       at = xml.find("<dynamics", at + 1)) {
    const auto attribute_text = attribute(tag_at(xml, at), "armature");
    const auto name = attribute(enclosing_joint_tag(xml, at), "name").value_or("");
    if (!attribute_text || !model.existJointName(name)) continue;
    const double armature = std::strtod(attribute_text->c_str(), nullptr);
    const auto joint = model.getJointId(name);
    if (!std::isfinite(armature) || armature < 0.0 || model.nvs[joint] != 1) {
      throw ModelError("the armature of joint '" + name +
                       "' must be finite, not negative and on a joint of one degree of freedom");
    }
    model.armature[model.idx_vs[joint]] = armature;
  }
}

// The model with joints fixed at their positions.
pinocchio::Model reduced_model(const std::map<std::string, double>& positions,
                               const pinocchio::Model& model) {
  std::vector<pinocchio::JointIndex> joints;
  Eigen::VectorXd q = pinocchio::neutral(model);
  for (const auto& [name, position] : positions) {
    if (!model.existJointName(name)) {
      throw ModelError("cannot lock '" + name + "': the robot '" + model.name +
                       "' has no such joint");
    }
    const auto joint = model.getJointId(name);
    joints.push_back(joint);
    const int at = model.idx_qs[joint];
    if (model.nqs[joint] == 1) {
      q[at] = position;
    } else if (model.nqs[joint] == 2) {
      q.segment<2>(at) << std::cos(position), std::sin(position);
    }
  }
  return pinocchio::buildReducedModel(model, joints, q);
}

}  // namespace

Model Model::from_urdf(const std::string& xml, Base base, const std::string& end_effector,
                       const std::vector<std::string>& locked_joints,
                       const Eigen::Vector3d& gravity) {
  pinocchio::Model model;
  try {
    switch (base) {
      case Base::fixed:
        pinocchio::urdf::buildModelFromXML(xml, model);
        break;
      case Base::planar:
        pinocchio::urdf::buildModelFromXML(xml, pinocchio::JointModelPlanar(), model);
        break;
      case Base::floating:
        pinocchio::urdf::buildModelFromXML(xml, pinocchio::JointModelFreeFlyer(), model);
        break;
    }
  } catch (const std::exception& error) {
    throw ModelError(std::string("this is not the URDF of a robot: ") + error.what());
  }
  const std::string text = without_comments(xml);
  add_armature(text, model);
  std::map<std::string, double> locked;
  for (const auto& name : locked_joints) locked[name] = 0.0;
  ResolvedMimics resolved = resolve_mimics(mimics_of_urdf(text), locked);
  if (!resolved.locked.empty()) model = reduced_model(resolved.locked, model);
  model.gravity.linear() = gravity;
  return Model(model, end_effector, std::move(resolved.mimics));
}

}  // namespace vms_ph
