#include "api/base_scenario.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/laid_over.hpp"

namespace ridgeline::api {
namespace {

using document::Node;

/// A resolved scenario states the blocks beside the share of memory that they came from: on another
/// GPU they are others.
Node without_derived_blocks(const Node& base, const Node& over) {
  constexpr std::string_view kBlocks = "num_gpu_blocks";
  const Node* const engine = base.find("engine");
  const Node* const above = over.find("engine");
  if (engine == nullptr || engine->find(kBlocks) == nullptr ||
      engine->find("gpu_memory_utilization") == nullptr ||
      (above != nullptr && above->find(kBlocks) != nullptr)) {
    return base;
  }
  std::vector<Node::Member> settings = engine->members();
  std::erase_if(settings, [&](const Node::Member& member) { return member.key == kBlocks; });
  std::vector<Node::Member> members = base.members();
  std::ranges::find(members, "engine", &Node::Member::key)->value =
      Node::map(std::move(settings), engine->where());
  return Node::map(std::move(members), base.where());
}

}  // namespace

core::Result<Node> over_base(const Node& document) {
  std::vector<Node::Member> members = document.members();
  const auto base = std::ranges::find(members, "base", &Node::Member::key);
  if (base == members.end()) {
    return document;
  }
  const Node given = base->value;
  members.erase(base);
  Node over = Node::map(std::move(members), document.where());
  if (given.is_null()) {
    return over;
  }
  const auto found =
      given.is_string() ? document::read_document(given.as_string()) : core::Result<Node>(given);
  if (!found) {
    return core::fail(found.error());
  }
  if (!found->is_map()) {
    return core::fail(core::Error{
        .field = "base",
        .message = fmt::format("found {}, expected the path of a scenario, or a scenario",
                               found->describe()),
        .where = {.file = found->where().file}});
  }
  return scenario::laid_over(without_derived_blocks(*found, over), over);
}

}  // namespace ridgeline::api
