#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/nested_members.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// The values that flags give, as one document.
class OverrideDocument {
 public:
  explicit OverrideDocument(core::Errors& errors) : errors_(errors) {}

  /// Notes an option that does not exist, and a value that is not one.
  void add(const Override& change);
  [[nodiscard]] document::Node finish();

 private:
  /// A map that is stated member by member.
  struct Pairs {
    std::string path;
    std::vector<document::Node::Member> members;
  };
  struct Items {
    std::string path;
    std::vector<document::Node> items;
  };

  void add_pair(const Override& change, const std::string& flag, std::string hint);
  void add_item(const Override& change);
  std::optional<document::Node> keep(core::Result<document::Node> value, const std::string& field);

  core::Errors& errors_;
  NestedMembers top_;
  std::vector<Pairs> pairs_;
  std::vector<Items> items_;
};

}  // namespace ridgeline::scenario
