#include "plan/limits.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::plan {
namespace {

using document::Node;

void read_stock(const Node& node, Limits& limits, core::Errors& errors) {
  if (!node.is_map()) {
    errors.push_back(
        {.field = "limits.stock",
         .message = fmt::format("found {}, expected GPUs and numbers", node.describe()),
         .where = node.where(),
         .hint = "stock: {h100: 16}"});
    return;
  }
  for (const auto& member : node.members()) {
    const auto gpu = hardware::find_gpu(member.key);
    if (!gpu || member.value.kind() != Node::Kind::kInteger || member.value.as_integer() < 0) {
      errors.push_back({.field = fmt::format("limits.stock.{}", member.key),
                        .message = gpu ? fmt::format("found {}, expected a number from 0",
                                                     member.value.describe())
                                       : "is no GPU of the catalogue",
                        .where = member.where,
                        .hint = gpu ? "" : "`ridgeline list gpus`"});
      continue;
    }
    const auto known =
        std::ranges::find(limits.stock, gpu->name, &std::pair<std::string, std::int64_t>::first);
    if (known != limits.stock.end()) {
      errors.push_back({.field = fmt::format("limits.stock.{}", member.key),
                        .message = fmt::format("{} is given twice, expected once", gpu->name),
                        .where = member.where});
      continue;
    }
    limits.stock.emplace_back(gpu->name, member.value.as_integer());
  }
}

}  // namespace

Limits read_limits(const Node& node, core::Errors& errors) {
  Limits limits;
  document::ObjectReader reader(node, "limits", errors);
  limits.max_gpus = reader.integer("max_gpus", {1, 1'000'000});
  limits.spare_replicas = reader.integer("spare_replicas", {0, 1000}).value_or(0);
  limits.max_utilisation =
      reader.real("max_utilisation", {0.05, 1.0}).value_or(limits.max_utilisation);
  if (const Node* stock = reader.node("stock")) {
    read_stock(*stock, limits, errors);
  }
  reader.finish();
  return limits;
}

}  // namespace ridgeline::plan
