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

constexpr const char* kWhitespace = " \t\r\n";

std::string without_comments(std::string xml) {
  for (auto start = xml.find("<!--"); start != std::string::npos; start = xml.find("<!--", start)) {
    const auto end = xml.find("-->", start + 4);
    xml.erase(start, end == std::string::npos ? end : end + 3 - start);
  }
  return xml;
}

/// The text of the tag that begins at a position, up to its bracket.
std::string tag_at(const std::string& xml, std::size_t start) {
  return xml.substr(start, xml.find('>', start) - start);
}

/// The value of an attribute of a tag.
std::optional<std::string> attribute(const std::string& tag, const std::string& name) {
  for (auto equals_index = tag.find('='); equals_index != std::string::npos;) {
    const auto quote = tag.find_first_of("\"'", equals_index);
    const auto end = quote == std::string::npos ? quote : tag.find(tag[quote], quote + 1);
    if (end == std::string::npos) return std::nullopt;
    const auto name_end = tag.find_last_not_of(kWhitespace, equals_index - 1);
    const auto name_start = tag.find_last_of(kWhitespace, name_end) + 1;
    if (tag.compare(name_start, name_end + 1 - name_start, name) == 0) {
      return tag.substr(quote + 1, end - quote - 1);
    }
    equals_index = tag.find('=', end);
  }
  return std::nullopt;
}

/// The tag of the joint whose element encloses a position; empty if none does.
std::string enclosing_joint_tag(const std::string& xml, std::size_t position) {
  const auto joint = xml.rfind("<joint", position);
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
      text->find_first_not_of(kWhitespace, static_cast<std::size_t>(end - text->c_str())) ==
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
  for (auto i = xml.find(tag_start); i != std::string::npos; i = xml.find(tag_start, i + 1)) {
    const std::string tag = tag_at(xml, i), joint = enclosing_joint_tag(xml, i);
    const bool is_longer_word =
        tag.size() > tag_start.size() &&
        (kWhitespace + std::string("/")).find(tag[tag_start.size()]) == std::string::npos;
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
                              const std::map<std::string, double>& locked_positions) {
  const auto mimic_named = [&](const std::string& name) {
    return std::find_if(mimics.begin(), mimics.end(),
                        [&](const Mimic& mimic) { return mimic.joint == name; });
  };
  ResolvedMimics resolved_mimics{{}, locked_positions};
  for (const Mimic& mimic : mimics) {
    if (locked_positions.count(mimic.joint) > 0) continue;
    Mimic combined_mimic{mimic.joint, mimic.leader, mimic.multiplier, mimic.offset};
    std::string cycle = mimic.joint;
    for (std::size_t steps = 0; locked_positions.count(combined_mimic.leader) == 0; ++steps) {
      const auto next_mimic = mimic_named(combined_mimic.leader);
      if (next_mimic == mimics.end()) break;
      if (combined_mimic.leader == mimic.joint || steps == mimics.size()) {
        throw ModelError("the joints " + cycle + " mimic each other in a circle");
      }
      cycle += ", " + combined_mimic.leader;
      combined_mimic.offset += combined_mimic.multiplier * next_mimic->offset;
      combined_mimic.multiplier *= next_mimic->multiplier;
      combined_mimic.leader = next_mimic->leader;
    }
    const auto locked_joint = locked_positions.find(combined_mimic.leader);
    if (locked_joint == locked_positions.end()) {
      resolved_mimics.mimics.push_back(combined_mimic);
    } else {
      resolved_mimics.locked_positions[combined_mimic.joint] =
          combined_mimic.multiplier * locked_joint->second + combined_mimic.offset;
    }
  }
  return resolved_mimics;
}

namespace {

// Sets the inertia of rotors, an attribute of <dynamics> that is not in the URDF standard.
void add_armature(const std::string& xml, pinocchio::Model& model) {
  for (auto start = xml.find("<dynamics"); start != std::string::npos;
       start = xml.find("<dynamics", start + 1)) {
    const auto attribute_text = attribute(tag_at(xml, start), "armature");
    const auto name = attribute(enclosing_joint_tag(xml, start), "name").value_or("");
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
  for (const auto& [name, joint_position] : positions) {
    if (!model.existJointName(name)) {
      throw ModelError("cannot lock '" + name + "': the robot '" + model.name +
                       "' has no such joint");
    }
    const auto joint = model.getJointId(name);
    joints.push_back(joint);
    const int q_index = model.idx_qs[joint];
    if (model.nqs[joint] == 1) {
      q[q_index] = joint_position;
    } else if (model.nqs[joint] == 2) {
      q.segment<2>(q_index) << std::cos(joint_position), std::sin(joint_position);
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
  std::map<std::string, double> locked_positions;
  for (const auto& name : locked_joints) locked_positions[name] = 0.0;
  ResolvedMimics resolved_mimics = resolve_mimics(mimics_of_urdf(text), locked_positions);
  if (!resolved_mimics.locked_positions.empty())
    model = reduced_model(resolved_mimics.locked_positions, model);
  model.gravity.linear() = gravity;
  return Model(model, end_effector, std::move(resolved_mimics.mimics));
}

}  // namespace vms_ph
