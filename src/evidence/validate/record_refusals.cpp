#include "evidence/validate/record_refusals.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "document/document.hpp"
#include "evidence/validate/loose_node.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// Keys of a map that are named.
constexpr std::size_t kNamedKeys = 4;

}  // namespace

std::string refusal_of(const document::Node& record) {
  if (const document::Node* cluster = member_at(record, "cluster")) {
    if (member_at(*cluster, "prefill") != nullptr || member_at(*cluster, "decode") != nullptr) {
      return "cluster: prefill and decode on instances apart; validate runs one instance";
    }
    if (const auto instances = count_at(*cluster, "instances"); instances && *instances > 1) {
      return fmt::format("cluster: {} instances behind a router ({}); validate runs one instance",
                         *instances,
                         text_at(*cluster, "policy"));
    }
  }
  const auto ranks = [&](std::string_view key) {
    return std::max<std::int64_t>(1, count_at(record, key).value_or(1));
  };
  const std::int64_t gpus = count_at(record, "num_gpus").value_or(1);
  const std::int64_t of_instance = ranks("tp") * ranks("pp") * ranks("dp") * ranks("ep");
  if (gpus <= of_instance) {
    return {};
  }
  return member_at(record, "tp") == nullptr
             ? fmt::format("num_gpus {} without tp: how many GPUs an instance has is not known",
                           gpus)
             : fmt::format(
                   "num_gpus {} where an instance has {}: several of them behind a load "
                   "balancer; validate runs one",
                   gpus,
                   of_instance);
}

std::string held_instead(const document::Node& measured) {
  if (!measured.is_map() || measured.members().empty()) {
    return {};
  }
  std::string text;
  const std::size_t named = std::min(kNamedKeys, measured.members().size());
  for (std::size_t i = 0; i < named; ++i) {
    text += fmt::format("{} {}", i == 0 ? ", but" : ",", measured.members()[i].key);
  }
  return text + (named < measured.members().size() ? ", ..." : "");
}

std::string no_length(const document::Node& workload, std::string_view side) {
  const document::Node* node = member_at(workload, side);
  const std::string kind = node == nullptr ? std::string() : text_at(*node, "kind");
  return fmt::format("workload.{}: no length is given{}",
                     side,
                     kind.empty() ? std::string() : fmt::format(" ({})", kind));
}

}  // namespace ridgeline::evidence::validate
