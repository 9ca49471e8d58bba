#include "lab/records/record_refusals.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"

namespace ridgeline::records {
namespace {

/// Keys of a map that are named.
constexpr std::size_t kNamedKeys = 4;

}  // namespace

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

}  // namespace ridgeline::records
