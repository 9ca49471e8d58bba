#include "plan/classes.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "plan/members.hpp"

namespace ridgeline::plan {
namespace {

using document::Node;

/// What a class may not have: it has a rate, and streams of several classes are put together, in
/// which shared prefixes would be taken for one another.
constexpr auto kRefused = std::to_array<std::string_view>(
    {"trace", "max_concurrency", "duration", "num_prompts", "prefix_len"});

}  // namespace

std::vector<RequestClass> read_classes(const Node& node, const Node* common, core::Errors& errors) {
  const char* const example =
      "mix: {chat: {request_rate: 4, input_len: 500, output_len: 200}, documents: {...}}";
  std::vector<RequestClass> classes;
  if (!node.is_map() || node.members().empty()) {
    errors.push_back(
        {.field = "mix",
         .message = fmt::format("found {}, expected a map of request classes", node.describe()),
         .where = node.where(),
         .hint = example});
    return classes;
  }
  for (const auto& member : node.members()) {
    const std::string field = fmt::format("mix.{}", member.key);
    if (!member.value.is_map()) {
      errors.push_back(
          {.field = field,
           .message = fmt::format("found {}, expected a workload", member.value.describe()),
           .where = member.where,
           .hint = example});
      continue;
    }
    Members workload(common != nullptr && common->is_map() ? common->members()
                                                           : std::vector<Node::Member>{});
    for (const auto& setting : member.value.members()) {
      workload.set(setting.key, setting.value);
    }
    Node whole = workload.map();
    for (const std::string_view key : kRefused) {
      if (const Node* found = whole.find(key)) {
        errors.push_back({.field = fmt::format("{}.{}", field, key),
                          .message = "is not taken of a request class",
                          .where = found->where()});
      }
    }
    const Node* rate = member.value.find("request_rate");
    if (rate == nullptr || !rate->is_number() || !(rate->as_real() > 0.0)) {
      errors.push_back(
          {.field = field + ".request_rate",
           .message = rate == nullptr
                          ? std::string("is missing: each class has a rate of its own")
                          : fmt::format("found {}, expected a number above 0", rate->describe()),
           .where = rate == nullptr ? member.where : rate->where()});
      continue;
    }
    classes.push_back({.name = member.key, .workload = std::move(whole)});
  }
  return classes;
}

}  // namespace ridgeline::plan
